// Package adaptertest is the conformance suite that every platform adapter runs
// against a fake of its platform at the wire.
//
// It owns what the gateway relies on whatever the platform: acknowledgement only
// after the sink took a message, stable message ids, refused forgeries, sendable
// pieces, classified send errors, a clean end. It must not know any platform.
package adaptertest
