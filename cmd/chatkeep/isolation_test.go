package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chatkeep/chatkeep/adapters/feishu/feishutest"
	"github.com/chatkeep/chatkeep/agents/agenttest"
)

// tenants is how many sessions the isolation test has.
const tenants = 50

// planted matches a text that was planted in one session's memory: its number, and
// in what kind of memory.
var planted = regexp.MustCompile(`canaryx(\d+)x([a-z]*)`)

func plant(i int, kind string) string { return fmt.Sprintf("canaryx%dx%s", i, kind) }

// owners returns the sessions whose texts stand in a text.
func owners(text string) []string {
	found := map[string]bool{}
	for _, m := range planted.FindAllStringSubmatch(text, -1) {
		found[m[1]] = true
	}
	return slices.Sorted(maps.Keys(found))
}

// groupTalk is what everybody in the group with sessions apart may know.
const groupTalk = "talkxapartx"

// tenant is one session with the person who talks in it.
type tenant struct {
	*isolation

	i    int
	body map[string]any // of a message to the API; nil: on Feishu
	on   feishutest.Said
	key  string
}

// isolation is a server with all channels, watched from outside.
type isolation struct {
	t        *testing.T
	url      string
	platform *feishutest.Server
}

// apart says that the tenant is a member of a group who has a session of their own.
// They are few: a group takes five messages a second.
func (n *tenant) apart() bool { return n.i%10 == 9 && n.i < 30 }

// newTenant makes tenants as alike as ids can be: the same people and chats under
// several scopes, accounts and channels.
func (s *isolation) newTenant(i int) *tenant {
	n, peer := &tenant{isolation: s, i: i}, fmt.Sprintf("u%d", i/10)
	n.on = feishutest.Said{ChatID: "oc_" + peer, From: peer}
	switch i % 10 {
	case 0:
		n.body = map[string]any{"userId": peer}
	case 1:
		n.body = map[string]any{"userId": peer, "chatId": peer}
	case 2:
		n.body = map[string]any{"userId": peer, "chatId": peer, "threadId": peer}
	case 3:
		n.body = map[string]any{"userId": peer, "scope": "per_account_channel_peer", "scopeId": peer}
	case 4:
		n.body = map[string]any{"userId": peer, "scope": "per_peer", "scopeId": "group/" + peer}
	case 5:
		n.body = map[string]any{"userId": peer, "account": "second"}
	case 6:
		n.body = map[string]any{"userId": peer, "chatId": peer, "account": "second"}
	case 7:
		n.body = map[string]any{"userId": peer, "chatId": peer, "threadId": peer, "account": "second"}
	case 8:
	default:
		if n.on = (feishutest.Said{ChatID: "oc_o" + peer, From: "o" + peer}); n.apart() {
			n.on = feishutest.Said{ChatID: "oc_apart", From: peer, Mention: true}
		}
	}
	return n
}

// call is one request; it fails the test unless the answer has the status.
func (s *isolation) call(method, path string, body any, token string, status int) string {
	s.t.Helper()
	var reader *strings.Reader
	switch b := body.(type) {
	case nil:
		reader = strings.NewReader("")
	case string:
		reader = strings.NewReader(b)
	default:
		text, err := json.Marshal(b)
		if err != nil {
			s.t.Error(err)
		}
		reader = strings.NewReader(string(text))
	}
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, reader)
	if err != nil {
		s.t.Error(err)
		return ""
	}
	req.Header.Set("Content-Type", "application/json")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Error(err)
		return ""
	}
	defer func() { _ = resp.Body.Close() }()
	raw, err := io.ReadAll(resp.Body)
	text := string(raw)
	if err != nil {
		s.t.Error(err)
	}
	if resp.StatusCode != status {
		s.t.Errorf("%s %s: %d, want %d: %s", method, path, resp.StatusCode, status, text)
	}
	return text
}

// admin is a request about the tenant's session.
func (n *tenant) admin(method, path string, body any, status int) string {
	n.t.Helper()
	return n.call(method, "/admin/v1/sessions/"+url.PathEscape(n.key)+path, body, "", status)
}

// says sends a message and returns the answer, and the first time learns the session.
func (n *tenant) says(text string) string {
	n.t.Helper()
	if n.body == nil {
		said := n.on
		said.Text = text
		return n.answered(n.platform.Say(said))
	}
	answer := n.chat(map[string]any{"text": text})
	var chat struct {
		SessionKey string
		Reply      struct{ Content string }
	}
	if err := json.Unmarshal([]byte(answer), &chat); err != nil {
		n.t.Errorf("%v: %s", err, answer)
	}
	n.key = chat.SessionKey
	return chat.Reply.Content
}

// chat sends the tenant's message to the API.
func (n *tenant) chat(message map[string]any) string {
	n.t.Helper()
	token := ""
	maps.Copy(message, n.body)
	if message["account"] != nil {
		token = "second-token"
	}
	delete(message, "account")
	return n.call(http.MethodPost, "/v1/chat", message, token, http.StatusOK)
}

// answered waits for what the bot replies to a message on Feishu.
func (n *tenant) answered(id string) string {
	n.t.Helper()
	if n.key = "agent:assistant:channel:any:scope:per_peer:feishu/main/" + n.on.From; n.apart() {
		n.key = "agent:assistant:channel:any:scope:per_peer:feishu/main/group/oc_apart/" + n.on.From
	}
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	for {
		changed := n.platform.Changed()
		for _, v := range slices.Backward(n.platform.Messages(n.on.ChatID)) {
			if v.FromBot && v.ReplyTo == id {
				return v.Text
			}
		}
		select {
		case <-changed:
		case <-deadline.C:
			n.t.Errorf("session %d: no answer to %s", n.i, id)
			return ""
		}
	}
}

// lives plants the tenant's texts in every kind of memory, and uses all of it. Members
// of the group say less.
func (n *tenant) lives() {
	n.says(plant(n.i, "first"))
	n.says("/remember k=" + plant(n.i, "note"))
	n.admin(http.MethodPost, "/memory", map[string]any{"key": "k2", "value": plant(n.i, "admin")}, http.StatusCreated)
	n.admin(http.MethodPut, "/variables/secret", map[string]any{"value": plant(n.i, "variable")}, http.StatusOK)
	n.admin(http.MethodPut, "/files/TODO.md", plant(n.i, "todo"), http.StatusOK)
	n.says("use your tools: " + plant(n.i, "asks"))
	if n.body != nil && n.body["chatId"] != nil {
		n.chat(map[string]any{"text": plant(n.i, "observed"), "mentioned": false})
	}
	if !n.apart() {
		n.branches()
	}
	n.says("use your tools: " + plant(n.i, "again"))
	n.admin(http.MethodPost, "/prune", nil, http.StatusOK)
	n.says(plant(n.i, "after"))
	if n.i%3 == 0 {
		n.admin(http.MethodPost, "/reset", nil, http.StatusOK)
		n.says("/history canary")
		n.admin(http.MethodPost, "/restore?reset=latest", nil, http.StatusOK)
	}
	if n.i%10 == 0 { // nobody else's
		n.says("/compact keep all of it")
	} else {
		n.admin(http.MethodPost, "/compact", nil, http.StatusOK)
	}
	n.says(plant(n.i, "last"))
}

// branches plants texts in context slots.
func (n *tenant) branches() {
	n.admin(http.MethodPost, "/slots/default/derive", map[string]any{"id": "side"}, http.StatusCreated)
	n.admin(http.MethodPost, "/slots", map[string]any{
		"id": "focus", "focused": map[string]any{"recentMessages": 5, "summaryOverride": plant(n.i, "override")},
	}, http.StatusCreated)
	n.admin(http.MethodPost, "/slots/side/switch", nil, http.StatusOK)
	n.says(plant(n.i, "side"))
	n.admin(http.MethodPost, "/slots/focus/switch", nil, http.StatusOK)
	n.says(plant(n.i, "focus"))
	n.admin(http.MethodPost, "/slots/side/merge", map[string]any{"into": "focus", "strategy": "messages"}, http.StatusOK)
	n.admin(http.MethodPost, "/slots/default/switch", nil, http.StatusOK)
}

// shows looks through everything that the session shows.
func (n *tenant) shows() {
	commands := []string{"/history canary"}
	paths := []string{"", "/messages", "/context", "/variables", "/variables/secret", "/memory", "/files/PLAN.md", "/files/TODO.md",
		"/export?format=jsonl", "/export?format=markdown", "/export?format=html"}
	if !n.apart() {
		commands = append(commands, "/history", "/memory")
		paths = append(paths, "/slots", "/messages?slot=side", "/messages?slot=focus", "/context?slot=side", "/context?slot=focus")
	}
	for _, command := range commands {
		n.only(command, n.says(command))
	}
	for _, path := range paths {
		n.only(path, n.admin(http.MethodGet, path, nil, http.StatusOK))
	}
	n.only("search", n.call(http.MethodGet, "/admin/v1/search?q=CANARYX&limit=500&sessionKey="+url.PathEscape(n.key), nil, "", http.StatusOK))
}

// only checks that a text holds the tenant's own and nobody else's.
func (n *tenant) only(where, text string) {
	n.t.Helper()
	if got := owners(text); len(got) != 1 || got[0] != fmt.Sprint(n.i) {
		n.t.Errorf("session %d: %s holds texts of %v: %.2000s", n.i, where, got, text)
	}
	if strings.Contains(text, groupTalk) && !n.apart() {
		n.t.Errorf("session %d: %s holds talk of a group: %.2000s", n.i, where, text)
	}
}

// answerWithTools is a model that uses every tool when it is asked to, and else
// repeats all that it was shown: whoever sees an answer sees what the model saw.
func answerWithTools(r *agenttest.ChatRequest) agenttest.Reply {
	last := r.Messages[len(r.Messages)-1]
	if owner := planted.FindStringSubmatch(last.Text()); last.Role == "user" && strings.Contains(last.Text(), "use your tools") && len(r.Tools) > 0 {
		text := func(kind string) string { return "canaryx" + owner[1] + "x" + kind }
		sent := text("sent")
		if strings.Contains(string(r.Body), groupTalk) { // all members are told
			sent = groupTalk + "sent"
		}
		var calls []agenttest.ReplyCall
		for i, call := range [][2]string{
			{"remember", `{"key":"t","text":"` + text("remembered") + `"}`}, {"plan", `{"text":"` + text("plan") + `"}`},
			{"recall", `{}`}, {"plan", `{"file":"TODO.md"}`}, {"history_search", `{"words":"canary"}`}, {"send_to_chat", `{"text":"` + sent + `"}`},
		} {
			calls = append(calls, agenttest.ReplyCall{ID: fmt.Sprintf("c%d", i), Name: call[0], Arguments: call[1]})
		}
		return agenttest.Call(calls...)
	}
	var all strings.Builder
	for _, m := range r.Messages {
		all.WriteString(strings.Join(planted.FindAllString(m.Text(), 3), " ") + " ")
	}
	return agenttest.Say("I was shown " + all.String())
}

// Nothing crosses sessions: what is planted in every kind of memory of many sessions,
// as alike as they can be, is in no other's prompts, summaries, results of tools,
// searches, notes, exports and answers.
func TestNothingCrossesSessions(t *testing.T) {
	platform, err := feishutest.New(feishutest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(platform.Close)
	platform.AddChat("oc_apart", feishutest.Group, "Apart")
	model := agenttest.NewServer(agenttest.ServerOptions{})
	model.Otherwise(answerWithTools)
	p := newPlace(t, fmt.Sprintf(`
agents:
  - {id: assistant, kind: openai, baseUrl: %q, apiKey: k, model: m, systemPrompt: "You know {{var.secret}}.", tools: [remember, recall, plan, history_search, send_to_chat]}
channels:
  feishu:
    - {account: main, appId: %q, appSecret: %q, baseUrl: %q, group: {isolateMembers: true}, reply: {streaming: off}}
  api:
    - {account: default}
    - {account: second, tokens: [second-token]}
session:
  pruning: {enabled: true, mode: soft, keepRecentCount: 2, maxToolResultSize: 40}
  compaction: {enabled: true, keepRecentCount: 2, minMessagesToCompact: 4}
`, model.Start(t), feishutest.DefaultAppID, feishutest.DefaultAppSecret, platform.URL()))
	_, base := p.serve("CHATKEEP_STORAGE_DRIVER=memory") // which is SQLite without waiting for a disk
	s := &isolation{t: t, url: base, platform: platform}
	waitFor(t, "the connection to Feishu", func() bool { return platform.Connections() > 0 })
	platform.Say(feishutest.Said{ChatID: "oc_apart", From: "somebody", Text: groupTalk + "observed"})
	s.call(http.MethodPost, "/admin/v1/deliveries", map[string]any{
		"channel": "feishu", "account": "main", "chatId": "oc_apart", "text": groupTalk + "pushed",
	}, "", http.StatusAccepted)
	waitFor(t, "the push", func() bool { return len(platform.FromBot()) > 0 })

	all := make([]*tenant, tenants)
	for i := range all {
		all[i] = s.newTenant(i)
	}
	together(all, (*tenant).lives)
	keys := map[string]bool{}
	for _, n := range all {
		keys[n.key] = true
	}
	if len(keys) != tenants {
		t.Fatalf("%d sessions, want %d", len(keys), tenants)
	}
	together(all, (*tenant).shows)
	s.prompts(model, all)
	s.searchOfAll(all)

	// A deleted session takes all of it along.
	for _, n := range all[:10] {
		n.admin(http.MethodDelete, "", nil, http.StatusOK)
		if found := s.call(http.MethodGet, "/admin/v1/search?q="+plant(n.i, ""), nil, "", http.StatusOK); owners(found) != nil {
			t.Errorf("session %d is deleted and found: %s", n.i, found)
		}
		if again := n.says("who am I?"); owners(again) != nil {
			t.Errorf("session %d is deleted and known: %s", n.i, again)
		}
	}
	if refused := model.Rejections(); len(refused) > 0 {
		t.Errorf("%d requests were refused: %.2000s\n%.4000s", len(refused), refused[0].Message, refused[0].Body)
	}
}

// together runs something for every tenant, a few at a time.
func together(all []*tenant, do func(*tenant)) {
	var wg sync.WaitGroup
	slots := make(chan struct{}, 24)
	for _, n := range all {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			do(n)
		})
	}
	wg.Wait()
}

// prompts looks through what the model was sent: turns and summaries.
func (s *isolation) prompts(model *agenttest.Server, all []*tenant) {
	s.t.Helper()
	turns, summaries, pruned, kinds := make([]int, tenants), 0, 0, map[string]bool{}
	for _, r := range model.Requests() {
		body := string(r.Body)
		got := owners(body)
		if len(got) != 1 {
			s.t.Errorf("a prompt holds texts of %v: %.4000s", got, body)
			continue
		}
		var i int
		if _, err := fmt.Sscan(got[0], &i); err != nil {
			s.t.Fatal(err)
		}
		turns[i]++
		all[i].only("a prompt", body)
		for _, m := range planted.FindAllStringSubmatch(body, -1) {
			kinds[m[2]] = true
		}
		for _, talk := range []string{"observed", "pushed", "sent"} {
			kinds[talk] = kinds[talk] || strings.Contains(body, groupTalk+talk)
		}
		if len(r.Tools) == 0 {
			summaries++
		}
		if strings.Contains(body, "characters") {
			pruned++
		}
	}
	if least := slices.Min(turns); least < 8 || summaries < tenants || pruned == 0 {
		s.t.Errorf("at least %d requests of each, %d summaries, %d with something pruned", least, summaries, pruned)
	}
	for _, kind := range []string{
		"first", "note", "admin", "variable", "todo", "asks", "observed", "override", "side", "focus", "again", "after", "last", "remembered", "plan", "sent", "pushed",
	} {
		if !kinds[kind] {
			s.t.Errorf("no prompt holds what was planted as %s", kind)
		}
	}
}

// searchOfAll holds what a search of all sessions finds against whose it is.
func (s *isolation) searchOfAll(all []*tenant) {
	s.t.Helper()
	found := map[string]bool{}
	for cursor := ""; ; {
		var page struct {
			Items      []struct{ SessionKey, Snippet string }
			NextCursor string
		}
		text := s.call(http.MethodGet, "/admin/v1/search?q=canaryx&limit=500&cursor="+cursor, nil, "", http.StatusOK)
		if err := json.Unmarshal([]byte(text), &page); err != nil {
			s.t.Fatal(err)
		}
		for _, item := range page.Items {
			i := slices.IndexFunc(all, func(n *tenant) bool { return n.key == item.SessionKey })
			if i < 0 {
				s.t.Errorf("found in an unknown session %s: %s", item.SessionKey, item.Snippet)
				continue
			}
			all[i].only("a search of all", item.Snippet)
			found[item.SessionKey] = true
		}
		if cursor = page.NextCursor; cursor == "" {
			break
		}
	}
	if len(found) != tenants {
		s.t.Errorf("found in %d sessions", len(found))
	}
}
