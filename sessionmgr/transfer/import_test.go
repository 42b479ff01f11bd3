package transfer_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/sessionmgr/transfer"
	"github.com/chatkeep/chatkeep/store"
	"github.com/chatkeep/chatkeep/store/memstore"
)

const sessionKey = "agent:a:channel:any:scope:per_peer:api/default/u"

var day = time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)

// talk makes a session with n messages in each of two slots, a note, a variable and a file.
func talk(t *testing.T, s store.Store, key string, n int) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(s.CreateSession(t.Context(), &models.Session{
		Key: key, AgentID: "a", Channel: "api", Account: "default", Scope: models.ScopePerPeer, ScopeID: strings.TrimPrefix(key, "agent:a:channel:any:scope:per_peer:"), CreatedAt: day,
	}))
	must(s.ChangeSession(t.Context(), key, func(tx store.SessionTx) error {
		return errors.Join(
			tx.PutNote(&models.Note{ID: "note_1", Key: "k", Value: "v", CreatedAt: day}), tx.SetVariable("v", json.RawMessage("1")), tx.PutFile("PLAN.md", "# plan"),
			tx.CreateSlot(&models.ContextSlot{ID: "side", Mode: models.SlotFull, Source: models.SlotSource{Kind: models.SlotNew}, CreatedAt: day}),
		)
	}))
	for _, slot := range []string{models.DefaultSlot, "side"} {
		for i := 0; i < n; i += 100 {
			var turn []*models.SessionMessage
			for j := i; j < min(n, i+100); j++ {
				turn = append(turn, &models.SessionMessage{ID: fmt.Sprint("msg_", slot, j), Slot: slot, Role: models.RoleUser, Content: fmt.Sprint("text ", j), TokenCount: 9, CreatedAt: day})
			}
			must(s.AppendMessages(t.Context(), key, turn))
		}
	}
}

func document(t *testing.T, s store.Store, key string) string {
	t.Helper()
	var b bytes.Buffer
	if err := transfer.Export(t.Context(), s, key, transfer.Options{Format: transfer.JSONL}, &b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func newMemory(t *testing.T) store.Store {
	t.Helper()
	return opened(t, memstore.New(), nil)
}

// wantNothing fails if anything of the session is there, or will be.
func wantNothing(t *testing.T, s store.Store) {
	t.Helper()
	if _, err := s.Session(t.Context(), sessionKey); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("the session: %v", err)
	}
}

// Every fault is found, and its line named.
func TestImportRefuses(t *testing.T) {
	from := newMemory(t)
	talk(t, from, sessionKey, 2)
	good := document(t, from, sessionKey)
	// 1 header, 2 session, 3 variable, 4 note, 5 file, 6 slot, 7-8 messages, 9 slot, 10-11 messages, 12 end
	change := func(line int, old, now string) string {
		lines := strings.SplitAfter(good, "\n")
		if !strings.Contains(lines[line-1], old) {
			t.Fatalf("line %d is %s", line, lines[line-1])
		}
		lines[line-1] = strings.Replace(lines[line-1], old, now, 1)
		return strings.Join(lines, "")
	}
	after := func(line int, more string) string {
		lines := strings.SplitAfter(good, "\n")
		return strings.Join(lines[:line], "") + more + strings.Join(lines[line:], "")
	}
	lineOf := func(n int) string { return strings.SplitAfter(good, "\n")[n-1] }
	for name, c := range map[string]struct {
		document string
		line     int
		says     string
	}{
		"empty":                {"", 0, "cut off"},
		"no JSON":              {"hello\n" + good, 1, "invalid character"},
		"another document":     {`{"role":"user"}` + "\n", 1, "unknown field"},
		"no header":            {lineOf(2) + good, 1, "not the first line"},
		"newer version":        {change(1, `"version":1`, `"version":2`), 1, "version 2"},
		"no session":           {change(2, lineOf(2), lineOf(4)), 2, "second line"},
		"bad key":              {change(2, "agent:a:", "agent:a b:"), 2, "agent"},
		"other agent":          {change(2, `"agentId":"a"`, `"agentId":"b"`), 2, "not those of the key"},
		"bad state":            {change(2, `"active"`, `"asleep"`), 2, "asleep"},
		"long title":           {change(2, `"title":""`, `"title":"`+strings.Repeat("x", 600)+`"`), 2, "title"},
		"unknown field":        {change(4, `"note":{`, `"note":{"mood":1,`), 4, "mood"},
		"two parts":            {change(4, `{"note"`, `{"end":{"slots":0,"messages":0},"note"`), 4, "2 parts"},
		"two documents":        {change(4, "\n", " {}\n"), 4, "more than one"},
		"note twice":           {after(4, lineOf(4)), 5, "twice"},
		"variable twice":       {after(3, lineOf(3)), 4, "twice"},
		"file twice":           {after(5, lineOf(5)), 6, "twice"},
		"strange file":         {change(5, "PLAN.md", "../PLAN.md"), 5, "none that a session has"},
		"note after slots":     {after(8, lineOf(4)), 9, "out of place"},
		"message before slots": {after(5, lineOf(7)), 6, "out of place"},
		"session twice":        {after(2, lineOf(2)), 3, "out of place"},
		"slot twice":           {after(8, lineOf(6)), 9, "twice"},
		"bad slot":             {change(9, `"id":"side"`, `"id":"si de"`), 9, "valid name"},
		"bad mode":             {change(9, `"mode":"full"`, `"mode":"half"`), 9, "half"},
		"other session":        {change(9, "default/u", "default/w"), 9, "another session"},
		"bad summary":          {change(9, `"summarySeq":0`, `"summarySeq":9`), 9, "not below"},
		"other slot":           {change(7, `"slot":"default"`, `"slot":"side"`), 7, "stands in slot"},
		"bad role":             {change(8, `"user"`, `"boss"`), 8, "boss"},
		"bad seq":              {change(8, `"seq":2`, `"seq":1`), 8, "not between"},
		"far seq":              {change(8, `"seq":2`, `"seq":3`), 8, "not between"},
		"no seq":               {change(7, `"seq":1`, `"seq":0`), 7, "not between"},
		"negative seq":         {change(7, `"seq":1`, `"seq":-1`), 7, "not between"},
		"huge nextSeq":         {change(9, `"nextSeq":3`, `"nextSeq":9223372036854775806`), 9, "nextSeq"},
		"far nextSeq":          {change(6, `"nextSeq":3`, `"nextSeq":1000000003`), 6, "too far"},
		"far last nextSeq":     {change(9, `"nextSeq":3`, `"nextSeq":1000000003`), 9, "too far"},
		"huge count":           {change(2, `"compactionCount":0`, `"compactionCount":9223372036854775807`), 2, "number"},
		"negative count":       {change(6, `"messageCount":2`, `"messageCount":-2`), 6, "number"},
		"key twice":            {change(8, `"id":`, `"content":"other","id":`), 8, "there twice"},
		"part twice":           {change(4, `{"note"`, `{"note":{"id":"x","value":"y"},"note"`), 4, "there twice"},
		"bad turn":             {change(8, `"turn":1`, `"turn":3`), 8, "turn 3"},
		"no id":                {change(7, `"id":"msg_default0"`, `"id":""`), 7, "empty"},
		"NUL":                  {change(8, "text 1", `\u0000`), 8, "NUL"},
		"bad UTF-8":            {change(8, "text 1", "\xff"), 8, "UTF-8"},
		"long id":              {change(8, "msg_default1", strings.Repeat("x", 300)), 8, "300 bytes"},
		"wrong count":          {change(12, `"messages":4`, `"messages":5`), 12, "5 messages"},
		"message missing":      {strings.Replace(good, lineOf(8), "", 1), 11, "3 were there"},
		"cut off":              {strings.TrimSuffix(good, lineOf(12)), 11, "cut off"},
		"cut in a line":        {good[:len(good)-5], 12, "unexpected EOF"},
		"more behind":          {good + lineOf(7), 13, "more after the end"},
	} {
		t.Run(name, func(t *testing.T) {
			to := newMemory(t)
			_, err := transfer.Import(t.Context(), to, strings.NewReader(c.document))
			if !errors.Is(err, transfer.ErrDocument) || !strings.Contains(err.Error(), fmt.Sprintf("line %d: ", c.line)) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, want line %d: %s", err, c.line, c.says)
			}
			wantNothing(t, to)
		})
	}
	to := newMemory(t)
	if _, err := transfer.Import(t.Context(), to, strings.NewReader("\n"+strings.ReplaceAll(good, "\n", "\r\n\n")+"  \n")); !errors.Is(err, transfer.ErrDocument) {
		t.Errorf("blank lines count: %v", err) // the header is on the second line then
	}
	if _, err := transfer.Import(t.Context(), to, strings.NewReader(strings.ReplaceAll(good, "\n", "\r\n")+"\r\n\r\n")); err != nil {
		t.Error(err)
	}
}

// endless is a line without an end.
type endless struct{ read int }

func (e *endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	e.read += len(p)
	return len(p), nil
}

func TestImportIsBounded(t *testing.T) {
	from, to := newMemory(t), newMemory(t)
	talk(t, from, sessionKey, 1)
	head := strings.Join(strings.SplitAfter(document(t, from, sessionKey), "\n")[:6], "")
	line := &endless{}
	_, err := transfer.Import(t.Context(), to, io.MultiReader(strings.NewReader(head), line))
	if !errors.Is(err, transfer.ErrDocument) || !errors.Is(err, store.ErrTooLarge) || !strings.Contains(err.Error(), "line 7: ") || line.read > 80<<20 {
		t.Errorf("%v after %d bytes", err, line.read)
	}
	wantNothing(t, to)
}

func TestImportOverASession(t *testing.T) {
	s := newMemory(t)
	talk(t, s, sessionKey, 1)
	text := document(t, s, sessionKey)
	if _, err := transfer.Import(t.Context(), s, strings.NewReader(text)); !errors.Is(err, store.ErrExists) || errors.Is(err, transfer.ErrDocument) {
		t.Error(err)
	}
	if got := document(t, s, sessionKey); got != text {
		t.Errorf("the session is now\n%s", got)
	}
}

// A document of one slot makes a session with that slot and the one that all have.
func TestImportOneSlot(t *testing.T) {
	from, to := newMemory(t), newMemory(t)
	talk(t, from, sessionKey, 3)
	var b bytes.Buffer
	if err := transfer.Export(t.Context(), from, sessionKey, transfer.Options{Format: transfer.JSONL, Slot: "side"}, &b); err != nil {
		t.Fatal(err)
	}
	if _, err := transfer.Import(t.Context(), to, &b); err != nil {
		t.Fatal(err)
	}
	r, err := to.SessionRecord(t.Context(), sessionKey)
	if err != nil || len(r.Contexts) != 2 || r.Session.CurrentSlot != models.DefaultSlot || r.Session.MessageCount != 3 {
		t.Errorf("%+v, %v", r, err)
	}
}

// What a large document left behind when it was cut off is erased.
func testImportLeavesNothingBehind(t *testing.T, all map[string]store.Store) {
	from := newMemory(t)
	talk(t, from, sessionKey, 1200)
	whole := document(t, from, sessionKey)
	for kind, to := range all {
		half := whole[:len(whole)*3/4]
		if _, err := transfer.Import(t.Context(), to, strings.NewReader(half)); !errors.Is(err, transfer.ErrDocument) {
			t.Errorf("%s: %v", kind, err)
		}
		wantNothing(t, to)
		swept, err := to.Sweep(t.Context(), day, store.Retention{}, 1000)
		if err != nil || swept.Messages != 1000 {
			t.Errorf("%s: %d messages were left behind, %v", kind, swept.Messages, err)
		}
		for swept.Messages > 0 {
			if swept, err = to.Sweep(t.Context(), day, store.Retention{}, 1000); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := transfer.Import(t.Context(), to, strings.NewReader(whole)); err != nil || got.Messages != 2400 || got.Slots != 2 {
			t.Errorf("%s: %+v, %v", kind, got, err)
		}
		if swept, err = to.Sweep(t.Context(), day, store.Retention{}, 1000); err != nil || swept.Messages != 0 || document(t, to, sessionKey) != whole {
			t.Errorf("%s: %d messages were erased, %v", kind, swept.Messages, err)
		}
	}
}

// Whoever is second finds the session, and leaves nothing.
func testImportTwiceAtOnce(t *testing.T, all map[string]store.Store) {
	from := newMemory(t)
	talk(t, from, sessionKey+"2", 700)
	text := document(t, from, sessionKey+"2")
	for kind, to := range all {
		errs := make(chan error)
		for range 3 {
			go func() {
				_, err := transfer.Import(context.WithoutCancel(t.Context()), to, strings.NewReader(text))
				errs <- err
			}()
		}
		won := 0
		for range 3 {
			switch err := <-errs; {
			case err == nil:
				won++
			case !errors.Is(err, store.ErrExists):
				t.Errorf("%s: %v", kind, err)
			}
		}
		if won != 1 || document(t, to, sessionKey+"2") != text {
			t.Errorf("%s: %d imports won", kind, won)
		}
	}
}
