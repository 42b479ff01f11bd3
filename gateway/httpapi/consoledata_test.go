package httpapi_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/chatkeep/chatkeep/adapters"
	"github.com/chatkeep/chatkeep/agents"
	"github.com/chatkeep/chatkeep/agents/agenttest"
	"github.com/chatkeep/chatkeep/gateway"
	"github.com/chatkeep/chatkeep/gateway/access"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/sessionmgr/prune"
)

// markup is what a page that trusts texts would run.
const markup = `<img src="x" class="planted" onerror="window.hit=1"><script>window.hit=1</script>"><svg class="planted" onload="window.hit=1">`

// oddArguments are not what JavaScript makes of them, nor what they look like.
const oddArguments = `{"order":"A-1001","amount":12345678901234567890,"to":"lin\u202eytnuom","note":"\u9000\u6b3e"}`

// operated is a gateway with something in every view, and markup wherever somebody can
// write.
type operated struct {
	*world

	path, key string // of the session that is operated on
	planted   string // the key of a session with markup in all of its fields
}

func newOperated(t *testing.T) *operated {
	t.Helper()
	o := &operated{world: newWorld(t, options{settings: operatedSettings})}
	o.model.Otherwise(func(r *agenttest.ChatRequest) agenttest.Reply {
		last := r.Messages[len(r.Messages)-1].Text()
		switch {
		case last == "call oddly":
			return agenttest.Call(agenttest.ReplyCall{ID: "c2", Name: "refund", Arguments: oddArguments})
		case strings.HasPrefix(last, "call "):
			return agenttest.Call(agenttest.ReplyCall{ID: "c1", Name: "refund", Arguments: fmt.Sprintf(`{"order":"A-1000","note":%q}`, markup)})
		case strings.HasPrefix(r.Messages[0].Text(), "You condense"):
			return agenttest.Say("## Decisions\n- blue")
		case last == "break":
			return agenttest.Fail(http.StatusBadRequest, "bad_request", markup)
		}
		return agenttest.Say("Noted: " + last[:min(len(last), 60)])
	})
	for i := range 9 {
		turn := o.work(obj{"userId": "lin", "text": fmt.Sprintf("turn %d: the order A-100%d %s", i, i, strings.Repeat("and more ", 20))}).ok()
		o.path, o.key = turn.session(), turn.str("sessionKey")
	}
	o.admin(http.MethodPatch, o.path, obj{"title": "Order desk"}).ok()
	o.work(obj{"userId": "lin", "text": "call refund"}).ok()
	o.work(obj{"userId": "wu", "text": "break"}).want(http.StatusBadGateway, models.CodeAgentFailed)
	o.plant()
	return o
}

func operatedSettings(s *gateway.Settings) {
	s.Compaction = gateway.Compaction{KeepRecent: 4}
	s.Pruning = prune.Settings{Mode: prune.ModeSoft, KeepRecent: 2, MaxResultSize: 100, SaveToolCalls: true, KeepToolCalls: 5}
	model := s.Agents["model"]
	model.Tools = toolbox([]agents.Tool{tool{"refund", "refunded", true}})
	s.Agents["model"] = model
	chat := s.Chat
	s.Chat = func(channel, account, chatID string) (gateway.ChatSettings, bool) {
		c, known := chat(channel, account, chatID)
		if channel == "fake" {
			c.Access.Direct = access.Pairing
		}
		return c, known
	}
}

// plant puts markup wherever somebody can write.
func (o *operated) plant() {
	o.t.Helper()
	planted := o.chat(obj{"userId": markup, "text": markup}).ok()
	o.planted = planted.str("sessionKey")
	path := planted.session()
	o.admin(http.MethodPatch, path, obj{"title": markup, "model": markup, "systemPrompt": markup}).ok()
	o.admin(http.MethodPost, path+"/memory", obj{"key": markup, "value": markup}).want(http.StatusCreated, "")
	o.admin(http.MethodPut, path+"/variables/"+url.PathEscape(markup), obj{"value": obj{markup: markup}}).ok()
	o.do(request{method: http.MethodPut, path: "/admin/v1" + path + "/files/PLAN.md", body: markup, token: adminToken}).ok()
	o.chat(obj{"userId": markup, "text": "/new " + markup[:60]}).ok()
	o.chat(obj{"userId": markup, "text": "in the new slot " + markup}).ok()
	o.admin(http.MethodPost, "/tasks", obj{"id": "standup", "schedule": "0 9 * * 1-5", "timezone": "Asia/Shanghai", "prompt": markup, "agent": "assistant"}).want(http.StatusCreated, "")

	for _, id := range []string{"m-1", "m-2"} { // asks to be let in
		_, err := o.gateway.Accept(o.t.Context(), &gateway.Incoming{Channel: "fake", Account: "main", Message: &adapters.Message{
			ID: id, Chat: adapters.Chat{ID: "c-" + id, Type: adapters.Direct}, Sender: adapters.Sender{ID: markup[:99] + id, Name: markup[:99]}, Mentioned: true, Text: markup,
		}})
		if err != nil {
			o.t.Fatal(err)
		}
	}
	_, err := o.gateway.Accept(o.t.Context(), &gateway.Incoming{Channel: "fake", Account: "main", Message: &adapters.Message{
		ID: "m-3", Chat: adapters.Chat{ID: markup[:99], Type: adapters.Group, Name: markup[:99]}, Sender: adapters.Sender{ID: "u3", Name: markup[:99]}, Mentioned: true, Text: markup,
	}})
	if err != nil {
		o.t.Fatal(err)
	}
	eventually(o.t, "all that was said is answered", func() bool { return len(o.channel.texts()) >= 3 })
	o.channel.setRefuse(true)
	o.admin(http.MethodPost, "/deliveries", obj{"channel": "fake", "account": "main", "chatId": markup[:99], "text": markup}).want(http.StatusAccepted, "")
	eventually(o.t, "a delivery is refused", func() bool {
		return len(o.admin(http.MethodGet, "/deliveries?state=failed", nil).ok().items()) == 1
	})
	o.channel.setRefuse(false)
}

// toolResult adds one that pruning would shorten.
func (o *operated) toolResult() {
	o.t.Helper()
	err := o.store.AppendMessages(o.t.Context(), o.key, []*models.SessionMessage{
		{ID: "m1", Role: models.RoleUser, Content: "look"},
		{ID: "m2", Role: models.RoleAssistant, ToolCalls: []models.ToolCall{{ID: "c", Name: "look", Arguments: `{"path":"orders"}`}}},
		{ID: "m3", Role: models.RoleTool, ToolCallID: "c", Content: strings.Repeat("结果 ", 500)},
		{ID: "m4", Role: models.RoleAssistant, Content: "seen"},
		{ID: "m5", Role: models.RoleUser, Content: "thanks"},
	})
	if err != nil {
		o.t.Fatal(err)
	}
}
