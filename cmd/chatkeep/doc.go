// Command chatkeep is a chat-platform bot gateway with per-chat memory.
//
// wire.go is the only place where concrete stores, agents and adapters meet; the
// other files are one command each.
package main
