// Package storetest is the conformance suite of package store. An
// implementation is not done until it passes [Run].
//
// The suite owns what the contract means in practice: each test names one
// promise. It speaks to a store through the contract alone and knows neither SQL
// nor the implementations. Tests wait for conditions, never for time: what
// depends on a lease polls until a deadline.
package storetest
