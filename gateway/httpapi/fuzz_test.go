package httpapi

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/chatkeep/chatkeep/models"
)

// FuzzChatBody: whatever is posted, it is refused with an error document, or what
// comes of it can be stored byte for byte.
func FuzzChatBody(f *testing.F) {
	for _, seed := range []string{
		`{"userId":"lin","text":"hi"}`, `{"userId":"lin","chatId":"g","threadId":"t","text":"hi","images":["https://x/y.png"]}`,
		`{"userId":"\ud83d\ude42","text":"\\ud800"}`, `{"userId":"\ud800","text":"hi"}`, `{"userId":"a\u0000","text":"hi"}`,
		`{"userId":"lin","text":"hi","wait":false,"stream":true,"mentioned":false,"scope":"main","scopeId":"x","slot":"s","messageId":"m"}`,
		"null", "[]", "{", "\xff",
	} {
		f.Add([]byte(seed), "key")
	}
	f.Fuzz(func(t *testing.T, body []byte, idempotencyKey string) {
		var request chatRequest
		err := decodeJSON(body, &request, true)
		if err == nil {
			_, err = request.incoming("default", idempotencyKey)
		}
		if err != nil {
			if p := problemOf(err); p.status() < 400 || p.status() > 499 || p.message == "" || !utf8.ValidString(p.message) {
				t.Fatalf("refused with %d %q", p.status(), p.message)
			}
			return
		}
		for _, s := range []string{request.UserID, request.ChatID, request.ThreadID, request.ScopeID, request.MessageID} {
			if len(s) > models.MaxForeignID {
				t.Fatalf("an id of %d bytes was taken", len(s))
			}
		}
		for _, s := range append([]string{request.UserID, request.ChatID, request.Text, request.MessageID}, request.Images...) {
			if !utf8.ValidString(s) || strings.ContainsRune(s, 0) {
				t.Fatalf("%q was taken", s)
			}
			if strings.ContainsRune(s, utf8.RuneError) && !strings.Contains(string(body), string(utf8.RuneError)) && !strings.Contains(strings.ToLower(string(body)), `\ufffd`) && s != request.MessageID {
				t.Fatalf("%q was replaced in %q", s, body)
			}
		}
		if request.UserID == "" || request.Text == "" && len(request.Images) == 0 {
			t.Fatal("nothing was taken for a message")
		}
	})
}
