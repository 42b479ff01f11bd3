// Package gateway takes a message from its acceptance to the delivery of its answer.
//
// One obvious way leads through it: an adapter (or the API, the terminal, a task)
// calls [Gateway.Accept]; the message and its lane are stored in one commit; the
// lane runs a turn (package lane), which reads the session, asks the agent, and
// commits messages, outcome and deliveries together; the deliverer sends them, in
// order per target. Everything that stops, resets or repeats goes through the
// same store transaction per session.
//
// It must not know HTTP, configuration files, or any platform: adapters and
// agents are handed to it behind their contracts.
package gateway
