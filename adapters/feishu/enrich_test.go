package feishu

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/chatkeep/chatkeep/adapters"
	"github.com/chatkeep/chatkeep/adapters/feishu/feishutest"
)

func (r *rig) enriched(said feishutest.Said) *adapters.Message {
	r.t.Helper()
	m := r.said(said)
	if err := r.adapter.Enrich(r.t.Context(), m); err != nil {
		r.t.Fatal(err)
	}
	return m
}

func TestEnrichNamesAndQuote(t *testing.T) {
	r := startRig(t, rigOptions{})
	r.platform.AddUser(feishutest.User{OpenID: "ou_li", Name: "Li"})
	r.platform.AddUser(feishutest.User{OpenID: "ou_wu", Name: "Wu"})
	r.platform.AddChat("oc_g", feishutest.Group, "Friends")
	first := r.said(feishutest.Said{ChatID: "oc_g", From: "ou_wu", Text: "let us meet at 9", Others: []string{"ou_li"}})
	for range 3 {
		m := r.enriched(feishutest.Said{ChatID: "oc_g", From: "ou_li", Text: "when?", Mention: true, ReplyTo: first.ID})
		if m.Chat.Name != "Friends" || m.Sender.Name != "Li" {
			t.Errorf("chat %q, sender %q", m.Chat.Name, m.Sender.Name)
		}
		if q := m.Quote; q == nil || q.Text != "let us meet at 9 @Li" || q.SenderName != "Wu" || q.SenderID != "ou_wu" || q.FromBot {
			t.Errorf("quote %+v", q)
		}
	}
	if n := len(r.platform.Calls("/contact/v3/users/")); n != 2 {
		t.Errorf("%d names were asked for, want 2", n)
	}
	if n := len(r.platform.Calls("GET /open-apis/im/v1/chats/")); n != 1 {
		t.Errorf("the chat was asked for %d times", n)
	}
}

func TestEnrichQuoteOfTheBot(t *testing.T) {
	r := startRig(t, rigOptions{})
	m := r.said(feishutest.Said{ChatID: "oc_1", Text: "hi"})
	answer := r.mustSend(m, "dlv_1", "the answer is **42**")
	again := r.enriched(feishutest.Said{ChatID: "oc_1", Text: "why?", ReplyTo: answer.ID})
	if q := again.Quote; q == nil || !q.FromBot || !strings.Contains(q.Text, "the answer is **42**") {
		t.Errorf("quote %+v", q)
	}
}

func TestEnrichWithoutPermission(t *testing.T) {
	r := startRig(t, rigOptions{})
	r.platform.Inject(feishutest.Fault{Match: "/contact/", Code: 99991672, Times: -1})
	r.platform.AddChat("oc_g", feishutest.Group, "Friends")
	m := r.said(feishutest.Said{ChatID: "oc_g", Text: "hi", Mention: true})
	if err := r.adapter.Enrich(t.Context(), m); err != nil {
		t.Errorf("a missing permission is a failure: %v", err)
	}
	if m.Chat.Name != "Friends" || m.Sender.Name != "" {
		t.Errorf("%+v", m)
	}
	_ = r.adapter.Enrich(t.Context(), m)
	if n := len(r.platform.Calls("/contact/")); n != 1 {
		t.Errorf("the missing permission was tried %d times", n)
	}
}

func TestEnrichForwarded(t *testing.T) {
	r := startRig(t, rigOptions{})
	r.platform.AddUser(feishutest.User{OpenID: "ou_li", Name: "Li"})
	m := r.enriched(feishutest.Said{ChatID: "oc_1", Forwarded: []feishutest.Said{
		{From: "ou_li", Text: "first\nline"},
		{From: "ou_wu", Type: "image", Content: `{"image_key":"img_1"}`},
		{From: "ou_li", Forwarded: []feishutest.Said{{From: "ou_wu", Text: "deep"}}},
	}})
	want := "- Li: first\n  line\n- ou_wu: [image]\n- Li: [forwarded messages]\n  - ou_wu: deep"
	if m.Quote == nil || m.Quote.Text != want || m.Text != forwardPlaceholder {
		t.Errorf("got %q, want %q", m.Quote.Text, want)
	}
	// A question about it.
	q := r.enriched(feishutest.Said{ChatID: "oc_1", Text: "summarise", ReplyTo: m.ID})
	if q.Quote == nil || q.Quote.Text != want {
		t.Errorf("quote %+v", q.Quote)
	}
}

func TestEnrichForwardedIsBounded(t *testing.T) {
	r := startRig(t, rigOptions{})
	var many []feishutest.Said
	for i := range 150 {
		many = append(many, feishutest.Said{Text: fmt.Sprintf("message %d ", i) + strings.Repeat("汉", 500)})
	}
	m := r.enriched(feishutest.Said{ChatID: "oc_1", Forwarded: many})
	if len(m.Quote.Text) > maxQuote+4096 || !strings.Contains(m.Quote.Text, "more messages]") {
		t.Errorf("%d bytes", len(m.Quote.Text))
	}
}

func TestQuoteThatIsRecalledOrHidden(t *testing.T) {
	r := startRig(t, rigOptions{})
	first := r.said(feishutest.Said{ChatID: "oc_1", Text: "secret"})
	m := r.said(feishutest.Said{ChatID: "oc_1", Text: "what?", ReplyTo: first.ID})
	r.platform.Recall(first.ID)
	if err := r.adapter.Enrich(t.Context(), m); err != nil || m.Quote.Text != "[recalled message]" {
		t.Errorf("%v, quote %+v", err, m.Quote)
	}
	r.platform.Inject(feishutest.Fault{Match: "GET /open-apis/im/v1/messages/", Code: 230050})
	m.Quote.Text = ""
	if err := r.adapter.Enrich(t.Context(), m); err == nil || m.Quote.Text != "" {
		t.Errorf("%v, quote %+v", err, m.Quote)
	}
}

func TestFetch(t *testing.T) {
	r := startRig(t, rigOptions{})
	r.platform.AddBlob("img_1", feishutest.Blob{ContentType: "image/png", Name: "a.png", Data: []byte("\x89PNG\r\n\x1a\n")})
	r.platform.AddBlob("file_1", feishutest.Blob{ContentType: "application/octet-stream", Name: "notes.txt", Data: []byte("hello")})
	fetch := func(m *adapters.Message, i int, limit int64) (*adapters.Media, error) {
		t.Helper()
		if len(m.Attachments) <= i {
			t.Fatalf("attachments %+v", m.Attachments)
		}
		return r.adapter.Fetch(t.Context(), m, m.Attachments[i], limit)
	}
	image := r.said(feishutest.Said{ChatID: "oc_1", Type: "image", Content: `{"image_key":"img_1"}`})
	if got, err := fetch(image, 0, 1000); err != nil || got.ContentType != "image/png" || len(got.Data) != 8 {
		t.Errorf("image: %+v, %v", got, err)
	}
	file := r.said(feishutest.Said{ChatID: "oc_1", Type: "file", Content: `{"file_key":"file_1","file_name":"备忘.txt"}`})
	if got, err := fetch(file, 0, 5); err != nil || got.ContentType != "text/plain" || got.Name != "备忘.txt" || string(got.Data) != "hello" {
		t.Errorf("file: %+v, %v", got, err)
	}
	if _, err := fetch(file, 0, 4); !errors.Is(err, adapters.ErrTooLarge) {
		t.Errorf("too large: %v", err)
	}
	post := r.said(feishutest.Said{ChatID: "oc_1", Type: "post", Content: `{"title":"","content":[[{"tag":"img","image_key":"img_1"}],[{"tag":"text","text":"see"}]]}`})
	if got, err := fetch(post, 0, 1000); err != nil || got.ContentType != "image/png" {
		t.Errorf("image of a post: %+v, %v", got, err)
	}
	// A question about a picture: the quoted picture comes with it.
	question := r.enriched(feishutest.Said{ChatID: "oc_1", Text: "what is it?", ReplyTo: image.ID})
	if got, err := fetch(question, 0, 1000); err != nil || got.ContentType != "image/png" {
		t.Errorf("quoted image: %+v, %v", got, err)
	}
	r.platform.Inject(feishutest.Fault{Match: "/resources/", Code: 234002, Status: 403})
	if _, err := fetch(image, 0, 1000); err == nil || !strings.Contains(err.Error(), "234002") {
		t.Errorf("refused: %v", err)
	}
	r.platform.RevokeTokens()
	if _, err := fetch(image, 0, 1000); err != nil {
		t.Errorf("after the token was revoked: %v", err)
	}
}
