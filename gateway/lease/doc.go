// Package lease lets one replica at a time do some work.
//
// A lease is a row in the store that its holder renews. Whoever cannot renew it for
// two thirds of its time ends the work by itself, by its own clock, before another
// replica may begin. The package must not know what the work is.
package lease
