// Package e2e drives a whole gateway, with the real adapters, store and model
// client, between the platforms at the wire and a strict model server, and checks
// what people see in their chats.
//
// It owns what a platform and the gateway must do together. What a crash does is
// checked by internal/crashtest, what one part does on its own beside that part.
package e2e
