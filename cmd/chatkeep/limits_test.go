package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/chatkeep/chatkeep/internal/testmysql"
)

// saidBack is what a server answered to a message.
type saidBack struct {
	status     int
	retryAfter string
	Reply      struct {
		Content string `json:"content"`
	} `json:"reply"`
	Error struct {
		Code string `json:"code"`
	} `json:"error"`
}

func say(t *testing.T, url, user, chat, text string) saidBack {
	t.Helper()
	body, err := json.Marshal(map[string]string{"userId": user, "chatId": chat, "text": text})
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.Post(url+"/v1/chat", "application/json", strings.NewReader(string(body)))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	out := saidBack{status: resp.StatusCode, retryAfter: resp.Header.Get("Retry-After")}
	var whole struct {
		Error json.RawMessage `json:"error"` // an object of a refusal, a text of an answer
	}
	_ = json.Unmarshal(raw, &whole)
	_ = json.Unmarshal(raw, &struct {
		Reply any `json:"reply"`
	}{&out.Reply})
	_ = json.Unmarshal(whole.Error, &out.Error)
	return out
}

// A person's messages count on all replicas together, in whatever chat they are.
func TestRateHoldsForReplicas(t *testing.T) {
	p := newPlace(t, "limits: {messagesPerMinutePerUser: 5}\n")
	env := []string{"CHATKEEP_STORAGE_DRIVER=mysql", "CHATKEEP_STORAGE_DSN=" + testmysql.DSN(t)}
	_, first := p.serve(env...)
	_, second := p.serve(env...)
	results := make([]saidBack, 20)
	var all sync.WaitGroup
	for i := range results {
		all.Go(func() {
			results[i] = say(t, []string{first, second}[i%2], "lin", fmt.Sprint("chat-", i%4), "hello")
		})
	}
	all.Wait()
	passed := 0
	for _, r := range results {
		switch {
		case r.status == http.StatusOK:
			passed++
		case r.status != http.StatusTooManyRequests || r.Error.Code != "rate_limited" || r.retryAfter == "":
			t.Errorf("%+v", r)
		}
	}
	if passed != 5 {
		t.Errorf("%d of 20 messages were answered, want 5", passed)
	}
}

func TestWordListsAreReadAgain(t *testing.T) {
	list := filepath.Join(t.TempDir(), "words.txt")
	write := func(words string) {
		t.Helper()
		if err := os.WriteFile(list, []byte(words), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("first\n敏感词\n")
	p := newPlace(t, fmt.Sprintf("limits: {words: [{file: %q, in: mask, out: off}]}\n", list))
	server, url := p.serve()
	if got := say(t, url, "lin", "", "the First 敏感词 second").Reply.Content; got != "the ＊＊＊＊＊ ＊＊＊ second" {
		t.Errorf("answer %q", got)
	}
	reloaded := 0
	reload := func(want string) {
		t.Helper()
		reloaded++
		server.signal(syscall.SIGHUP)
		waitFor(t, "the reload", func() bool { return strings.Count(server.err.String(), "reloaded") >= reloaded })
		if got := say(t, url, "lin", "", "the First 敏感词 second").Reply.Content; got != want {
			t.Errorf("answer %q, want %q", got, want)
		}
	}
	write("second\n")
	reload("the First 敏感词 ＊＊＊＊＊＊")
	write("bad \xff\n") // is no list: the one before stays
	reload("the First 敏感词 ＊＊＊＊＊＊")
	if log := server.err.String(); !strings.Contains(log, list+":1: is not UTF-8 text") {
		t.Errorf("log %s", log)
	}
	check := p.command("", "config", "check")
	if check.code != exitFailed || !strings.Contains(check.err+check.out, "limits.words[0].file") {
		t.Errorf("config check: %+v", check)
	}
}
