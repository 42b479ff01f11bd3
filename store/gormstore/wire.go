package gormstore

import (
	"context"
	"database/sql/driver"
	"errors"
	"net"
	"syscall"
	"time"
)

// deadlineOnly is a context that has a deadline but is never done: the driver wakes
// a goroutine twice for every statement whose context may end, which is a good part
// of what a short transaction costs. The deadline holds at the network connection.
type deadlineOnly struct {
	context.Context //nolint:containedctx // it is one, without cancellation
	deadline        time.Time
}

// Deadline implements [context.Context].
func (c deadlineOnly) Deadline() (time.Time, bool) { return c.deadline, true }

// bounding is a connector whose connections give up at the deadline of a context that
// is never done, as [deadlineOnly]; others are the driver's business.
type bounding struct{ driver.Connector }

// wireKey finds in a context where dialWire leaves the connection it made.
type wireKey struct{}

func (b bounding) Connect(ctx context.Context) (driver.Conn, error) {
	var w *wire
	conn, err := b.Connector.Connect(context.WithValue(ctx, wireKey{}, &w))
	if err != nil {
		return nil, err
	}
	full, ok := conn.(fullConn)
	if !ok || w == nil { // nothing would hold the deadline
		return nil, errors.Join(errors.New("gormstore: connection cannot be bounded"), conn.Close())
	}
	return &boundedConn{fullConn: full, wire: w}, nil
}

// dialWire connects as the driver does by itself.
func dialWire(ctx context.Context, network, address string) (net.Conn, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	w := &wire{Conn: conn}
	if to, ok := ctx.Value(wireKey{}).(**wire); ok {
		*to = w
	}
	return w, nil
}

// boundedConn is used by one goroutine at a time, as every connection is.
type boundedConn struct {
	fullConn
	wire *wire
}

func (c *boundedConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	c.wire.follow(ctx)
	return c.fullConn.ExecContext(ctx, query, args)
}

// QueryContext leaves the bound in place for the rows, which are read later.
func (c *boundedConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	c.wire.follow(ctx)
	return c.fullConn.QueryContext(ctx, query, args)
}

func (c *boundedConn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	c.wire.follow(ctx)
	return c.fullConn.PrepareContext(ctx, query)
}

func (c *boundedConn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	c.wire.follow(ctx)
	return c.fullConn.BeginTx(ctx, opts)
}

func (c *boundedConn) Ping(ctx context.Context) error {
	c.wire.follow(ctx)
	return c.fullConn.Ping(ctx)
}

// ResetSession is called when the connection is taken from the pool: the bound of
// its last user is over.
func (c *boundedConn) ResetSession(ctx context.Context) error {
	c.wire.follow(ctx)
	return c.fullConn.ResetSession(ctx)
}

func (c *boundedConn) Close() error {
	c.wire.follow(context.Background())
	return c.fullConn.Close()
}

// wire is a network connection whose reads and writes end at a bound, however late
// the driver would let them.
type wire struct {
	net.Conn
	bound time.Time // zero: none
}

// follow takes over the bound of a context.
func (w *wire) follow(ctx context.Context) {
	w.bound = time.Time{}
	if ctx.Done() == nil {
		w.bound, _ = ctx.Deadline()
	}
}

func (w *wire) within(t time.Time) time.Time {
	if !w.bound.IsZero() && (t.IsZero() || t.After(w.bound)) {
		return w.bound
	}
	return t
}

// SetReadDeadline is called by the driver before every read.
func (w *wire) SetReadDeadline(t time.Time) error { return w.Conn.SetReadDeadline(w.within(t)) }

// SetWriteDeadline is called by the driver before every write.
func (w *wire) SetWriteDeadline(t time.Time) error { return w.Conn.SetWriteDeadline(w.within(t)) }

// SyscallConn lets the driver see whether an idle connection is still alive.
func (w *wire) SyscallConn() (syscall.RawConn, error) {
	if c, ok := w.Conn.(syscall.Conn); ok {
		return c.SyscallConn()
	}
	return nil, errors.ErrUnsupported
}
