package config

import "time"

// Driver names a storage driver.
type Driver string

// The storage drivers.
const (
	DriverSQLite Driver = "sqlite"
	DriverMySQL  Driver = "mysql"
	DriverFile   Driver = "file"
	DriverMemory Driver = "memory"
)

func (Driver) values() []string { return []string{"sqlite", "mysql", "file", "memory"} }

// Where data lies when no dsn is given.
const (
	defaultSQLiteDSN DSN = "./data/chatkeep.db"
	defaultFileDSN   DSN = "./data"
)

// Storage says where sessions and everything accepted are kept.
type Storage struct {
	Driver Driver `json:"driver"`
	// DSN is a file for sqlite, user:pass@tcp(host:3306)/db for mysql, a
	// directory for file, unused for memory.
	DSN     DSN    `json:"dsn"`
	DSNFile string `json:"dsnFile,omitzero"`
	// MaxOpenConns bounds the pool; 0 leaves it to the driver.
	MaxOpenConns int `json:"maxOpenConns"`
	// Lease is after how long a lane or job of a dead replica is taken over.
	Lease Duration `json:"lease"`
}

func defaultStorage() Storage {
	return Storage{Driver: DriverSQLite, DSN: defaultSQLiteDSN, Lease: Duration(10 * time.Second)}
}

// fill replaces the default dsn, which is sqlite's, by that of the driver.
func (s *Storage) fill() {
	if s.DSN != defaultSQLiteDSN && s.DSN != "" {
		return
	}
	switch s.Driver {
	case DriverFile:
		s.DSN = defaultFileDSN
	case DriverMySQL, DriverMemory:
		s.DSN = ""
	}
}
