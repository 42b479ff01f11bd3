// Package gormstore is the relational store: MySQL (and what speaks its
// protocol: MariaDB, TiDB) and SQLite.
//
// It owns the schema and its migrations, the SQL, transactions and their retry,
// connection pools, and the mapping of database errors to the sentinels of
// package store. gorm reads rows into structs; the hot path scans by hand. It is
// used nowhere else in the program. Its model methods (Save, Create, AutoMigrate) are not used:
// every statement is written out, so that the order of locks can be read.
//
// # Order of locks
//
// lane, then session, slot, inbound; then target, then deliveries. The first
// statement of a transaction that touches a session locks its lane, and nothing
// is read before that (reference: a snapshot older than the lock does not see
// what was committed while waiting for it).
//
// # Columns
//
// Sessions are named by sid, the SHA-256 of their key; the key is stored once in
// lanes and sessions. Columns *_at are microseconds since the epoch by the
// program's clock, except due_at and ends_at: milliseconds by the database's
// clock. The column queued is 1 while a row waits or runs, so that one index
// finds the head of a lane or target whatever its history.
//
// The package must not know what messages mean, nor who sends them.
package gormstore
