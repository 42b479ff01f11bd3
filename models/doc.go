// Package models holds the vocabulary that every other package shares: sessions,
// messages, slots, inbound messages, deliveries, and their states.
//
// It owns names, shapes and limits, and no behaviour beyond validating and
// naming them. It must not know storage, transport, configuration or time.
//
// JSON tags are the public contract of the HTTP API; a type here is what a
// client sees unless it says otherwise.
package models
