// Package crashtest drives the built program from outside, as its users, its
// platforms and a power cut do: it kills the gateway at its crash points, runs
// two replicas on one database, stops it under load, and weighs its memory.
//
// It owns the ledger of what was accepted and the checks of what became of it. It
// must not know anything that a client of the program cannot see.
package crashtest
