package feishu

import (
	"context"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/sync/singleflight"

	"github.com/chatkeep/chatkeep/internal/clock"
)

// How long what was learned is believed; a failure is not asked again for a while.
const (
	knownFor     = time.Hour
	unknownFor   = time.Minute
	cacheEntries = 10_000
)

// chatInfo is what is worth knowing of a chat.
type chatInfo struct {
	name string
	// topic is set if the chat consists of topics.
	topic bool
}

// cache remembers the answers to one question. However many ask, the platform is
// asked once.
type cache[V any] struct {
	clock  clock.Clock
	fetch  func(ctx context.Context, key string) (V, error)
	flight singleflight.Group
	known  *lru.Cache[string, cached[V]]
}

type cached[V any] struct {
	value V
	err   error
	until time.Time
}

func newCache[V any](c clock.Clock, fetch func(ctx context.Context, key string) (V, error)) *cache[V] {
	known, err := lru.New[string, cached[V]](cacheEntries)
	if err != nil {
		panic(err) // the size is a positive constant
	}
	return &cache[V]{clock: c, fetch: fetch, known: known}
}

// get returns what is known of key, asking the platform if need be for as long as ctx allows.
func (c *cache[V]) get(ctx context.Context, key string) (V, error) {
	if entry, ok := c.known.Get(key); ok && c.clock.Now().Before(entry.until) {
		return entry.value, entry.err
	}
	fetched := c.flight.DoChan(key, func() (any, error) {
		// The answer is worth having even if the first to ask gave up.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestTimeout)
		defer cancel()
		value, err := c.fetch(ctx, key)
		entry := cached[V]{value: value, err: err, until: c.clock.Now().Add(knownFor)}
		if err != nil {
			entry.until = c.clock.Now().Add(unknownFor)
		}
		c.known.Add(key, entry)
		return entry, nil
	})
	select {
	case r := <-fetched:
		entry, _ := r.Val.(cached[V])
		return entry.value, entry.err
	case <-ctx.Done():
		var none V
		return none, ctx.Err()
	}
}

// forget drops what is known of key.
func (c *cache[V]) forget(key string) { c.known.Remove(key) }
