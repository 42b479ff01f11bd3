// Package panics describes recovered panics for logs.
//
// It owns what is said of them: where it happened and, of the value, no more than
// cannot quote what somebody wrote or a secret. It must not know who recovers.
package panics
