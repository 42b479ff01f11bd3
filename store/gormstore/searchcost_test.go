package gormstore_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/chatkeep/chatkeep/internal/clock"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
	"github.com/chatkeep/chatkeep/store/gormstore"
	"github.com/chatkeep/chatkeep/store/storetest"
)

// maxBeside is what a search may touch besides the messages that it looks at.
const maxBeside = 300

// A search in one session reads that session's messages, the newest first, and stops
// when it has enough, whatever else there is.
func TestSearchTouchesItsSession(t *testing.T) {
	const own = 5000
	touched := map[string][]int64{}
	for _, others := range []int{2000, 20_000} {
		cfg := newMySQL(t).config()
		cfg.MaxOpenConns = 1
		s := open(t, cfg)
		longHistory(t, s, benchKey(1), own)
		for i := range others / 1000 {
			longHistory(t, s, benchKey(10+i), 1000)
		}
		for _, step := range []struct {
			what  string
			word  string
			found int
			most  int64
		}{
			{"common", "release", 20, 2*2000 + maxBeside}, // the first statement has enough
			{"rare", "message 4:", 1, own + maxBeside},
			{"none", "发布", 0, own + maxBeside},
		} {
			search := func() error {
				found, _, err := s.SearchMessages(t.Context(), store.MessageQuery{SessionKey: benchKey(1), Words: []string{step.word}, Limit: 20})
				if err == nil && len(found) != step.found {
					err = fmt.Errorf("%s: %d found", step.what, len(found))
				}
				return err
			}
			if err := search(); err != nil { // the first one reads statistics, too
				t.Fatal(err)
			}
			reads := handlerReads(t, s, search)
			t.Logf("%s among %d others: %d entries", step.what, others, reads)
			if reads > step.most {
				t.Errorf("%s: touched %d entries, want at most %d", step.what, reads, step.most)
			}
			touched[step.what] = append(touched[step.what], reads)
		}
		closeStore(t, s)
	}
	for what, n := range touched {
		if n[0] != n[1] {
			t.Errorf("%s: entries touched by number of other messages: %v", what, n)
		}
	}
}

// No statement of a search reads a whole table or sorts.
func TestSQLitePlansOfSearch(t *testing.T) {
	d := newSQLite(t)
	cfg := d.config(d.file(t))
	seen := &texts{all: map[string]bool{}}
	cfg.Observer = seen
	s := open(t, cfg)
	longHistory(t, s, "agent:a", 3000)
	longHistory(t, s, "agent:b", 10)
	longHistory(t, s, "agent:c", 10)
	if err := s.AppendMessages(t.Context(), "agent:a", []*models.SessionMessage{
		storetest.NewSessionMessage(models.RoleAssistant, "the answer to message 1: the release", clock.Real().Now()),
	}); err != nil {
		t.Fatal(err)
	}
	clear(seen.all)
	for _, q := range []store.MessageQuery{
		{SessionKey: "agent:a"}, {SessionKey: "agent:a", Slot: models.DefaultSlot}, {}, {AgentID: "assistant"},
		{Roles: []models.Role{models.RoleUser}, Limit: 5}, {SessionKey: "agent:a", Slot: models.DefaultSlot, WithAsked: true},
	} {
		q.Words = []string{"release", "message 1"}
		_, next, err := s.SearchMessages(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		q.Cursor = next
		if _, _, err := s.SearchMessages(t.Context(), q); err != nil {
			t.Fatal(err)
		}
	}
	db := sqlOpen(t, "sqlite", cfg.DSN)
	for text := range seen.all {
		for _, line := range plan(t, db, text) {
			if wholeTable(line) || strings.Contains(line, "USE TEMP B-TREE FOR ORDER BY") {
				t.Errorf("%s\n\t%s", line, text)
			}
		}
	}
}

// othersEnv is how many messages the other sessions of BenchmarkSearch have.
const othersEnv = "SEARCH_OTHERS"

// BenchmarkSearch looks for words in a session of 100,000 messages, and everywhere.
func BenchmarkSearch(b *testing.B) {
	others := 100_000
	if text := os.Getenv(othersEnv); text != "" {
		var err error
		if others, err = strconv.Atoi(text); err != nil {
			b.Fatal(err)
		}
	}
	for _, cfg := range benchDatabases(b) {
		s, c := counted(b, cfg)
		r := rand.New(rand.NewPCG(1, 2))
		realHistory(b, s, r, benchKey(0), 100_000)
		for i := range others / 100 {
			realHistory(b, s, r, benchKey(1+i), 100)
		}
		for _, q := range []struct {
			name string
			q    store.MessageQuery
		}{
			{"session/common", store.MessageQuery{SessionKey: benchKey(0), Words: []string{"的"}}},
			{"session/rare", store.MessageQuery{SessionKey: benchKey(0), Words: []string{"部署完成"}}},
			{"session/none", store.MessageQuery{SessionKey: benchKey(0), Words: []string{"zebra"}}},
			{"session/words", store.MessageQuery{SessionKey: benchKey(0), Words: []string{"的", "zebra"}}},
			{"page/common", store.MessageQuery{Words: []string{"的"}}},
			{"page/none", store.MessageQuery{Words: []string{"zebra"}}},
			{"all/none", store.MessageQuery{Words: []string{"zebra"}}},
		} {
			b.Run(fmt.Sprintf("db=%s/%s", cfg.Driver, q.name), func(b *testing.B) {
				c.reset()
				runWriters(b, 1, func(int) error {
					for at := q.q; ; {
						_, next, err := s.SearchMessages(b.Context(), at)
						if at.Cursor = next; err != nil || next == "" || !strings.HasPrefix(q.name, "all/") {
							return err
						}
					}
				})
				c.report(b)
			})
		}
		closeStore(b, s)
	}
}

// realHistory fills a session with messages as long as those of people: 280 bytes on
// average, half of them Chinese.
func realHistory(tb testing.TB, s *gormstore.Store, r *rand.Rand, key string, n int) {
	tb.Helper()
	now := clock.Real().Now()
	if err := s.CreateSession(tb.Context(), storetest.NewSession(key, now)); err != nil {
		tb.Fatal(err)
	}
	letters := []rune("的一是不了人我在有他这为之大来以个中上们到说国和地也子时道出而要于就下得可你年生部署完成")
	for done := 0; done < n; done += 1000 {
		messages := make([]*models.SessionMessage, min(1000, n-done))
		for i := range messages {
			var text strings.Builder
			for range 5 + r.IntN(25) {
				for range 1 + r.IntN(4) {
					text.WriteRune(letters[r.IntN(len(letters))])
				}
				text.WriteString("plan" + strconv.Itoa(r.IntN(1000)))
			}
			messages[i] = storetest.NewSessionMessage(models.RoleUser, text.String(), now)
		}
		if err := s.AppendMessages(tb.Context(), key, messages); err != nil {
			tb.Fatal(err)
		}
	}
}
