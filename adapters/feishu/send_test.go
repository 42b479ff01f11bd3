package feishu

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	larkcore "github.com/larksuite/oapi-sdk-go/v3/core"

	"github.com/chatkeep/chatkeep/adapters"
	"github.com/chatkeep/chatkeep/adapters/adaptertest"
	"github.com/chatkeep/chatkeep/adapters/feishu/feishutest"
	"github.com/chatkeep/chatkeep/internal/clock"
	"github.com/chatkeep/chatkeep/models"
)

func TestReplyIsACard(t *testing.T) {
	r := startRig(t, rigOptions{})
	m := r.said(feishutest.Said{ChatID: "oc_1", Text: "hi"})
	v := r.mustSend(m, "dlv_1", "**hello**")
	if v.Type != "interactive" || v.Text != "**hello**" || v.ReplyTo != m.ID || v.ChatID != "oc_1" {
		t.Errorf("%+v", v)
	}
	if calls := r.platform.Calls("POST /open-apis/im"); !strings.Contains(calls[0].Body, `"uuid":"dlv_1"`) {
		t.Errorf("uuid: %s", calls[0].Body)
	}
}

func TestWhereAReplyGoes(t *testing.T) {
	r := startRig(t, rigOptions{config: func(c *Config) {
		c.Overrides = func(chatID string) ChatConfig {
			switch chatID {
			case "oc_always":
				return ChatConfig{ReplyInThread: ThreadAlways}
			case "oc_never":
				return ChatConfig{ReplyInThread: ThreadNever}
			}
			return c.Chat
		}
	}})
	for _, c := range []struct {
		chat string
		kind feishutest.ChatKind
		want bool // in a thread
	}{
		{"oc_group", feishutest.Group, false},
		{"oc_always", feishutest.Group, true},
		{"oc_never", feishutest.Group, false},
		{"oc_topics", feishutest.TopicGroup, true},
		{"oc_p2p", feishutest.P2P, false},
	} {
		m := r.said(feishutest.Said{ChatID: c.chat, Kind: c.kind, Text: "hi", Mention: c.kind != feishutest.P2P})
		v := r.mustSend(m, "dlv_"+c.chat, "hello")
		if (v.ThreadID != "") != c.want || v.ReplyTo != m.ID {
			t.Errorf("%s: thread %q, reply to %q", c.chat, v.ThreadID, v.ReplyTo)
		}
	}
}

func TestPushes(t *testing.T) {
	r := startRig(t, rigOptions{})
	r.platform.AddChat("oc_group", feishutest.Group, "Group")
	r.platform.AddChat("oc_topics", feishutest.TopicGroup, "Topics")
	first := r.said(feishutest.Said{ChatID: "oc_topics", Text: "topic"})
	for name, c := range map[string]struct {
		target models.Target
		chat   string
		thread string
	}{
		"group":             {models.Target{ChatID: "oc_group"}, "oc_group", ""},
		"person":            {models.Target{UserID: "ou_9", Direct: true}, "oc_p2p_ou_9", ""},
		"topic":             {models.Target{ChatID: "oc_topics", ThreadID: first.Chat.ThreadID}, "oc_topics", first.Chat.ThreadID},
		"topic by its root": {models.Target{ChatID: "oc_topics", ThreadID: first.ID}, "oc_topics", first.Chat.ThreadID},
	} {
		sent, err := r.send(&models.Delivery{ID: "dlv_" + strings.ReplaceAll(name, " ", "_"), Text: "pushed", Target: c.target, Kind: models.DeliveryPush})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if v := r.view(sent.PlatformMessageID); v.ChatID != c.chat || v.ThreadID != c.thread {
			t.Errorf("%s: chat %q, thread %q", name, v.ChatID, v.ThreadID)
		}
	}
}

func TestReplyTargetIsGone(t *testing.T) {
	r := startRig(t, rigOptions{})
	m := r.said(feishutest.Said{ChatID: "oc_1", Text: "hi"})
	r.platform.Recall(m.ID)
	if v := r.mustSend(m, "dlv_1", "hello"); v.ReplyTo != "" || v.ChatID != "oc_1" {
		t.Errorf("in a chat: %+v", v)
	}

	r.platform.AddChat("oc_topics", feishutest.TopicGroup, "Topics")
	first := r.said(feishutest.Said{ChatID: "oc_topics", Text: "topic", Mention: true})
	second := r.said(feishutest.Said{ChatID: "oc_topics", Text: "more", Mention: true, ReplyTo: first.ID})
	r.platform.Recall(second.ID)
	if v := r.mustSend(second, "dlv_2", "hello"); v.ThreadID != first.Chat.ThreadID {
		t.Errorf("in a topic: %+v", v)
	}
	threads := map[string]bool{}
	for _, v := range r.platform.Messages("oc_topics") {
		threads[v.ThreadID] = true
	}
	if len(threads) != 1 {
		t.Errorf("a new topic was opened: %v", threads)
	}
}

func TestCommittedButLostIsOneMessage(t *testing.T) {
	r := startRig(t, rigOptions{})
	m := r.said(feishutest.Said{ChatID: "oc_1", Text: "hi"})
	r.platform.Inject(feishutest.Fault{Match: "/reply", DropAfter: true, Times: 2})
	d := adaptertest.Delivery(m, "dlv_1", "hello")
	for range 2 {
		if _, err := r.send(d); adapters.SendErrorOf(err).Kind != adapters.Unknown {
			t.Errorf("kind %v", err)
		}
	}
	if _, err := r.send(d); err != nil {
		t.Fatal(err)
	}
	if n := len(r.platform.FromBot()); n != 1 {
		t.Errorf("%d messages, want 1", n)
	}
}

func TestLostOnALowerRungIsOneMessage(t *testing.T) {
	r := startRig(t, rigOptions{})
	m := r.said(feishutest.Said{ChatID: "oc_1", Text: "hi"})
	d := adaptertest.Delivery(m, "dlv_1", "hello")
	r.platform.Inject(feishutest.Fault{Match: "/reply", Code: 230099, Msg: "ErrCode: 11310"})
	r.platform.Inject(feishutest.Fault{Match: "/reply", DropAfter: true})
	if _, err := r.send(d); adapters.SendErrorOf(err).Kind != adapters.Unknown {
		t.Errorf("kind %v", err)
	}
	r.platform.Inject(feishutest.Fault{Match: "/reply", Code: 230099, Msg: "ErrCode: 11310"})
	if _, err := r.send(d); err != nil {
		t.Fatal(err)
	}
	if all := r.platform.FromBot(); len(all) != 1 || all[0].Type != "post" {
		t.Errorf("%+v", all)
	}
}

func TestLadder(t *testing.T) {
	for refused, want := range []string{"interactive", "post", "text"} {
		r := startRig(t, rigOptions{})
		m := r.said(feishutest.Said{ChatID: "oc_1", Kind: feishutest.Group, Text: "hi", Mention: true})
		if refused > 0 {
			r.platform.Inject(feishutest.Fault{Match: "/reply", Code: 230099, Times: refused})
		}
		answer := adapters.Answer{Text: "hello <at id=all></at>", Target: adaptertest.Target(m), MentionID: "ou_person"}
		v := r.mustSend(m, "dlv_1", r.adapter.Render(answer)[0])
		mention := `<at user_id="ou_person"></at>`
		if want == "interactive" {
			mention = "<at id=ou_person></at>"
		}
		if v.Type != want || !strings.HasPrefix(v.Text, mention+" hello") {
			t.Errorf("%s: %+v", want, v)
		}
		if strings.Contains(v.Text, "<at id=all>") || strings.Contains(v.Text, `<at user_id="all"`) {
			t.Errorf("the agent's text mentions everybody: %s", v.Text)
		}
		uuids := map[string]bool{}
		for _, call := range r.platform.Calls("/reply") {
			uuids[fields[struct{ UUID string }]([]byte(call.Body)).UUID] = true
		}
		if len(uuids) != refused+1 {
			t.Errorf("%s: uuids %v, want one for each content", want, uuids)
		}
	}
}

func TestLadderEnds(t *testing.T) {
	r := startRig(t, rigOptions{})
	m := r.said(feishutest.Said{ChatID: "oc_1", Text: "hi"})
	r.platform.Inject(feishutest.Fault{Match: "/reply", Code: 230001, Times: -1})
	_, err := r.send(adaptertest.Delivery(m, "dlv_1", "hello"))
	if e := adapters.SendErrorOf(err); e.Kind != adapters.Refused || e.Code != "230001" {
		t.Errorf("err = %v", err)
	}
	if n := len(r.platform.Calls("/reply")); n != len(ladder) {
		t.Errorf("%d calls", n)
	}
}

func TestErrorTable(t *testing.T) {
	kinds := map[int]adapters.SendErrorKind{
		99991661: adapters.Retry, 99991663: adapters.Retry, 99991664: adapters.Retry, 99991671: adapters.Retry,
		99991672: adapters.Unavailable, 99991676: adapters.Unavailable, 99991679: adapters.Unavailable, 230027: adapters.Unavailable,
		99991543: adapters.Unavailable, 10003: adapters.Unavailable, 10014: adapters.Unavailable,
		99991662: adapters.Unavailable, 99991673: adapters.Unavailable, 230006: adapters.Unavailable, 232025: adapters.Unavailable,
		99991400: adapters.RateLimited, 230020: adapters.RateLimited, 11232: adapters.RateLimited,
		99991403: adapters.Unavailable,
		230001:   adapters.Refused, 230025: adapters.Refused, 230099: adapters.Refused,
		230002: adapters.TargetGone, 230013: adapters.TargetGone, 230045: adapters.TargetGone, 232009: adapters.TargetGone,
		230011: adapters.Refused, 231003: adapters.Refused, 230028: adapters.Refused, 230035: adapters.Refused, 230050: adapters.Refused,
		230072: adapters.Gone, 230031: adapters.Gone, 300309: adapters.Gone, 300313: adapters.Gone, 300317: adapters.Gone, 200850: adapters.Gone,
		234001: adapters.Refused, 234002: adapters.Refused, 234043: adapters.Refused,
		987654: adapters.Refused,
	}
	for code, want := range kinds {
		for _, status := range []int{http.StatusOK, http.StatusBadRequest} {
			header := http.Header{"X-Ogw-Ratelimit-Reset": {"12"}}
			err := sendError(apiErrorOf("test", &larkcore.ApiResp{StatusCode: status, Header: header}, larkcore.CodeError{Code: code, Msg: "m"}))
			e := adapters.SendErrorOf(err)
			if e.Kind != want || e.Code != strconv.Itoa(code) {
				t.Errorf("code %d, HTTP %d: kind %q, want %q", code, status, e.Kind, want)
			}
			if e.RetryAfter != 12*time.Second {
				t.Errorf("code %d: RetryAfter %v", code, e.RetryAfter)
			}
		}
	}
	for code := range codes {
		if _, ok := kinds[code]; !ok && codes[code] != classContent && codes[code] != classServer && code != 99991401 {
			t.Errorf("code %d is not in this test", code)
		}
	}
	for status, want := range map[int]adapters.SendErrorKind{429: adapters.RateLimited, 500: adapters.Unknown, 502: adapters.Unknown, 400: adapters.Refused} {
		err := sendError(apiErrorOf("test", &larkcore.ApiResp{StatusCode: status}, larkcore.CodeError{Code: 1}))
		if e := adapters.SendErrorOf(err); e.Kind != want {
			t.Errorf("HTTP %d: kind %q, want %q", status, e.Kind, want)
		}
	}
}

func TestMissingPermissionIsNamed(t *testing.T) {
	code := larkcore.CodeError{Code: 99991672, Msg: "Access denied"}
	code.Err = &struct {
		LogID                string                                   `json:"log_id,omitempty"`
		Troubleshooter       string                                   `json:"troubleshooter,omitempty"`
		Details              []*larkcore.CodeErrorDetail              `json:"details,omitempty"`
		PermissionViolations []*larkcore.CodeErrorPermissionViolation `json:"permission_violations,omitempty"`
		FieldViolations      []*larkcore.CodeErrorFieldViolation      `json:"field_violations,omitempty"`
		Helps                []*larkcore.CodeErrorHelp                `json:"helps,omitempty"`
	}{PermissionViolations: []*larkcore.CodeErrorPermissionViolation{{Subject: "im:message:send_as_bot"}}}
	if err := apiErrorOf("send", nil, code); !strings.Contains(err.Error(), "im:message:send_as_bot") {
		t.Errorf("%v", err)
	}
}

func TestRevokedTokenIsFetchedOnceForAll(t *testing.T) {
	r := startRig(t, rigOptions{})
	const senders = 20
	var messages []*adapters.Message
	for i := range senders {
		messages = append(messages, r.said(feishutest.Said{ChatID: fmt.Sprintf("oc_%d", i), Text: "hi"}))
	}
	before := r.platform.TokenFetches()
	r.platform.RevokeTokens()
	var wg sync.WaitGroup
	for i, m := range messages {
		wg.Go(func() {
			if _, err := r.send(adaptertest.Delivery(m, fmt.Sprintf("dlv_%d", i), "hello")); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := r.platform.TokenFetches() - before; n != 1 {
		t.Errorf("%d token fetches, want 1", n)
	}
	if n := len(r.platform.FromBot()); n != senders {
		t.Errorf("%d messages, want %d", n, senders)
	}
}

func TestFirstTokenIsFetchedOnceForAll(t *testing.T) {
	fetches := 0
	release := make(chan struct{})
	s := &tokenSource{clock: clock.Real(), fetch: func(context.Context) (string, time.Duration, error) {
		fetches++
		<-release
		return "t", time.Hour, nil
	}}
	impatient, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		if _, err := s.get(impatient); !errors.Is(err, context.Canceled) {
			t.Errorf("err = %v", err)
		}
	})
	cancel()
	wg.Wait()
	for range 10 {
		wg.Go(func() {
			if token, err := s.get(t.Context()); token != "t" || err != nil {
				t.Errorf("%q, %v", token, err)
			}
		})
	}
	close(release)
	wg.Wait()
	if fetches != 1 {
		t.Errorf("%d fetches", fetches)
	}
}

func TestTokenIsRenewedBeforeItEnds(t *testing.T) {
	fake := clock.NewFake(time.Unix(1_800_000_000, 0))
	fetches := 0
	s := &tokenSource{clock: fake, fetch: func(context.Context) (string, time.Duration, error) {
		fetches++
		return fmt.Sprintf("t%d", fetches), 2 * time.Hour, nil
	}}
	get := func() string {
		token, err := s.get(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
	if get() != "t1" || get() != "t1" {
		t.Error("the token is not kept")
	}
	fake.Advance(2*time.Hour - tokenMargin)
	if get() != "t2" {
		t.Error("the token is used to its end")
	}
	s.evict("t1")
	if get() != "t2" {
		t.Error("a newer token was evicted")
	}
}

func TestWrongSecretIsUnavailable(t *testing.T) {
	r := newRig(t, rigOptions{config: func(c *Config) { c.AppSecret = "wrong" }})
	t.Cleanup(r.close)
	_, err := r.send(&models.Delivery{ID: "dlv_1", Text: "hello", Target: models.Target{ChatID: "oc_1"}})
	if e := adapters.SendErrorOf(err); e.Kind != adapters.Unavailable || e.Code != "10014" {
		t.Errorf("err = %v", err)
	}
	if strings.Contains(err.Error(), "wrong") {
		t.Errorf("the error holds the secret: %v", err)
	}
}

func TestPlatformDownIsRetried(t *testing.T) {
	r := newRig(t, rigOptions{})
	t.Cleanup(r.close)
	r.platform.SetDown(true)
	_, err := r.send(&models.Delivery{ID: "dlv_1", Text: "hello", Target: models.Target{ChatID: "oc_1"}})
	if e := adapters.SendErrorOf(err); e.Kind != adapters.Retry {
		t.Errorf("err = %v", err)
	}
}

func TestChatLimit(t *testing.T) {
	r := startRig(t, rigOptions{platform: feishutest.Options{ChatQPS: 5}})
	m := r.said(feishutest.Said{ChatID: "oc_1", Text: "hi"})
	for i := range 12 {
		r.mustSend(m, fmt.Sprintf("dlv_%d", i), "hello")
	}
}

func TestLimiterTellsToWait(t *testing.T) {
	fake := clock.NewFake(time.Unix(1_800_000_000, 0))
	l := newLimiter(fake)
	waiting, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	refused := false
	for range 40 {
		now := fake.Now()
		if d := l.chat("oc_1").TokensAt(now); d < -float64(longestQueue/time.Second*chatRate) {
			err := l.wait(waiting, "oc_1")
			e := adapters.SendErrorOf(err)
			if e.Kind != adapters.RateLimited || e.RetryAfter <= 0 {
				t.Errorf("err = %v", err)
			}
			refused = true
			break
		}
		wg.Go(func() { _ = l.wait(waiting, "oc_1") })
		before := l.chat("oc_1").TokensAt(now)
		for l.chat("oc_1").TokensAt(now) == before {
		}
	}
	if !refused {
		t.Error("the queue has no end")
	}
	if err := l.wait(waiting, "oc_2"); err != nil {
		t.Errorf("another chat waits too: %v", err)
	}
	cancel()
	wg.Wait()
}

func TestFiles(t *testing.T) {
	files := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/report.pdf" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/pdf")
		_, _ = io.WriteString(w, "%PDF-1.4")
	}))
	t.Cleanup(files.Close)
	r := startRig(t, rigOptions{})
	m := r.said(feishutest.Said{ChatID: "oc_1", Text: "hi"})
	png := []byte("\x89PNG\r\n\x1a\n0000")
	d := adaptertest.Delivery(m, "dlv_1", "here")
	d.Files = []string{
		"data:image/png;base64," + base64.StdEncoding.EncodeToString(png),
		files.URL + "/report.pdf",
		files.URL + "/missing.pdf",
		"data:text/plain,hello%20world",
	}
	for range 2 { // the second attempt shows nothing new
		if _, err := r.send(d); err != nil {
			t.Fatal(err)
		}
	}
	var types []string
	for _, v := range r.platform.FromBot() {
		types = append(types, v.Type)
	}
	if want := []string{"interactive", "image", "file", "text", "file"}; !slices.Equal(types, want) {
		t.Errorf("types %q, want %q", types, want)
	}
	views := r.platform.FromBot()
	key := fields[fileContent]([]byte(views[1].Raw)).ImageKey
	if b, ok := r.platform.Blob(key); !ok || !bytes.Equal(b.Data, png) {
		t.Error("the picture did not arrive")
	}
	if b, _ := r.platform.Blob(fields[fileContent]([]byte(views[2].Raw)).FileKey); b.Name != "report.pdf" {
		t.Errorf("name %q", b.Name)
	}
	if views[3].Text != files.URL+"/missing.pdf" {
		t.Errorf("text %q", views[3].Text)
	}
}

func TestNothingToSend(t *testing.T) {
	r := startRig(t, rigOptions{})
	_, err := r.send(&models.Delivery{ID: "dlv_1", Target: models.Target{ChatID: "oc_1"}})
	if adapters.SendErrorOf(err).Kind != adapters.Refused {
		t.Errorf("err = %v", err)
	}
}

func TestWorkingSign(t *testing.T) {
	r := startRig(t, rigOptions{})
	m := r.said(feishutest.Said{ChatID: "oc_1", Text: "hi"})
	ctx := t.Context()
	sign, err := r.adapter.ShowWorking(ctx, m)
	if err != nil || sign == "" {
		t.Fatal(sign, err)
	}
	if v := r.platform.Messages("oc_1")[0]; len(v.Reactions) != 1 || v.Reactions[0].Emoji != "Typing" {
		t.Errorf("reactions %+v", v.Reactions)
	}
	for range 2 {
		if err := r.adapter.HideWorking(ctx, m, sign); err != nil {
			t.Error(err)
		}
	}
	if v := r.platform.Messages("oc_1")[0]; len(v.Reactions) != 0 {
		t.Errorf("reactions %+v", v.Reactions)
	}
	r.platform.Recall(m.ID)
	if err := r.adapter.HideWorking(ctx, m, sign); err != nil {
		t.Error(err)
	}
}

func TestUUIDs(t *testing.T) {
	long := strings.Repeat("x", 60)
	for _, id := range []string{"dlv_0198c0de-0000-7000-8000-000000000000", long} {
		seen := map[string]bool{}
		for _, variant := range []string{"", "-p", "-t", "-f0", "-f10"} {
			uuid := uuidOf(id, variant)
			if len(uuid) > maxUUID || seen[uuid] || uuid != uuidOf(id, variant) {
				t.Errorf("uuid %q of %q", uuid, variant)
			}
			seen[uuid] = true
		}
	}
}

func TestRenderTables(t *testing.T) {
	r := newRig(t, rigOptions{})
	t.Cleanup(r.close)
	table := "| name | value |\n|---|---|\n| a | 1 |\n\n"
	pieces := r.adapter.Render(adapters.Answer{Text: strings.Repeat(table, 8)})
	if len(pieces) != 1 || strings.Count(pieces[0], "|---|---|") != 8 {
		t.Fatalf("the text itself keeps its tables: %q", pieces)
	}
	if n := strings.Count(finalCard(pieces[0]), "|---|---|"); n != maxTables {
		t.Errorf("%d tables in the card, want %d", n, maxTables)
	}
	if n := strings.Count(finalCard(pieces[0]), "- **a**: 1"); n != 8-maxTables {
		t.Errorf("%d lists in the card", n)
	}
}

func TestRenderPictures(t *testing.T) {
	r := newRig(t, rigOptions{})
	t.Cleanup(r.close)
	got := r.adapter.Render(adapters.Answer{Text: "![chart](https://x/y.png) ![k](img_v3_1)\n```\n![a](b)\n```"})[0]
	if want := "[chart](https://x/y.png) ![k](img_v3_1)\n```\n![a](b)\n```"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestCheck(t *testing.T) {
	r := newRig(t, rigOptions{})
	t.Cleanup(r.close)
	findings, err := r.adapter.Check(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range findings {
		if !strings.HasPrefix(f, "ok: ") {
			t.Error(f)
		}
	}
	r.platform.Inject(feishutest.Fault{Match: "/cardkit/", Code: 99991672, Msg: "no permission"})
	findings, err = r.adapter.Check(t.Context())
	if err != nil || !strings.Contains(strings.Join(findings, "\n"), "cardkit:card:write): create card: HTTP 400, code 99991672") {
		t.Errorf("%q %v", findings, err)
	}
}
