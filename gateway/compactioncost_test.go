package gateway_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chatkeep/chatkeep/agents"
	"github.com/chatkeep/chatkeep/gateway"
	"github.com/chatkeep/chatkeep/internal/clock"
	"github.com/chatkeep/chatkeep/internal/testmysql"
	"github.com/chatkeep/chatkeep/internal/tokens"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store/gormstore"
)

// costEnv asks for the measurement, which takes a minute.
const costEnv = "CHATKEEP_TEST_COMPACTION_COST"

// TestCompactionLeavesOthersAlone measures the turns of others on MySQL while one
// session of a thousand long messages is summarised, and while none is, by turns.
func TestCompactionLeavesOthersAlone(t *testing.T) {
	if os.Getenv(costEnv) == "" {
		t.Skipf("set %s=1 to measure", costEnv)
	}
	const (
		people, messages, rounds = 16, 1000, 10
		window                   = 3 * time.Second
	)
	r := &summaryRig{rig: newRig(t)} // with an agent in this process: a provider's work is not measured
	r.chat.Streaming, r.chat.WorkingSign = false, false
	st, err := gormstore.Open(context.Background(), gormstore.Config{Driver: gormstore.MySQL, DSN: testmysql.DSN(t), Migrate: true})
	r.must(err)
	t.Cleanup(func() { _ = st.Close() })
	r.store, r.settings.Compaction.KeepRecent, r.config.Workers = st, 10, 64
	var asked atomic.Int64
	r.mind.does(func(ctx context.Context, req *agents.Request) (*agents.Response, error) {
		if !strings.HasPrefix(req.Messages[0].Content, "You condense") {
			return answer("re: " + req.Text), nil
		}
		asked.Add(1)
		return answer("what was said " + strings.Repeat("and more ", 500)), clock.Sleep(ctx, clock.Real(), 200*time.Millisecond)
	})
	r.start()
	r.talk(1)

	var stop atomic.Bool
	var phase atomic.Int64 // even: not measured; then without and with a summary, by turns
	var mu sync.Mutex
	took := map[int64][]time.Duration{}
	var talking sync.WaitGroup
	for p := range people {
		talking.Go(func() {
			pace := time.NewTicker(500 * time.Millisecond)
			defer pace.Stop()
			for n := 0; !stop.Load(); n++ {
				<-pace.C
				began, now := time.Now(), phase.Load()
				id := fmt.Sprintf("p%d-%d", p, n)
				in := models.NewID("inb")
				w := r.gateway.Watch(in)
				r.must(r.accept(whisper(id, fmt.Sprint("person", p), "hello"), func(i *gateway.Incoming) { i.ID = in }))
				for {
					u, err := w.Next(context.Background())
					r.must(err)
					if u.Done != nil {
						break
					}
				}
				w.Close()
				if now%2 == 1 && now == phase.Load() {
					mu.Lock()
					took[now] = append(took[now], time.Since(began))
					mu.Unlock()
				}
			}
		})
	}
	with := map[int64]bool{}
	for round := range rounds {
		text := strings.Repeat(fmt.Sprintf("round %d of order ORD-%d costs 12,345.67 and ", round, 1000+round), 30)
		var more []*models.SessionMessage
		for range messages / 2 {
			for _, role := range []models.Role{models.RoleUser, models.RoleAssistant} {
				m := &models.SessionMessage{ID: models.NewMessageID(time.Now()), Role: role, Content: text, CreatedAt: time.Now()}
				m.TokenCount = tokens.Message(m, nil)
				more = append(more, m)
			}
		}
		for part := range slices.Chunk(more, 100) {
			r.must(r.store.AppendMessages(context.Background(), r.key(), part))
		}
		for _, during := range []bool{round%2 == 0, round%2 != 0} {
			now := phase.Add(1)
			with[now] = during
			if during {
				compacted, err := r.gateway.Compact(context.Background(), r.key(), "", "", false)
				r.must(err)
				if compacted.Changed == 0 {
					t.Fatalf("%+v", compacted)
				}
			} else {
				r.must(clock.Sleep(context.Background(), clock.Real(), window))
			}
			phase.Add(1)
		}
	}
	stop.Store(true)
	talking.Wait()
	sides := map[bool][]time.Duration{}
	for n, some := range took {
		sides[with[n]] = append(sides[with[n]], some...)
	}
	quantile := func(during bool, q float64) time.Duration {
		slices.Sort(sides[during])
		return sides[during][int(q*float64(len(sides[during])-1))].Round(100 * time.Microsecond)
	}
	for _, during := range []bool{false, true} {
		t.Logf("summarising %v: %d turns, p50 %s, p99 %s", during, len(sides[during]), quantile(during, 0.5), quantile(during, 0.99))
	}
	ratio := float64(quantile(true, 0.99)) / float64(quantile(false, 0.99))
	t.Logf("%d summaries in %d requests; p99 with to p99 without: %.2f", rounds, asked.Load(), ratio)
	if ratio > 2 {
		t.Error("others wait for a summary")
	}
}
