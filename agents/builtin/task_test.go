package builtin

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chatkeep/chatkeep/agents"
	"github.com/chatkeep/chatkeep/internal/clock"
)

func (o *outbox) TaskFromTurn(_ context.Context, inboundID string, call TaskCall, key string) (string, error) {
	o.sent = append(o.sent, fmt.Sprintf("%s|%+v|%s", inboundID, call, key))
	return "done", o.err
}

func TestTaskTool(t *testing.T) {
	o := &outbox{}
	tool := only(t, New(time.UTC, nil, nil, o, clock.Real()), Task)
	if _, err := tool.Call(t.Context(), []byte(`{"action":"list"}`), "k"); err == nil || len(o.sent) > 0 {
		t.Errorf("without a turn: %v, %q", err, o.sent)
	}
	ctx := agents.WithInboundID(t.Context(), "inb_1")
	got, err := tool.Call(ctx, []byte(`{"action":"add","when":"18:00","prompt":"go home"}`), "k")
	if err != nil || got.Text != "done" || strings.Join(o.sent, "") != "inb_1|{Action:add When:18:00 Prompt:go home ID:}|k" {
		t.Errorf("%+v, %v; asked %q", got, err, o.sent)
	}
	o.err = errors.New("that task is not of the person who asks")
	if _, err := tool.Call(ctx, []byte(`{"action":"delete","id":"t-1"}`), "k"); !errors.Is(err, o.err) {
		t.Error(err)
	}
}
