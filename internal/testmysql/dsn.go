package testmysql

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
)

// EnvDSN names the environment variable with the DSN of a server to test on.
// Its database, if it names one, is not touched.
const EnvDSN = "CHATKEEP_TEST_MYSQL_DSN"

const (
	ping        = "DO 1"
	localAddr   = "127.0.0.1:3306"
	dialTimeout = 5 * time.Second
	ioTimeout   = 30 * time.Second
)

// server finds or starts the server once per process.
var server = sync.OnceValues(func() (*mysql.Config, error) {
	return locate(os.Getenv(EnvDSN), localAddr, defaultPrivate())
})

// DSN returns the DSN of a new, empty utf8mb4 database with a unique name,
// which is dropped when the test ends. The test fails if there is no server.
func DSN(tb testing.TB) string {
	tb.Helper()
	base, err := server()
	if err != nil {
		tb.Fatalf("no MySQL to test on: %v", err)
	}
	return create(tb, base)
}

func create(tb testing.TB, base *mysql.Config) string {
	tb.Helper()
	name := "chatkeep_test_" + strings.ToLower(rand.Text())
	// The server's default collation stays: a schema that forgets to name one shall fail here.
	if err := run(base, "CREATE DATABASE "+name+" CHARACTER SET utf8mb4"); err != nil {
		tb.Fatalf("create a test database: %v", err)
	}
	tb.Cleanup(func() {
		if err := run(base, "DROP DATABASE "+name); err != nil {
			tb.Errorf("drop the test database (is a transaction still open?): %v", err)
		}
	})
	cfg := base.Clone()
	cfg.DBName = name
	return cfg.FormatDSN()
}

// locate returns the configuration of the first server that can be used.
func locate(dsn, local string, p private) (*mysql.Config, error) {
	if dsn != "" {
		cfg, err := mysql.ParseDSN(dsn)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", EnvDSN, err)
		}
		withParams(cfg)
		if err := run(cfg, ping); err != nil {
			return nil, fmt.Errorf("the server of %s does not answer: %w", EnvDSN, err)
		}
		return cfg, nil
	}
	cfg := rootAt(local)
	localErr := run(cfg, ping)
	if localErr == nil {
		return cfg, nil
	}
	cfg, err := p.acquire()
	if err != nil {
		return nil, errors.Join(
			fmt.Errorf("set %s, or let root connect to %s without a password, or install the package %s",
				EnvDSN, local, debianPackage),
			fmt.Errorf("%s: %w", local, localErr),
			fmt.Errorf("private server: %w", err))
	}
	return cfg, nil
}

func rootAt(addr string) *mysql.Config {
	cfg := mysql.NewConfig()
	cfg.User, cfg.Net, cfg.Addr = "root", "tcp", addr
	withParams(cfg)
	return cfg
}

// withParams sets what the product's own DSN has, whatever the server's DSN said.
func withParams(cfg *mysql.Config) {
	cfg.DBName = ""
	cfg.Loc = time.UTC
	cfg.ParseTime = true
	cfg.InterpolateParams = true
	cfg.ClientFoundRows = true
	cfg.Timeout, cfg.ReadTimeout, cfg.WriteTimeout = dialTimeout, ioTimeout, ioTimeout
	_ = cfg.Apply(mysql.Charset("utf8mb4", ""))
	if cfg.Params == nil {
		cfg.Params = map[string]string{}
	}
	cfg.Params["time_zone"] = "'+00:00'"
}

// run executes one statement on a connection of its own.
func run(cfg *mysql.Config, statement string) error {
	cfg = cfg.Clone()
	cfg.Logger = &mysql.NopLogger{} // a server that is not there is no news
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		return err
	}
	db := sql.OpenDB(connector)
	defer func() { _ = db.Close() }()
	ctx, cancel := context.WithTimeout(context.Background(), ioTimeout)
	defer cancel()
	_, err = db.ExecContext(ctx, statement)
	return err
}
