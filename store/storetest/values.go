package storetest

import (
	"fmt"
	"strings"
	"time"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

func valueTests() []test {
	return []test{
		{"SessionKeysByteForByte", valueKeys},
		{"DedupKeysByteForByte", valueDedup},
		{"ForeignIDsByteForByte", valueForeign},
		{"LongIDs", valueLong},
		{"FourByteText", valueText},
		{"TwoMegabytes", valueLarge},
		{"OpaqueBytes", valueOpaque},
		{"MessageAsItWas", valueMessage},
		{"TimesToTheMillisecond", valueTimes},
		{"CallersKeepTheirs", valueCopies},
	}
}

// lookAlikes are ids that a careless collation takes for one another.
func lookAlikes() []string {
	return []string{
		"abc", "ABC", "Abc", "abc ", "abc  ", " abc", "abc\t", "àbc", "a\u0300bc", "ａｂｃ", "abc😀", "abc😁",
		"ab+/c=", "ab+/c==", "ab-_c=", "ß", "ss", "ı", "i", "İ", "ﬁ", "fi", "%", "_", "'", `"`, `\`, `\\`, "a%b", "a_b",
	}
}

func valueKeys(f *fixture) {
	for _, id := range lookAlikes() {
		f.create("agent:"+id, id)
	}
	for _, id := range lookAlikes() {
		equal(f, "key", f.session("agent:"+id).Key, "agent:"+id)
		equal(f, "history of "+id, f.history("agent:"+id, models.DefaultSlot), []string{id})
		f.waiting("agent:" + id)
	}
	claims, err := f.ClaimLanes(f.ctx, claim(), 100)
	f.ok(err)
	equal(f, "lanes", len(claims), len(lookAlikes()))
}

func valueDedup(f *fixture) {
	key := f.key()
	for _, id := range lookAlikes() {
		in := f.waiting(key, dedup(id), func(r *store.AcceptRequest) { r.Inbound.PlatformMessageID = id })
		found, err := f.FindInbound(f.ctx, id)
		f.ok(err)
		equal(f, "message", found.ID, in.ID)
		equal(f, "platform id", found.PlatformMessageID, id)
	}
}

func valueForeign(f *fixture) {
	for i, id := range lookAlikes() {
		r := f.message(f.key())
		r.Aliases = []store.ThreadAlias{{Channel: "feishu", Account: "main", Alias: id, Thread: fmt.Sprintf("%s/%d", id, i)}}
		f.accept(r)
	}
	for i, id := range lookAlikes() {
		thread, err := f.ResolveThread(f.ctx, "feishu", "main", []string{id})
		f.ok(err)
		equal(f, "thread", thread, fmt.Sprintf("%s/%d", id, i))
		equal(f, "lease "+id, f.acquire(id, "a", longLease), true)
		f.enqueue(f.delivery(id, id))
	}
	claims, err := f.ClaimTargets(f.ctx, claim(), 100)
	f.ok(err)
	equal(f, "targets", len(claims), len(lookAlikes()))
	for _, c := range claims {
		d := f.next(c)
		equal(f, "chat", d.Target.ChatID, d.Text)
	}
}

func valueLong(f *fixture) {
	long := strings.Repeat("😀", models.MaxForeignID/4)
	key := strings.Repeat("%F0%9F%98%80", 1+models.MaxKey/12)[:models.MaxKey]
	sibling := key[:models.MaxKey-1] + "-"
	for _, key := range []string{key, sibling} {
		in := f.turn(key, "answer", func(r *store.AcceptRequest) {
			r.Inbound.PlatformMessageID, r.Inbound.SenderID = long, long
			r.DedupKeys = []string{key + "/" + long, "event/" + key + "/" + long}
			r.Aliases = []store.ThreadAlias{{Channel: "feishu", Account: "main", Alias: long, Thread: long}}
		})
		equal(f, "key", f.session(key).Key, key)
		equal(f, "platform id", f.inbound(in.ID).PlatformMessageID, long)
		equal(f, "history", f.history(key, models.DefaultSlot), []string{"to answer", "answer"})
	}
	thread, err := f.ResolveThread(f.ctx, "feishu", "main", []string{long})
	f.ok(err)
	equal(f, "thread", thread, long)
	d := f.delivery(long, "text")
	d.Target = models.Target{ChatID: long, UserID: long, ThreadID: long, ReplyTo: long}
	f.enqueue(d)
	got := f.next(f.claimTarget(claim()))
	equal(f, "target", got.Target, d.Target)
	equal(f, "sessions", len(f.list(store.SessionQuery{Limit: 1})), 2)
}

func valueText(f *fixture) {
	text := "😀𠮷👨‍👩‍👧 Ünïcödé \u200b\u202e 'quoted' \"twice\" \\ % _ \r\n\t\x01\x7f"
	key := f.key()
	s := f.newSession(key)
	s.Title, s.SystemPrompt, s.Model = text, text, "模型"
	f.ok(f.CreateSession(f.ctx, s))
	m := f.said(models.RoleUser, text)
	m.SenderID, m.SenderName, m.Reasoning = "ou_😀", text, &text
	m.ToolCalls = []models.ToolCall{{ID: "call", Name: "bash", Arguments: text}}
	m.Images = []string{"data:image/png;base64,ab+/c=", text}
	f.ok(f.AppendMessages(f.ctx, key, []*models.SessionMessage{m}))
	messages, err := f.Messages(f.ctx, key, models.DefaultSlot, 0, 1)
	f.ok(err)
	got := messages[0]
	equal(f, "content", got.Content, text)
	equal(f, "sender", got.SenderName, text)
	equal(f, "arguments", got.ToolCalls[0].Arguments, text)
	equal(f, "images", got.Images, m.Images)
	equal(f, "reasoning", *got.Reasoning, text)
	equal(f, "title", f.session(key).Title, text)
	d := f.delivery("oc_1", text)
	f.enqueue(d)
	equal(f, "text", f.next(f.claimTarget(claim())).Text, text)
}

func valueLarge(f *fixture) {
	large := strings.Repeat("0123456789abcde😀", 2<<20/19+1)
	key := f.key()
	turn := f.start(key, func(r *store.AcceptRequest) { r.Inbound.Payload = []byte(large) })
	d := f.parts(turn, "oc_1", 1)
	d[0].Text = large
	f.commit(f.answer(turn, large, deliver(d...)))
	if got := f.history(key, models.DefaultSlot); len(got) != 2 || got[1] != large {
		f.Fatalf("a message of %d bytes came back otherwise", len(large))
	}
	in := f.inbound(turn.Inbounds[0].ID)
	if string(in.Payload) != large || in.Reply == nil || in.Reply.Content != large {
		f.Fatalf("an inbound message of %d bytes came back otherwise", len(large))
	}
	if got := f.next(f.claimTarget(claim())); got.Text != large {
		f.Fatalf("a delivery of %d bytes came back otherwise", len(large))
	}
}

func valueOpaque(f *fixture) {
	raw := make([]byte, 256)
	for i := range raw {
		raw[i] = byte(i)
	}
	r := f.message(f.key(), claimed(claim()))
	r.Inbound.Payload, r.Fingerprint = raw, raw[:64]
	a := f.accept(r)
	equal(f, "payload", f.inbound(a.Inbound.ID).Payload, raw)
	again, err := f.Accept(f.ctx, r)
	f.ok(err)
	equal(f, "differs", again.Differs, false)
	turn := &store.Turn{Claim: *a.Claim, Inbounds: []*models.Inbound{a.Inbound}}
	p := f.preview(turn)
	p.State, p.Target.Ref = raw, raw
	f.ok(f.SavePreview(f.ctx, turn.Claim, p))
	got, err := f.Preview(f.ctx, p.ID)
	f.ok(err)
	equal(f, "state", got.State, raw)
	equal(f, "ref", got.Target.Ref, raw)
}

func valueMessage(f *fixture) {
	key := f.key()
	f.create(key)
	empty := ""
	bare := f.said(models.RoleAssistant, "")
	full := &models.SessionMessage{
		ID: models.NewMessageID(f.now), Role: models.RoleTool, Content: " spaces \n", Images: []string{"https://example.com/a.png"},
		ToolCalls:  []models.ToolCall{{ID: "a", Name: "clock", Arguments: `{"broken`}, {ID: "b", Name: "", Arguments: ""}},
		ToolCallID: "call_1", TokenCount: 7, IsCompacted: true, SenderID: "ou_1", SenderName: "Lin",
		PlatformMessageID: "om_1", CreatedAt: f.now, Reasoning: &empty, Observed: true, ContextTokens: 1234,
		Quote: &models.Quote{Sender: "Wang", Text: "原话 😀"},
	}
	f.ok(f.AppendMessages(f.ctx, key, []*models.SessionMessage{bare, full}))
	messages, err := f.Messages(f.ctx, key, models.DefaultSlot, 0, 2)
	f.ok(err)
	got := *messages[1]
	f.sameTime("createdAt", got.CreatedAt, full.CreatedAt)
	got.CreatedAt = full.CreatedAt
	equal(f, "message", got, *full)
	if got := messages[0]; got.Reasoning != nil || len(got.Images) != 0 || len(got.ToolCalls) != 0 || got.Observed || got.IsCompacted {
		f.Fatalf("a bare message came back as %+v", got)
	}
}

func valueTimes(f *fixture) {
	key := f.key()
	s := f.newSession(key)
	shanghai := time.FixedZone("CST", 8*60*60)
	s.CreatedAt = time.Date(2026, 2, 28, 23, 59, 59, 987_654_321, shanghai)
	s.LastActivityAt = time.Date(1999, 12, 31, 23, 59, 59, 1_000_000, time.UTC)
	f.ok(f.CreateSession(f.ctx, s))
	got := f.session(key)
	f.sameTime("createdAt", got.CreatedAt, s.CreatedAt)
	f.sameTime("lastActivityAt", got.LastActivityAt, s.LastActivityAt)
	equal(f, "lastUserAt is unknown", got.LastUserAt.IsZero(), true)
	equal(f, "zone", got.CreatedAt.Location(), time.UTC)
	in := f.waiting(key)
	equal(f, "createdAt is unknown", f.inbound(in.ID).CreatedAt.IsZero(), true)
}

func valueCopies(f *fixture) {
	key := f.key()
	m := f.said(models.RoleUser, "as stored")
	m.ToolCalls = []models.ToolCall{{ID: "a", Name: "clock"}}
	f.create(key)
	f.ok(f.AppendMessages(f.ctx, key, []*models.SessionMessage{m}))
	m.Content, m.ToolCalls[0].Name = "changed", "changed"
	for range 2 {
		messages, err := f.Messages(f.ctx, key, models.DefaultSlot, 0, 1)
		f.ok(err)
		equal(f, "content", messages[0].Content, "as stored")
		equal(f, "tool", messages[0].ToolCalls[0].Name, "clock")
		messages[0].Content, messages[0].ToolCalls[0].Name = "changed", "changed"
	}
	r := f.message(key)
	r.Inbound.Payload = []byte("as stored")
	f.accept(r)
	r.Inbound.Payload[0] = 'X'
	in := f.inbound(r.Inbound.ID)
	equal(f, "payload", string(in.Payload), "as stored")
	in.Payload[0], in.State = 'X', models.InboundDead
	equal(f, "payload", string(f.inbound(r.Inbound.ID).Payload), "as stored")
	f.state(models.InboundReceived, r.Inbound.ID)
}
