// Package slot holds what may be done to the context slots of one session.
//
// It owns the rules: what a slot may look like, which operations its mode and
// source allow, and how slots from the configuration stand beside stored ones.
// It works inside a transaction that somebody else opened, and must not know
// who asks for an operation or how its result is told.
package slot
