package config

import (
	"time"

	"github.com/go-sql-driver/mysql"
)

// minLease leaves a replica time to renew: every third of it.
const minLease = 100 * time.Millisecond

func (k *checker) storage() {
	s := k.config.Storage
	switch s.Driver {
	case DriverSQLite:
		k.required("storage.dsn", string(s.DSN), "name the database's file, such as ./data/chatkeep.db")
	case DriverFile:
		k.required("storage.dsn", string(s.DSN), "name a directory, such as ./data")
	case DriverMySQL:
		k.mysql(string(s.DSN))
	}
	if s.Lease.Std() < minLease && s.Lease >= 0 {
		k.fail("storage.lease", "must be at least %s: 10s suits most", minLease)
	}
}

// mysql checks a DSN without repeating any of it, or of the driver's error,
// which may quote the password.
func (k *checker) mysql(dsn string) {
	const form = "user:pass@tcp(host:3306)/db"
	if !k.required("storage.dsn", dsn, "write "+form) {
		return
	}
	parsed, err := mysql.ParseDSN(dsn)
	switch {
	case err != nil:
		k.fail("storage.dsn", "is no MySQL DSN: write %s", form)
	case parsed.DBName == "":
		k.fail("storage.dsn", "names no database: write %s", form)
	case parsed.User == "":
		k.fail("storage.dsn", "names no user: write %s", form)
	}
}
