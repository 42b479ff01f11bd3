// Package wordlist finds the words of a list in texts, and masks them.
//
// It owns lists, how a word is recognised (case, full width and invisible characters
// make no difference), and the masking of texts that arrive in pieces. It must not
// know whose texts they are or what is said of a refused one.
package wordlist
