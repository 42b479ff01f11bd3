// Package prune shortens what a model need not see in full.
//
// It owns the form of a shortened text. It is pure. It must not know storage,
// time, or which messages are old.
package prune
