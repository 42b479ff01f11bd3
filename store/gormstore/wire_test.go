package gormstore_test

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/chatkeep/chatkeep/internal/clock"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
	"github.com/chatkeep/chatkeep/store/gormstore"
	"github.com/chatkeep/chatkeep/store/storetest"
)

// A server that stops answering within a transaction, at whichever statement, holds
// its caller up to the deadline and not longer; the connection is given up, the
// transaction has no effect, and the next call works.
func TestStalledServerInATransaction(t *testing.T) {
	cfg := onMySQL(t)
	proxy := newProxy(t, &cfg)
	stall := &killer{kill: proxy.stall}
	cfg.Observer = stall
	s := open(t, cfg)
	const (
		key     = "agent:a:channel:any:scope:main:main"
		patient = 300 * time.Millisecond
		late    = patient + 6*time.Second // a rollback may have to wait, too
	)
	if err := s.CreateSession(t.Context(), storetest.NewSession(key, clock.Real().Now())); err != nil {
		t.Fatal(err)
	}
	for n := 1; n <= 4; n++ { // three statements and the commit
		messages := []*models.SessionMessage{storetest.NewSessionMessage(models.RoleUser, "text", clock.Real().Now())}
		stall.after.Store(int64(n))
		ctx, cancel := context.WithTimeout(t.Context(), patient)
		start := clock.Real().Now()
		err := s.AppendMessages(ctx, key, messages)
		took := clock.Real().Now().Sub(start)
		cancel()
		if !errors.Is(err, store.ErrUnavailable) {
			t.Fatalf("stalled before step %d: error is %v", n, err)
		}
		if took < patient-50*time.Millisecond || took > late {
			t.Errorf("stalled before step %d: returned after %v", n, took)
		}
		if stats := gormstore.WritePool(s).Stats(); stats.OpenConnections != 0 {
			t.Errorf("stalled before step %d: %d connections are kept", n, stats.OpenConnections)
		}
		proxy.restart()
		if err := s.AppendMessages(t.Context(), key, messages); err != nil {
			t.Fatalf("after step %d: %v", n, err)
		}
		if got, err := s.Messages(t.Context(), key, "", 0, 10); err != nil || len(got) != n {
			t.Fatalf("after step %d: %d messages, %v", n, len(got), err)
		}
	}
}

// A connection that once carried a deadline serves long after it.
func TestDeadlineEndsWithItsTransaction(t *testing.T) {
	cfg := newMySQL(t).config()
	cfg.MaxOpenConns = 1
	s := open(t, cfg)
	const key = "agent:a:channel:any:scope:main:main"
	if err := s.CreateSession(t.Context(), storetest.NewSession(key, clock.Real().Now())); err != nil {
		t.Fatal(err)
	}
	appendOne := func(ctx context.Context) int64 {
		t.Helper()
		m := storetest.NewSessionMessage(models.RoleUser, "text", clock.Real().Now())
		if err := s.AppendMessages(ctx, key, []*models.SessionMessage{m}); err != nil {
			t.Fatal(err)
		}
		var id int64
		if err := gormstore.WritePool(s).QueryRowContext(t.Context(), "SELECT CONNECTION_ID()").Scan(&id); err != nil {
			t.Fatal(err)
		}
		return id
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	first := appendOne(ctx)
	<-ctx.Done()
	if again := appendOne(t.Context()); again != first {
		t.Errorf("connection %d was replaced by %d", first, again)
	}
}

// proxy stands between a store and its server, and can fall silent.
type proxy struct {
	server string
	mu     sync.Mutex
	silent chan struct{} // closed: what is connected passes nothing on any more
	open   []net.Conn
}

// newProxy starts a proxy and directs cfg to it.
func newProxy(t *testing.T, cfg *gormstore.Config) *proxy {
	t.Helper()
	dsn, err := mysql.ParseDSN(cfg.DSN)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{server: dsn.Addr, silent: make(chan struct{})}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			running.Go(func() { p.serve(client) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		p.restart()
		running.Wait()
	})
	dsn.Net, dsn.Addr = "tcp", listener.Addr().String()
	cfg.DSN = dsn.FormatDSN()
	return p
}

// stall makes every connection of now fall silent.
func (p *proxy) stall() {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.silent)
}

// restart cuts the connections of now and lets new ones through again.
func (p *proxy) restart() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.silent = make(chan struct{})
	for _, c := range p.open {
		_ = c.Close()
	}
	p.open = nil
}

func (p *proxy) serve(client net.Conn) {
	defer func() { _ = client.Close() }()
	server, err := net.Dial("tcp", p.server)
	if err != nil {
		return
	}
	defer func() { _ = server.Close() }()
	p.mu.Lock()
	silent := p.silent
	p.open = append(p.open, client, server)
	p.mu.Unlock()
	var answers sync.WaitGroup
	answers.Go(func() { pass(client, server, silent) })
	pass(server, client, silent)
	_ = server.Close()
	answers.Wait()
}

// pass copies until its source ends; once silent it reads and drops.
func pass(to io.Writer, from io.Reader, silent <-chan struct{}) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		select {
		case <-silent:
		default:
			_, _ = to.Write(buffer[:n])
		}
		if err != nil {
			return
		}
	}
}
