// Package builtin holds the tools that need no server of their own.
//
// It owns what the tools are called, what they take and what they answer. It must
// not know where what they work on is kept.
package builtin
