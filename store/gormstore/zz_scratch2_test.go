package gormstore_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/chatkeep/chatkeep/store/gormstore"
)

func TestScratchSQL(t *testing.T) {
	db := newMySQL(t)
	s, _ := counted(t, db.config())
	makeSessions(t, s, benchSessions)
	pool := gormstore.WritePool(s)
	// sids and context ids
	rows, err := db.db.Query("SELECT sid, context_id FROM slots")
	if err != nil {
		t.Fatal(err)
	}
	type sess struct{ sid, ctx []byte; seq int64 }
	var all []*sess
	for rows.Next() {
		x := &sess{seq: 1}
		if err := rows.Scan(&x.sid, &x.ctx); err != nil {
			t.Fatal(err)
		}
		all = append(all, x)
	}
	rows.Close()
	type stmt struct {
		sql   string
		query bool
		args  func(x *sess) []any
	}
	sid := func(x *sess) []any { return []any{x.sid} }
	lanecols := `l.sid, l.session_key, l.due_at, l.fence, l.attempts, l.lease_owner, l.last_seq, l.slot, l.epoch, l.deleted_seq, l.change_token`
	join3 := stmt{"SELECT " + lanecols + `, CASE WHEN e.sid IS NULL THEN 0 ELSE 1 END AS has_session,
			s.name AS slot_name, s.context_id, COALESCE(s.next_seq, 0) AS next_seq
		FROM lanes l LEFT JOIN sessions e ON e.sid = l.sid LEFT JOIN slots s ON s.sid = l.sid AND s.name = l.slot WHERE l.sid = ? FOR UPDATE`, true, sid}
	join2 := stmt{"SELECT " + lanecols + `, s.name, s.context_id, s.next_seq FROM lanes l LEFT JOIN slots s ON s.sid = l.sid AND s.name = l.slot WHERE l.sid = ? FOR UPDATE`, true, sid}
	join2s := stmt{`SELECT s.name, s.context_id, s.next_seq FROM lanes l JOIN slots s ON s.sid = l.sid AND s.name = l.slot WHERE l.sid = ? FOR UPDATE`, true, sid}
	join3s := stmt{`SELECT s.name, s.context_id, s.next_seq, e.state FROM lanes l JOIN slots s ON s.sid = l.sid AND s.name = l.slot JOIN sessions e ON e.sid = l.sid WHERE l.sid = ? FOR UPDATE`, true, sid}
	one := stmt{`SELECT name, context_id, next_seq FROM slots WHERE sid = ? AND name = ? FOR UPDATE`, true, func(x *sess) []any { return []any{x.sid, "default"} }}
	onel := stmt{`SELECT slot FROM lanes WHERE sid = ? FOR UPDATE`, true, sid}
	growS := stmt{`UPDATE sessions SET message_count = message_count + ?, total_tokens = total_tokens + ?,
		channel = COALESCE(?, channel), account = COALESCE(?, account), state = COALESCE(?, state),
		last_user_at = CASE WHEN COALESCE(last_user_at, 0) < ? THEN ? ELSE last_user_at END, model_at = COALESCE(?, model_at),
		observed_seq = CASE WHEN observed_seq < ? THEN ? ELSE observed_seq END,
		last_activity_at = CASE WHEN last_activity_at < ? THEN ? ELSE last_activity_at END, updated_at = ? WHERE sid = ?`, false,
		func(x *sess) []any { n := 1700000000000000 + x.seq; return []any{2, 10, nil, nil, "active", n, n, nil, 0, 0, n, n, n, x.sid} }}
	growSnoUser := growS
	growSnoUser.args = func(x *sess) []any { n := 1700000000000000 + x.seq; return []any{2, 10, nil, nil, "active", 5, 5, nil, 0, 0, n, n, n, x.sid} }
	growT := stmt{`UPDATE slots SET next_seq = next_seq + ?, message_count = message_count + ?, total_tokens = total_tokens + ? WHERE sid = ? AND name = ?`, false,
		func(x *sess) []any { return []any{2, 2, 10, x.sid, "default"} }}
	both := stmt{`UPDATE sessions e JOIN slots s ON s.sid = e.sid SET e.message_count = e.message_count + ?, e.total_tokens = e.total_tokens + ?,
		e.channel = COALESCE(?, e.channel), e.account = COALESCE(?, e.account), e.state = COALESCE(?, e.state),
		e.last_user_at = CASE WHEN COALESCE(e.last_user_at, 0) < ? THEN ? ELSE e.last_user_at END, e.model_at = COALESCE(?, e.model_at),
		e.observed_seq = CASE WHEN e.observed_seq < ? THEN ? ELSE e.observed_seq END,
		e.last_activity_at = CASE WHEN e.last_activity_at < ? THEN ? ELSE e.last_activity_at END, e.updated_at = ?,
		s.next_seq = s.next_seq + ?, s.message_count = s.message_count + ?, s.total_tokens = s.total_tokens + ?
		WHERE e.sid = ? AND s.name = ?`, false,
		func(x *sess) []any { n := 1700000000000000 + x.seq; return []any{2, 10, nil, nil, "active", n, n, nil, 0, 0, n, n, n, 2, 2, 10, x.sid, "default"} }}
	row := "(?,?,?,?,?,?,?,?,?,?,?)"
	ins := stmt{"INSERT INTO messages (context_id, seq, turn_seq, id, role, content, meta, tokens, compacted, undone, created_at) VALUES " + row + "," + row, false,
		func(x *sess) []any {
			x.seq += 2
			c := "You decided to ship on Friday at 17:00, after the smoke test, and to tell the support team an hour before."
			return []any{x.ctx, x.seq, x.seq, "msg_0123456789abcdef", "user", c[:50], nil, 10, 0, 0, 1700000000000000, x.ctx, x.seq + 1, x.seq, "msg_0123456789abcdee", "assistant", c, nil, 10, 0, 0, 1700000000000000}
		}}
	left13 := stmt{`SELECT l.fence, l.lease_owner, l.last_seq, l.epoch, e.state, e.channel, e.account, e.last_user_at, e.observed_seq, s.name, s.context_id, s.next_seq
		FROM lanes l LEFT JOIN sessions e ON e.sid = l.sid LEFT JOIN slots s ON s.sid = l.sid AND s.name = l.slot WHERE l.sid = ? FOR UPDATE`, true, sid}
	in13 := stmt{`SELECT l.fence, l.lease_owner, l.last_seq, l.epoch, e.state, e.channel, e.account, e.last_user_at, e.observed_seq, s.name, s.context_id, s.next_seq
		FROM lanes l JOIN sessions e ON e.sid = l.sid JOIN slots s ON s.sid = l.sid AND s.name = l.slot WHERE l.sid = ? FOR UPDATE`, true, sid}
	left5 := stmt{`SELECT s.name, s.context_id, s.next_seq, e.state, e.last_user_at FROM lanes l LEFT JOIN sessions e ON e.sid = l.sid LEFT JOIN slots s ON s.sid = l.sid AND s.name = l.slot WHERE l.sid = ? FOR UPDATE`, true, sid}
	left19 := stmt{"SELECT " + lanecols + `, e.state, e.channel, e.account, e.last_user_at, e.observed_seq, s.name, s.context_id, s.next_seq
		FROM lanes l LEFT JOIN sessions e ON e.sid = l.sid LEFT JOIN slots s ON s.sid = l.sid AND s.name = l.slot WHERE l.sid = ? FOR UPDATE`, true, sid}
	nop := stmt{`DO ?`, false, func(x *sess) []any { return []any{1} }}
	_, _, _, _, _, _, _, _, _, _ = growS, growSnoUser, growT, both, ins, one, onel, join2, join2s, join3
	variants := []struct {
		name  string
		stmts []stmt
	}{
		{"DO", []stmt{nop}},
		{"join3s", []stmt{join3s}},
		{"left5", []stmt{left5}},
		{"in13", []stmt{in13}},
		{"left13", []stmt{left13}},
		{"left19", []stmt{left19}},
		{"one", []stmt{one}},
		{"T", []stmt{growT}},
		{"S", []stmt{growS}},
		{"SnoUser", []stmt{growSnoUser}},
		{"both", []stmt{both}},
		{"ins", []stmt{ins}},
	}
	sums, csums := make([]float64, len(variants)), make([]float64, len(variants))
	const rounds, count = 6, 500
	for range rounds {
		for vi, v := range variants {
			s0, c0 := serverCPU(t, db.db), clientCPU()
			writers(8, count, func(_, i int) {
				x := all[i%len(all)]
				ctx := context.Background()
				conn, err := pool.Conn(ctx)
				if err != nil {
					t.Error(err)
					return
				}
				defer conn.Close()
				for _, st := range v.stmts {
					if st.query {
						r, err := conn.QueryContext(ctx, st.sql, st.args(x)...)
						if err != nil {
							t.Error(err)
							return
						}
						for r.Next() {
						}
						r.Close()
					} else if _, err := conn.ExecContext(ctx, st.sql, st.args(x)...); err != nil {
						t.Error(err)
						return
					}
				}
				if _, err := conn.ExecContext(ctx, "COMMIT"); err != nil {
					t.Error(err)
				}
			})
			sums[vi] += serverCPU(t, db.db) - s0
			csums[vi] += clientCPU() - c0
		}
	}
	for vi, v := range variants {
		fmt.Printf("%-24s %.0f us client %.0f\n", v.name, sums[vi]/rounds/count, csums[vi]/rounds/count)
	}
}
