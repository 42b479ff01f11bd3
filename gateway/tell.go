package gateway

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

const (
	// tellTimeout bounds the storing of a notice.
	tellTimeout = 10 * time.Second
	// toldLife is how long it is remembered here that something was told: the database
	// knows for how long it counts, and is asked again after that.
	toldLife = time.Minute
	// maxTold bounds what is remembered.
	maxTold = 4096
)

// tell stores notices for sending, once for the words given: also if another replica,
// or this process before it died, did so within the time that is remembered.
func (g *Gateway) tell(ctx context.Context, notices []*models.Delivery, once ...string) {
	if len(notices) == 0 {
		return
	}
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), tellTimeout)
	defer cancel()
	if _, err := g.store.Enqueue(bounded, notices, store.Once{Key: "notice\x00" + strings.Join(once, "\x00")}, nil); err != nil {
		g.log.Error("a notice could not be stored", "inbound", notices[0].InboundID, "error", err)
		return
	}
	g.queued(notices)
}

// tellOnce stores notices for sending unless this was done under the key, on any
// replica, and until is not over. It reports whether they were told, now or before.
func (g *Gateway) tellOnce(ctx context.Context, key string, until time.Time, notices []*models.Delivery) bool {
	if len(notices) == 0 {
		return true
	}
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), tellTimeout)
	defer cancel()
	fresh, err := g.store.TellOnce(bounded, key, g.now(), until, notices)
	if err != nil {
		g.log.Error("a notice could not be stored", "channel", notices[0].Channel, "account", notices[0].Account, "error", err)
		return false
	}
	if fresh {
		g.queued(notices)
	}
	return true
}

// told remembers for a short while what was told, so that somebody who writes on and
// on does not make the database be asked each time.
type told struct {
	mu sync.Mutex
	at map[string]time.Time
}

func (t *told) knows(key string, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	at, ok := t.at[key]
	return ok && now.Sub(at) < toldLife
}

func (t *told) add(key string, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.at == nil || len(t.at) >= maxTold {
		t.at = map[string]time.Time{}
	}
	t.at[key] = now
}
