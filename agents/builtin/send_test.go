package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chatkeep/chatkeep/agents"
	"github.com/chatkeep/chatkeep/internal/clock"
)

// outbox is where the messages of this test go.
type outbox struct {
	sent []string
	err  error
}

func (o *outbox) SendFromTurn(_ context.Context, inboundID, chat, text, key string) error {
	o.sent = append(o.sent, strings.Join([]string{inboundID, chat, text, key}, "|"))
	return o.err
}

func (o *outbox) tools(t *testing.T, sendTo ...string) agents.Tool {
	t.Helper()
	tools, err := New(time.UTC, nil, nil, o, clock.Real()).Toolset([]string{SendToChat}, sendTo).Tools(t.Context())
	if err != nil || len(tools) != 1 {
		t.Fatalf("%d tools, %v", len(tools), err)
	}
	return tools[0]
}

func TestSendToChat(t *testing.T) {
	o := &outbox{}
	tool := o.tools(t, "feishu/main/oc_1")
	ctx := agents.WithInboundID(t.Context(), "inb_1")
	for _, tc := range []struct {
		ctx        context.Context
		args, want string
	}{
		{ctx, `{"text":"hello"}`, ""},
		{ctx, `{"text":"hello","chat":"feishu/main/oc_1"}`, ""},
		{ctx, `{"text":"hello","chat":"feishu/main/oc_2"}`, "not allowed"},
		{ctx, `{"text":" \n"}`, "empty"},
		{ctx, `{"text":"` + strings.Repeat("长", maxSentText+1) + `"}`, "longer"},
		{t.Context(), `{"text":"hello"}`, "no chat"},
		{ctx, `{"text":7}`, "send_to_chat"},
	} {
		_, err := tool.Call(tc.ctx, []byte(tc.args), "key")
		if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%.60s: %v, want %q", tc.args, err, tc.want)
		}
	}
	if want := []string{"inb_1||hello|key", "inb_1|feishu/main/oc_1|hello|key"}; !slices.Equal(o.sent, want) {
		t.Errorf("sent %q", o.sent)
	}
	o.err = errors.New("the turn is over")
	if _, err := tool.Call(ctx, []byte(`{"text":"late"}`), "key"); !errors.Is(err, o.err) {
		t.Errorf("the reason is %v", err)
	}
}

// A turn sends so many and no more; the next one may send again.
func TestSendToChatIsBounded(t *testing.T) {
	o := &outbox{}
	set := New(time.UTC, nil, nil, o, clock.Real()).Toolset([]string{SendToChat}, nil)
	ctx := agents.WithInboundID(t.Context(), "inb_1")
	for range 2 {
		tools, err := set.Tools(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		o.sent = nil
		for i := range 2 * maxSent {
			_, err := tools[0].Call(ctx, fmt.Appendf(nil, `{"text":"%d"}`, i), "key")
			if (err == nil) != (i < maxSent) {
				t.Errorf("message %d: %v", i, err)
			}
		}
		if len(o.sent) != maxSent {
			t.Errorf("%d were sent", len(o.sent))
		}
	}
}

// The schema names the other chats, if there are any.
func TestSendToChatNamesItsChats(t *testing.T) {
	o := &outbox{}
	for _, sendTo := range [][]string{nil, {"feishu/main/oc_1", `api/default/"quoted"`}} {
		var schema struct {
			Properties map[string]struct{ Enum []string }
		}
		if err := json.Unmarshal(o.tools(t, sendTo...).Spec().Parameters, &schema); err != nil {
			t.Fatal(err)
		}
		if got := schema.Properties["chat"].Enum; !slices.Equal(got, sendTo) {
			t.Errorf("chats %q, want %q", got, sendTo)
		}
	}
}
