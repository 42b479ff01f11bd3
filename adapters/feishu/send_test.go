package feishu

import (
	"strings"
	"testing"

	"github.com/chatkeep/chatkeep/adapters"
	"github.com/chatkeep/chatkeep/adapters/adaptertest"
	"github.com/chatkeep/chatkeep/adapters/feishu/feishutest"
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
		if v.Type != want || !strings.HasPrefix(v.Text, "@ou_person hello") {
			t.Errorf("%s: %+v", want, v)
		}
		if strings.Contains(v.Text, "@all") {
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

func TestPlatformDownIsRetried(t *testing.T) {
	r := newRig(t, rigOptions{})
	t.Cleanup(r.close)
	r.platform.SetDown(true)
	_, err := r.send(&models.Delivery{ID: "dlv_1", Text: "hello", Target: models.Target{ChatID: "oc_1"}})
	if e := adapters.SendErrorOf(err); e.Kind != adapters.Retry {
		t.Errorf("err = %v", err)
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
