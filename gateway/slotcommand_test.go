package gateway_test

import (
	"strings"
	"testing"

	"github.com/chatkeep/chatkeep/gateway/slot"
	"github.com/chatkeep/chatkeep/internal/text"
	"github.com/chatkeep/chatkeep/models"
)

// tell sends a chat command and returns its answer.
func (r *rig) tell(id, user, command string) string {
	r.t.Helper()
	r.say(said(id, user, command))
	return r.ends(id, models.InboundDone).Reply.Content
}

func TestSlotCommand(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.chat.Access.Admins = []string{"boss"}
	r.settings.StaticSlots = map[string][]slot.Static{"assistant": {slot.NewStatic("handbook", []*models.SessionMessage{{Role: models.RoleUser, Content: "rules"}})}}
	r.start()
	say := func(id text.ID, args ...any) string { return text.Say(text.English, id, args...) }
	if got := r.tell("c0", "ann", "/slot"); !strings.Contains(got, say(text.SlotLineCurrent, "default", "full", 0, 0)) {
		t.Errorf("before anything was said: %q", got)
	}
	r.say(said("m1", "ann", "hello"))
	r.ends("m1", models.InboundDone)
	for i, step := range []struct{ user, command, want string }{
		{"ann", `/slot new "plan-b"`, say(text.NewSlot, "plan-b")},
		{"ann", "/slot new plan-b", say(text.SlotExists, "plan-b")},
		{"ann", "/new handbook", say(text.SlotExists, "handbook")},
		{"ann", "/slot derive copy from default", say(text.SlotDerived, "copy")},
		{"ann", "/slot derive rules handbook", say(text.SlotDerived, "rules")},
		{"ann", "/slot derive copy2 nowhere", say(text.SlotMissing, "nowhere")},
		{"ann", "/上下文 切换 copy", say(text.SlotSwitched, "copy")},
		{"ann", "/slot switch nowhere", say(text.SlotMissing, "nowhere")},
		{"ann", "/slot switch handbook", say(text.SlotIsStatic, "handbook")},
		{"ann", "/slot switch a/b", say(text.SlotMissing, "a/b")},
		{"ann", "/slot delete plan-b", say(text.NeedsAdmin)},
		{"boss", "/slot delete default", say(text.SlotStays, "default")},
		{"boss", "/slot 删除 plan-b", say(text.SlotDeleted, "plan-b")},
		{"ann", "/slot dance", say(text.SlotUsage)},
		{"ann", "/slot switch", say(text.SlotUsage)},
	} {
		if got := r.tell("s"+string(rune('a'+i)), step.user, step.command); got != step.want {
			t.Errorf("%s by %s: %q, want %q", step.command, step.user, got, step.want)
		}
	}
	got := r.tell("c9", "ann", "上下文")
	for _, want := range []string{"- default: full, 2 messages", "- **copy** (current): full, 2 messages", "- rules: full, 1 messages", "- handbook: read-only"} {
		if !strings.Contains(got, want) {
			t.Errorf("the list lacks %q:\n%s", want, got)
		}
	}
	if strings.Contains(got, "plan-b") {
		t.Errorf("a deleted context is listed:\n%s", got)
	}
}

// Any text is a name: the slot gets an id of its own and is called by either.
func TestSlotTitles(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.start()
	say := func(id text.ID, args ...any) string { return text.Say(text.English, id, args...) }
	long := strings.Repeat("很", 100)
	for i, step := range []struct{ command, want string }{
		{"/new 季度 计划", say(text.NewSlot, "季度 计划 (`chat-2`)")},
		{"/new 季度  计划", say(text.SlotExists, "季度 计划 (`chat-2`)")},
		{"/new", say(text.NewSlot, "chat-3")},
		{`/slot derive "A copy" from "季度 计划"`, say(text.SlotDerived, "A copy (`chat-4`)")},
		{"/slot switch a copy", say(text.SlotSwitched, "A copy (`chat-4`)")},
		{"/slot switch chat-2", say(text.SlotSwitched, "季度 计划 (`chat-2`)")},
		{"/new " + long, say(text.NewSlot, strings.Repeat("很", 59)+"… (`chat-5`)")},
		{"/新会话 “带 引号”", say(text.NewSlot, "带 引号 (`chat-6`)")},
	} {
		if got := r.tell("s"+string(rune('a'+i)), "ann", step.command); got != step.want {
			t.Errorf("%s: %q, want %q", step.command, got, step.want)
		}
	}
	r.say(said("m1", "ann", "hello"))
	r.ends("m1", models.InboundDone)
	if got := r.tell("c1", "ann", "/status"); !strings.Contains(got, "Context: 带 引号 (`chat-6`)\nMessages in it: 2 (") {
		t.Errorf("status: %q", got)
	}
	r.tell("c2", "ann", "/new")
	if got := r.tell("c3", "ann", "/status"); !strings.Contains(got, "Messages in it: 0 (0 tokens)") {
		t.Errorf("status of a fresh context: %q", got)
	}
}
