// Package memstore is a store for tests and throw-away runs: everything is gone
// when it is closed.
//
// It is the relational store over a private SQLite database in memory, so that
// there is one implementation of what a store promises. The package must not
// hold any semantics of its own.
package memstore

import (
	"context"
	"fmt"

	"github.com/chatkeep/chatkeep/store"
	"github.com/chatkeep/chatkeep/store/gormstore"
)

// New returns an empty store that shares nothing with any other.
func New() store.Store {
	s, err := gormstore.Open(context.Background(), gormstore.Config{Driver: gormstore.SQLite, DSN: gormstore.Memory, Migrate: true})
	if err != nil {
		// Nothing outside the process is involved: the embedded schema is wrong.
		panic(fmt.Sprintf("memstore: %v", err))
	}
	return s
}
