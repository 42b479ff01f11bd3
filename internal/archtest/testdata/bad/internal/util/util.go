// Package util is everything and nothing.
package util // want name
