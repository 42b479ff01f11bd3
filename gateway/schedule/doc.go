// Package schedule decides when tasks run: it reads what people write, knows the
// next times of a task and those it missed, and fires what is due.
//
// Which replica fires does not matter: the store's compare-and-set lets one win. The
// package must not know what a run does, or where its answer goes.
package schedule
