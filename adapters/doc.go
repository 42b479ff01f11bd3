// Package adapters holds the contract between the gateway and a chat platform:
// [Adapter], the [Sink] that it feeds, what else it may be able to do, and how
// sending fails.
//
// An adapter owns everything about its platform: transports, credentials, ids,
// message formats, limits. It must not know the gateway, sessions, storage,
// configuration files or other adapters.
package adapters
