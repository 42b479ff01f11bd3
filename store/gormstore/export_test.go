package gormstore

import (
	"context"
	"database/sql"
)

// Pool returns the connections that s reads with, for tests that ask the database
// what a statement cost.
func Pool(s *Store) *sql.DB { return s.reader }

// WritePool returns the connections of s that run transactions.
func WritePool(s *Store) *sql.DB { return s.writer }

// MigrateDown takes the schema back to a version.
func MigrateDown(ctx context.Context, s *Store, version int64) error {
	provider, err := s.provider()
	if err != nil {
		return err
	}
	_, err = provider.DownTo(ctx, version)
	return err
}

// MySQLDSN is what becomes of a user's DSN.
func MySQLDSN(dsn string) (string, error) {
	cfg, err := mysqlConfig(dsn)
	if err != nil {
		return "", err
	}
	return cfg.FormatDSN(), nil
}

// SQLiteDSN is what becomes of a user's DSN.
func SQLiteDSN(dsn string) (string, error) {
	path, params, err := splitDSN(dsn)
	return sqliteDSN(path, params, nil), err
}

// LooseTables are the names of the tables that are carried row by row.
func LooseTables() []string {
	names := make([]string, len(looseTables))
	for i, l := range looseTables {
		names[i] = l.name
	}
	return names
}
