// Package window builds what a model is sent from what is stored.
//
// It owns the promise that a context has whole tool groups, starts validly, fits
// the window, keeps the newest user message, and is the same bytes for the same
// state. It is pure. It must not know storage, time, agents or platforms.
//
// [Build] is a row of steps over the history: focus, load (frozen pruned forms,
// speakers, data marks), repair, budgets, fit. Each is a function of its input
// alone and leaves valid what it finds valid.
package window
