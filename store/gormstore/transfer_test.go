package gormstore_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
	"github.com/chatkeep/chatkeep/store/gormstore"
)

// carriedColumns are those that a session record and its messages hold, or that an
// import sets by itself. Who adds one has to say in transfer.go and import.go what
// becomes of it when a session is copied.
var carriedColumns = map[string]string{
	"sessions": `account agent_id channel compacted_summary compaction_count created_at last_activity_at last_user_at model
		observed_seq pinned restored_at scope scope_id session_key sid state system_prompt title updated_at`,
	"slots": `active_at budget compact compacted_messages compacted_through compacted_tokens context_id created_at focus merged_through
		message_count mode model_at name next_seq place pruned_through results_from revision shown_from sid source
		summary_seq title total_tokens unpruned updated_at user_at weight`,
	"resets": `compacted_messages compacted_summary compacted_through compacted_tokens context_id merged_through message_count
		next_seq place pruned_through reset_at sid slot summary_seq total_tokens`,
	"messages":     "compacted content context_id created_at id meta role seq tokens turn_seq undone",
	"pruned_forms": "content context_id pruned seq",
	"notes":        "created_at id note_key place sid value",
	"variables":    "name sid value",
	"plan_files":   "content name sid",
}

// leftTables are not carried to another store: what waits or is over, what counts for
// minutes, what is the database's own.
var leftTables = []string{
	"lanes", "inbound", "commands", "targets", "deliveries", "previews", "erasures",
	"leases", "jobs", "rates", "notices", "schema_meta", "goose_db_version",
}

// Every table and column is carried to another store, or left for a reason.
func TestEverythingIsCarriedOrLeft(t *testing.T) {
	cfg := onSQLite(t)
	open(t, cfg)
	db := sqlOpen(t, "sqlite", cfg.DSN)
	rows, err := db.QueryContext(t.Context(), `SELECT m.name, c.name FROM sqlite_master m, pragma_table_xinfo(m.name) c
		WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite%' ORDER BY 1, 2`)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	tables := map[string][]string{}
	for rows.Next() {
		var table, column string
		if err := rows.Scan(&table, &column); err != nil {
			t.Fatal(err)
		}
		tables[table] = append(tables[table], column)
	}
	known := slices.Concat(leftTables, gormstore.LooseTables(), slices.Collect(maps.Keys(carriedColumns)))
	slices.Sort(known)
	if got := slices.Sorted(maps.Keys(tables)); !slices.Equal(got, known) {
		t.Errorf("tables are %v, known are %v", got, known)
	}
	for table, want := range carriedColumns {
		if got := strings.Join(tables[table], " "); got != strings.Join(strings.Fields(want), " ") {
			t.Errorf("columns of %s are %s", table, got)
		}
	}
}

// lostAnswers loses the answers of the next commits.
type lostAnswers struct{ left atomic.Int32 }

func (*lostAnswers) Statement(context.Context, string) error { return nil }
func (*lostAnswers) Commit(context.Context) error            { return nil }

func (l *lostAnswers) Committed(context.Context) error {
	if l.left.Add(-1) >= 0 {
		return errors.New("the answer was lost")
	}
	return nil
}

// Messages that went ahead are there once, however often their commit was answered.
func TestImportRecognisesItsCommits(t *testing.T) {
	eachMigrated(t, func(t *testing.T, cfg gormstore.Config) {
		lost := &lostAnswers{}
		cfg.Observer = lost
		s := open(t, cfg)
		const key, n = "agent:a:channel:any:scope:main:main", 1300
		in, err := s.ImportSession(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		at := time.UnixMilli(1e12)
		if err := in.Context(t.Context(), &store.ContextRecord{Slot: models.ContextSlot{ID: models.DefaultSlot, Mode: models.SlotFull}, NextSeq: n + 1}); err != nil {
			t.Fatal(err)
		}
		for seq := int64(1); seq <= n; seq++ {
			lost.left.Store(2)
			m := &store.MessageRecord{Turn: seq, SessionMessage: models.SessionMessage{ID: fmt.Sprint("msg_", seq), Seq: seq, Role: models.RoleUser, CreatedAt: at}}
			if err := in.Messages(t.Context(), []*store.MessageRecord{m}); err != nil {
				t.Fatal(err)
			}
		}
		lost.left.Store(2)
		if err := in.Commit(t.Context(), &store.SessionRecord{Session: models.Session{
			Key: key, State: models.SessionActive, CurrentSlot: models.DefaultSlot, CreatedAt: at}}); err != nil {
			t.Fatal(err)
		}
		session, err := s.Session(t.Context(), key)
		if err != nil || session.MessageCount != n {
			t.Errorf("%+v, %v", session, err)
		}
		messages, err := s.Messages(t.Context(), key, "", 0, 2*n)
		if err != nil || len(messages) != n {
			t.Errorf("%d messages, %v", len(messages), err)
		}
		for swept := 1; swept > 0; {
			out, err := s.Sweep(t.Context(), at.Add(1e6*time.Hour), store.Retention{}, 1000)
			if err != nil {
				t.Fatal(err)
			}
			if swept = out.Messages; swept > 0 {
				t.Errorf("%d messages were swept", swept)
			}
		}
	})
}
