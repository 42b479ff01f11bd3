package gormstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"strings"
	"time"

	driverlib "github.com/go-sql-driver/mysql"
	gormmysql "gorm.io/driver/mysql"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

const (
	dialTimeout = 5 * time.Second
	ioTimeout   = 30 * time.Second // one read or write; a stalled server hangs nobody for longer
	maxIdleTime = 2 * time.Minute
	maxLifetime = 30 * time.Minute
	// minPacket lets the largest message through, escaped.
	minPacket = models.MaxContent + 1<<20
)

// mysqlConfig merges what the program relies on into the user's DSN.
func mysqlConfig(dsn string) (*driverlib.Config, error) {
	cfg, err := driverlib.ParseDSN(dsn)
	if err != nil {
		return nil, fmt.Errorf("gormstore: MySQL DSN: %w", err)
	}
	if cfg.DBName == "" {
		return nil, fmt.Errorf("gormstore: MySQL DSN names no database")
	}
	if err := cfg.Apply(driverlib.Charset("utf8mb4", "")); err != nil {
		return nil, fmt.Errorf("gormstore: MySQL DSN: %w", err)
	}
	cfg.Collation = "utf8mb4_bin"
	cfg.ParseTime = true
	cfg.Loc = time.UTC
	cfg.InterpolateParams = true // one round trip per statement
	cfg.ClientFoundRows = true   // a renewal within the same millisecond still found its row
	cfg.MultiStatements = false
	cfg.Timeout = orDefault(cfg.Timeout, dialTimeout)
	cfg.ReadTimeout = orDefault(cfg.ReadTimeout, ioTimeout)
	cfg.WriteTimeout = orDefault(cfg.WriteTimeout, ioTimeout)
	if cfg.Params == nil {
		cfg.Params = map[string]string{}
	}
	for name := range cfg.Params { // names of MySQL variables, in any case
		switch strings.ToLower(name) {
		case "autocommit", "time_zone", "sql_mode", "tx_isolation", "transaction_isolation":
			delete(cfg.Params, name)
		}
	}
	cfg.Params["time_zone"] = "'+00:00'"
	cfg.Params["sql_mode"] = "'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION'" // nothing is cut silently
	cfg.Logger = &driverlib.NopLogger{}
	return cfg, nil
}

func orDefault(d, fallback time.Duration) time.Duration {
	if d > 0 {
		return d
	}
	return fallback
}

// readCommitted is a connector whose connections use READ COMMITTED. The variable
// of that name differs between MySQL and MariaDB; the statement does not.
type readCommitted struct{ driver.Connector }

func (c readCommitted) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	execer, ok := conn.(driver.ExecerContext)
	if !ok {
		_ = conn.Close()
		return nil, driver.ErrSkip
	}
	if _, err := execer.ExecContext(ctx, "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED", nil); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return conn, nil
}

// serverFacts is what is asked of a server before it is used.
type serverFacts struct {
	serverCharset, databaseCharset, connectionCharset string
	maxPacket                                         int
	waitTimeout                                       int
}

func (s *Store) openMySQL(ctx context.Context, cfg Config) error {
	dsn, err := mysqlConfig(cfg.DSN)
	if err != nil {
		return err
	}
	facts, err := askServer(ctx, dsn)
	if err != nil {
		return s.mapError(ctx, "open MySQL", err)
	}
	if err := facts.check(); err != nil {
		return err
	}
	if facts.serverCharset != "utf8mb4" {
		s.log.WarnContext(ctx, "the server's default charset is not utf8mb4; the database's is", "charset", facts.serverCharset)
	}
	dsn.MaxAllowedPacket = facts.maxPacket
	readers := max(cfg.MaxOpenConns/4, 1)
	if s.reader, err = facts.pool(dsn, readers); err != nil {
		return err
	}
	// Without autocommit a transaction begins with its first statement: one round
	// trip less for each.
	dsn = dsn.Clone()
	dsn.Params["autocommit"] = "0"
	dsn.DialFunc = dialWire
	if s.writer, err = facts.pool(dsn, max(cfg.MaxOpenConns-readers, 1)); err != nil {
		return err
	}
	s.single, s.dialect = s.reader, mysqlDialect()
	return s.openGorm(gormmysql.New(gormmysql.Config{Conn: s.reader, SkipInitializeWithVersion: true, DisableWithReturning: true}))
}

// pool opens connections, at most n, that are given up before the server does.
func (f serverFacts) pool(dsn *driverlib.Config, n int) (*sql.DB, error) {
	connector, err := driverlib.NewConnector(dsn)
	if err != nil {
		return nil, fmt.Errorf("gormstore: MySQL DSN: %w", err)
	}
	var made driver.Connector = preparing{readCommitted{connector}}
	if dsn.DialFunc != nil {
		made = bounding{made}
	}
	pool := sql.OpenDB(made)
	pool.SetMaxOpenConns(n)
	pool.SetMaxIdleConns(n)
	pool.SetConnMaxLifetime(f.below(maxLifetime))
	pool.SetConnMaxIdleTime(f.below(maxIdleTime))
	return pool, nil
}

func (s *Store) openGorm(d gorm.Dialector) (err error) {
	// gorm's own logger prints values; it stays silent.
	s.gorm, err = gorm.Open(d, &gorm.Config{Logger: logger.Discard, DisableAutomaticPing: true, SkipDefaultTransaction: true})
	if err != nil {
		return fmt.Errorf("gormstore: open: %w", err)
	}
	return nil
}

func askServer(ctx context.Context, dsn *driverlib.Config) (facts serverFacts, err error) {
	connector, err := driverlib.NewConnector(dsn)
	if err != nil {
		return facts, err
	}
	db := sql.OpenDB(connector)
	defer func() { _ = db.Close() }()
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	err = db.QueryRowContext(ctx, `SELECT @@character_set_server, @@character_set_database,
		@@character_set_connection, @@max_allowed_packet, @@wait_timeout`).Scan(&facts.serverCharset,
		&facts.databaseCharset, &facts.connectionCharset, &facts.maxPacket, &facts.waitTimeout)
	return facts, err
}

func (f serverFacts) check() error {
	if f.databaseCharset != "utf8mb4" {
		return fmt.Errorf("gormstore: the database's charset is %s, it must be utf8mb4: "+
			"ALTER DATABASE … CHARACTER SET utf8mb4: %w", f.databaseCharset, store.ErrInvalid)
	}
	if f.connectionCharset != "utf8mb4" {
		return fmt.Errorf("gormstore: connections use charset %s, not utf8mb4 "+
			"(is there a proxy between?): %w", f.connectionCharset, store.ErrInvalid)
	}
	if f.maxPacket < minPacket {
		return fmt.Errorf("gormstore: max_allowed_packet is %d bytes, at least %d are needed: %w",
			f.maxPacket, minPacket, store.ErrInvalid)
	}
	return nil
}

// below keeps d under the time after which the server drops an idle connection.
func (f serverFacts) below(d time.Duration) time.Duration {
	return min(d, time.Duration(f.waitTimeout)*time.Second*2/3)
}
