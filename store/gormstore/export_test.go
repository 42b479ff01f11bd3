package gormstore

import "database/sql"

// Pool returns the connections that s reads with, for tests that ask the database
// what a statement cost.
func Pool(s *Store) *sql.DB { return s.reader }
