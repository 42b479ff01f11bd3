// Package signature signs the requests that chatkeep makes to services of its users, so
// that these can tell who calls: turns of webhook agents and posted answers of tasks.
//
// It must not know what is signed.
package signature
