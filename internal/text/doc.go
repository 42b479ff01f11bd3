// Package text holds every sentence that a chat user reads, in Chinese and English.
//
// It owns wording only; it must not know when or to whom something is said.
package text
