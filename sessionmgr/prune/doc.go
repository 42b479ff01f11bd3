// Package prune decides what of a slot's messages a model need not see in full.
//
// It owns the rules of pruning, which old tool results are shortened or cleared
// and which tool calls are left out, and the forms of what is shortened. It is
// pure: the same messages, settings and earlier decisions give the same plan. It
// must not know storage, clocks or windows.
//
// A decision is made once per message, stored as its [Form], and replayed byte for
// byte from then on. What users and assistants said is never touched.
package prune
