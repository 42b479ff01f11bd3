// Package watch lets clients wait for a message's outcome and follow its answer
// while it grows, on whichever replica it runs.
//
// It owns who waits for what. It keeps nothing of a message nobody waits for, and
// must not know how a message came in.
package watch
