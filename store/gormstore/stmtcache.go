package gormstore

import (
	"context"
	"database/sql/driver"
)

// Bounds of what one connection keeps prepared. A server bounds them too
// (max_prepared_stmt_count, 16,382 by default).
const (
	maxPrepared  = 64
	maxSeen      = 512
	maxKeptQuery = 4096
)

// preparing is a connector whose connections keep recurring statements prepared,
// whichever transaction they are part of: the hot path is a handful of texts.
type preparing struct{ driver.Connector }

func (p preparing) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := p.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	full, ok := conn.(fullConn)
	if !ok {
		return conn, nil
	}
	return &preparedConn{fullConn: full, seen: map[string]bool{}, kept: map[string]driver.Stmt{}}, nil
}

// fullConn is what a driver's connection can do.
type fullConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.NamedValueChecker
	driver.Pinger
	driver.QueryerContext
	driver.SessionResetter
	driver.Validator
}

// preparedConn is used by one goroutine at a time, as every connection is.
type preparedConn struct {
	fullConn
	seen map[string]bool
	kept map[string]driver.Stmt
}

// stmt returns the prepared form of a text from its second use on; nil if it has none.
func (c *preparedConn) stmt(ctx context.Context, query string) (driver.Stmt, error) {
	if s := c.kept[query]; s != nil {
		return s, nil
	}
	if !c.seen[query] {
		if len(query) <= maxKeptQuery && len(c.seen) < maxSeen {
			c.seen[query] = true
		}
		return nil, nil
	}
	if len(c.kept) >= maxPrepared {
		return nil, nil
	}
	s, err := c.PrepareContext(ctx, query)
	if err == nil {
		c.kept[query] = s
	}
	return s, err
}

func (c *preparedConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if len(args) > 0 {
		s, err := c.stmt(ctx, query)
		if err != nil {
			return nil, err
		}
		if s, ok := s.(driver.StmtExecContext); ok {
			return s.ExecContext(ctx, args)
		}
	}
	return c.fullConn.ExecContext(ctx, query, args)
}

func (c *preparedConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if len(args) > 0 {
		s, err := c.stmt(ctx, query)
		if err != nil {
			return nil, err
		}
		if s, ok := s.(driver.StmtQueryContext); ok {
			return s.QueryContext(ctx, args)
		}
	}
	return c.fullConn.QueryContext(ctx, query, args)
}
