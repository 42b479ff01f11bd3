package gormstore

import (
	"fmt"
	"strings"
)

// The tables of the journal; see [Journal].
const journalTables = `
CREATE TABLE IF NOT EXISTS journal_sessions (
  sid         BLOB NOT NULL,
  session_key TEXT NOT NULL,
  what        INTEGER NOT NULL,
  version     INTEGER NOT NULL,
  PRIMARY KEY (sid)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS journal_contexts (
  context_id BLOB NOT NULL,
  from_seq   INTEGER NOT NULL,
  whole      INTEGER NOT NULL,
  version    INTEGER NOT NULL,
  PRIMARY KEY (context_id)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS journal_marks (
  context_id BLOB NOT NULL,
  seq        INTEGER NOT NULL,
  PRIMARY KEY (context_id, seq)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS journal_slots ON slots (context_id);
`

// trigger notes one kind of change. The row is NEW, or OLD in a deletion.
type trigger struct {
	name, event, table string
	// changed are the columns whose change counts, in an update.
	changed []string
	then    []string
}

func noteSession(row string, what Changed) string {
	key := "(SELECT session_key FROM lanes WHERE sid = " + row + ".sid)"
	if what == ChangedAll { // only rows of sessions say so
		key = row + ".session_key"
	}
	return fmt.Sprintf(`INSERT INTO journal_sessions (sid, session_key, what, version) VALUES (%s.sid, %s, %d, 1)
    ON CONFLICT (sid) DO UPDATE SET what = what | excluded.what, version = version + 1;`, row, key, what)
}

// noteContext notes messages from a seq on as appended, or that the context is another
// one as a whole.
func noteContext(row, from string, whole bool) string {
	return fmt.Sprintf(`INSERT INTO journal_contexts (context_id, from_seq, whole, version) VALUES (%s.context_id, %s, %d, 1)
    ON CONFLICT (context_id) DO UPDATE SET from_seq = min(from_seq, excluded.from_seq), whole = max(whole, excluded.whole), version = version + 1;`,
		row, from, bit(whole))
}

const (
	noteMark = `INSERT INTO journal_marks (context_id, seq) VALUES (NEW.context_id, NEW.seq) ON CONFLICT DO NOTHING;`
	never    = "4611686018427387904" // a seq behind all messages
)

func triggers() []trigger {
	const insert, update, remove = "INSERT", "UPDATE", "DELETE"
	out := []trigger{
		{"session_made", insert, "sessions", nil, []string{noteSession("NEW", ChangedAll)}},
		{"session_gone", remove, "sessions", nil, []string{noteSession("OLD", ChangedAll)}},
		{"session_moved", update, "sessions", []string{"sid"}, []string{noteSession("OLD", ChangedAll), noteSession("NEW", ChangedAll)}},
		{"session_set", update, "sessions", []string{
			"channel", "account", "state", "title", "model", "system_prompt", "pinned", "compaction_count",
		}, []string{noteSession("NEW", ChangedSettings)}},
		{"slot_made", insert, "slots", nil, []string{noteSession("NEW", ChangedSettings), noteContext("NEW", never, true)}},
		{"slot_gone", remove, "slots", nil, []string{noteSession("OLD", ChangedSettings)}},
		{"slot_set", update, "slots", []string{
			"title", "mode", "focus", "source", "budget", "compact", "compacted_through", "summary_seq", "merged_through", "pruned_through",
		}, []string{noteSession("NEW", ChangedSettings)}},
		{"slot_exchanged", update, "slots", []string{"context_id"}, []string{noteSession("NEW", ChangedSettings), noteContext("NEW", never, true)}},
		{"slot_switched", update, "lanes", []string{"slot"}, []string{noteSession("NEW", ChangedSettings)}},
		{"message_made", insert, "messages", nil, []string{noteContext("NEW", "NEW.seq", false)}},
		{"message_gone", remove, "messages", nil, []string{noteContext("OLD", never, true)}},
		{"message_undone", update, "messages", []string{"undone"}, []string{noteMark, noteContext("NEW", never, false)}},
		{"form_made", insert, "pruned_forms", nil, []string{noteMark, noteContext("NEW", never, false)}},
		{"form_gone", remove, "pruned_forms", nil, []string{noteContext("OLD", never, true)}},
	}
	for _, t := range []struct {
		table string
		what  Changed
	}{{"notes", ChangedNotes}, {"variables", ChangedSettings}, {"plan_files", ChangedFiles}} {
		out = append(out,
			trigger{t.table + "_made", insert, t.table, nil, []string{noteSession("NEW", t.what)}},
			trigger{t.table + "_set", update, t.table, nil, []string{noteSession("NEW", t.what)}},
			trigger{t.table + "_gone", remove, t.table, nil, []string{noteSession("OLD", t.what)}})
	}
	return out
}

func (t *trigger) sqlName() string { return "journal_" + t.name }

// sql is the statement that makes the trigger, as SQLite keeps it.
func (t *trigger) sql() string {
	event, when := t.event, ""
	if len(t.changed) > 0 {
		event += " OF " + strings.Join(t.changed, ", ")
		differ := make([]string, len(t.changed))
		for i, c := range t.changed {
			differ[i] = "OLD." + c + " IS NOT NEW." + c
		}
		when = "\n  WHEN " + strings.Join(differ, " OR ")
	}
	return "CREATE TRIGGER " + t.sqlName() + " AFTER " + event + " ON " + t.table + when + "\nBEGIN\n  " + strings.Join(t.then, "\n  ") + "\nEND"
}
