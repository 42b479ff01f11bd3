package gormstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/go-sql-driver/mysql"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// Error numbers of MySQL and MariaDB.
const (
	mysqlTooManyConnections = 1040
	mysqlShutdown           = 1053
	mysqlDuplicate          = 1062
	mysqlDiskFull           = 1021
	mysqlLockTimeout        = 1205
	mysqlDeadlock           = 1213
	mysqlSnapshotConflict   = 1020 // MariaDB with innodb_snapshot_isolation
	mysqlReadOnly           = 1290
	mysqlReadOnlyMode       = 1836
	mysqlKilled             = 1317
	mysqlConnectionKilled   = 1927
	mysqlStatementTimeout   = 1969
	mysqlQueryTimeout       = 3024
	mysqlTableFull          = 1114
)

func mysqlNumber(err error) uint16 {
	if e, ok := errors.AsType[*mysql.MySQLError](err); ok {
		return e.Number
	}
	return 0
}

func sqliteCode(err error) int {
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		return e.Code()
	}
	return 0
}

// duplicate reports a violated primary key or unique index.
func duplicate(err error) bool {
	code := sqliteCode(err)
	return mysqlNumber(err) == mysqlDuplicate ||
		code == sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY || code == sqlite3.SQLITE_CONSTRAINT_UNIQUE
}

// lockLost reports that the transaction was chosen to give way. A lock timeout
// undoes only its statement, so the caller must roll back in each case.
func lockLost(err error) bool {
	switch mysqlNumber(err) {
	case mysqlLockTimeout, mysqlDeadlock, mysqlSnapshotConflict:
		return true
	}
	return false
}

// connectionLost reports that the connection died under its user.
func connectionLost(err error) bool {
	var reset *net.OpError
	return errors.Is(err, driver.ErrBadConn) || errors.Is(err, mysql.ErrInvalidConn) ||
		errors.Is(err, io.ErrUnexpectedEOF) || mysqlNumber(err) == mysqlConnectionKilled ||
		errors.As(err, &reset) && reset.Op != "dial" && !reset.Timeout()
}

// unreachable reports that the database cannot do its work now, but may later.
func unreachable(err error) bool {
	if connectionLost(err) || lockLost(err) || errors.Is(err, errUnknownCommit) ||
		errors.Is(err, context.DeadlineExceeded) || errors.Is(err, sql.ErrConnDone) {
		return true
	}
	if _, ok := errors.AsType[net.Error](err); ok {
		return true
	}
	switch mysqlNumber(err) {
	case mysqlTooManyConnections, mysqlShutdown, mysqlReadOnly, mysqlReadOnlyMode, mysqlKilled,
		mysqlStatementTimeout, mysqlQueryTimeout, mysqlDiskFull, mysqlTableFull:
		return true
	}
	switch sqliteCode(err) & 0xff {
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR,
		sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PROTOCOL, sqlite3.SQLITE_INTERRUPT:
		return true
	}
	return false
}

// errorClass names an error for the log without its text, which may quote values.
func errorClass(err error) string {
	switch {
	case mysqlNumber(err) != 0:
		return fmt.Sprintf("mysql %d", mysqlNumber(err))
	case sqliteCode(err) != 0:
		return fmt.Sprintf("sqlite %d", sqliteCode(err))
	case errors.Is(err, errUnknownCommit):
		return "unknown commit"
	case connectionLost(err):
		return "connection lost"
	default:
		return "other"
	}
}
