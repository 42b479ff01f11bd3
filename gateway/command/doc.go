// Package command is the table of chat commands: their names, who may use them,
// what they say of themselves, and what they do to a session.
//
// A command runs inside the transaction that also stores its outcome and its
// answer, so that it happens once. It must not know channels or how an answer
// is sent.
package command
