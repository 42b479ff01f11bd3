// Package words finds the words of a query in texts, and shows the place.
//
// It owns how a query is split and what counts as the same word. It must not know
// where the texts are stored or who asks.
package words
