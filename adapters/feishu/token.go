package feishu

import (
	"context"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/chatkeep/chatkeep/internal/clock"
)

// tokenMargin is how long before its end a token is not used any more. The
// platform hands out a new one in the last 30 minutes.
const tokenMargin = 5 * time.Minute

// tokenSource keeps the tenant access token. However many wait, one fetch is made.
// The SDK's own cache is not used: it never evicts a token that the platform revoked.
type tokenSource struct {
	clock clock.Clock
	fetch func(ctx context.Context) (token string, ttl time.Duration, err error)

	flight singleflight.Group
	mu     sync.Mutex
	token  string
	until  time.Time
}

// get returns a token that is good for now.
func (s *tokenSource) get(ctx context.Context) (string, error) {
	if token := s.current(); token != "" {
		return token, nil
	}
	fetched := s.flight.DoChan("", func() (any, error) {
		// One waiter's end must not fail the others.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestTimeout)
		defer cancel()
		if token := s.current(); token != "" {
			return token, nil
		}
		token, ttl, err := s.fetch(ctx)
		if err != nil {
			return "", err
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.token, s.until = token, s.clock.Now().Add(max(ttl-tokenMargin, ttl/2))
		return token, nil
	})
	select {
	case r := <-fetched:
		token, _ := r.Val.(string)
		return token, r.Err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

func (s *tokenSource) current() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.clock.Now().Before(s.until) {
		return s.token
	}
	return ""
}

// evict forgets a token that the platform refused, unless a newer one is known.
func (s *tokenSource) evict(token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.token == token {
		s.token = ""
		s.until = time.Time{}
	}
}
