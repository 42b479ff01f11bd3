// Package jsonkeys finds keys of JSON objects that two readers may understand in two
// ways.
//
// It owns that rule. It must not know what the documents mean or where they come from.
package jsonkeys
