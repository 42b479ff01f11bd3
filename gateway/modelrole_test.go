package gateway_test

import (
	"strings"
	"testing"

	"github.com/chatkeep/chatkeep/gateway/command"
	"github.com/chatkeep/chatkeep/internal/text"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/sessionmgr/key"
)

// settingsRig is a rig whose agent has models, and that has roles.
func settingsRig(t *testing.T) *rig {
	t.Helper()
	r := newRig(t)
	r.chat.Access.Admins = []string{"boss"}
	agent := r.settings.Agents["assistant"]
	agent.Model, agent.Models, agent.SystemPrompt = "small", []string{"Big", "small"}, "Be plain."
	r.settings.Agents["assistant"] = agent
	r.settings.Roles = []command.Role{
		{ID: "poet", Title: "Poet", TitleZh: "诗人", Tags: []string{"fun"}, Prompt: "You rhyme.", Examples: []string{"a rose"}},
		{ID: "lawyer", Title: "Lawyer", Tags: []string{"work"}, Prompt: "You are precise."},
	}
	return r
}

func TestModelCommand(t *testing.T) {
	t.Parallel()
	r := settingsRig(t)
	r.start()
	tell := func(id, user, command string) string {
		t.Helper()
		r.say(whisper(id, user, command))
		return r.ends(id, models.InboundDone).Reply.Content
	}
	say := func(id text.ID, args ...any) string { return text.Say(text.English, id, args...) }
	if got := tell("c1", "ann", "/model"); got != say(text.ModelShown, "small", "- `small` ✓\n- `Big`") {
		t.Errorf("/model says %q", got)
	}
	if got := tell("c2", "ann", "/model huge"); got != say(text.ModelUnknown, "huge", "- `small`\n- `Big`") {
		t.Errorf("/model huge says %q", got)
	}
	if got := tell("c3", "ann", "/model big"); got != say(text.ModelChosen, "Big") {
		t.Errorf("/model big says %q", got)
	}
	r.say(whisper("m1", "ann", "hello"))
	r.ends("m1", models.InboundDone)
	if got := r.mind.last().Model; got != "Big" {
		t.Errorf("the turn's model is %q", got)
	}
	r.say(whisper("m2", "bob", "hello"))
	r.ends("m2", models.InboundDone)
	if got := r.mind.last().Model; got != "" {
		t.Errorf("another session's model is %q", got)
	}
	if got := tell("c4", "ann", "/status"); !strings.Contains(got, "Model: Big\n") {
		t.Errorf("/status says %q", got)
	}
	if got := tell("c5", "ann", "/model default"); got != say(text.ModelReset, "small") {
		t.Errorf("/model default says %q", got)
	}
	r.say(whisper("m3", "ann", "hello"))
	r.ends("m3", models.InboundDone)
	if got := r.mind.last().Model; got != "" {
		t.Errorf("the turn's model is %q", got)
	}
	if got := r.tell("c6", "ann", "/model Big"); got != say(text.NeedsAdmin) { // in the group
		t.Errorf("/model in a group says %q", got)
	}
	if got := r.tell("c7", "boss", "/模型 Big"); got != say(text.ModelChosen, "Big") {
		t.Errorf("the administrator is told %q", got)
	}
}

func TestRoleCommand(t *testing.T) {
	t.Parallel()
	r := settingsRig(t)
	r.start()
	say := func(id text.ID, args ...any) string { return text.Say(text.English, id, args...) }
	usage := say(text.RoleUsage)
	for i, step := range []struct{ user, command, want string }{
		{"ann", "/role", say(text.RoleTitle) + "\n- `poet` Poet #fun\n- `lawyer` Lawyer #work\n" + usage},
		{"ann", "/role list #work", say(text.RoleTitle) + "\n- `lawyer` Lawyer #work\n" + usage},
		{"ann", "/role list none", say(text.RoleNone)},
		{"ann", "/role show poet", "**Poet** (`poet`)\nYou rhyme.\n" + say(text.RoleExamples) + "\n- a rose"},
		{"ann", "/role use poet", say(text.NeedsAdmin)},
		{"boss", "/role use clown", say(text.RoleMissing, "clown")},
		{"boss", "/角色 使用 诗人", say(text.RoleUsed, "Poet") + "\n" + say(text.RoleExamples) + "\n- a rose"},
		{"ann", "/role list fun", say(text.RoleTitle) + "\n- `poet` Poet #fun ✓\n" + usage},
		{"ann", "/role dance", usage},
		{"ann", "/role use", usage},
		{"ann", "/role default", say(text.NeedsAdmin)},
	} {
		if got := r.tell("r"+string(rune('a'+i)), step.user, step.command); got != step.want {
			t.Errorf("%s by %s: %q, want %q", step.command, step.user, got, step.want)
		}
	}
	prompt := func() string { return r.mind.last().Messages[0].Content }
	r.say(said("m1", "ann", "hello"))
	r.ends("m1", models.InboundDone)
	if got := prompt(); got != "You rhyme." {
		t.Errorf("the prompt is %q", got)
	}
	r.tell("c1", "boss", "/role default")
	r.say(said("m2", "ann", "hello"))
	r.ends("m2", models.InboundDone)
	if got := prompt(); got != "Be plain." {
		t.Errorf("the prompt is %q", got)
	}
}

func TestHelpOfTheOperator(t *testing.T) {
	t.Parallel()
	r := settingsRig(t)
	r.settings.Help = map[text.Lang]string{text.English: "Ask the office.\n{{commands}}", text.Chinese: "请联系办公室。"}
	r.chat.Language = "auto"
	r.start()
	if got := r.tell("c1", "ann", "/help"); !strings.HasPrefix(got, "Ask the office.\n- `/help`: ") || !strings.Contains(got, "`/approve CODE [no]`") {
		t.Errorf("/help says %q", got)
	}
	if got := r.tell("c2", "ann", "帮助"); got != "请联系办公室。" {
		t.Errorf("帮助 says %q", got)
	}
}

// In a session that is one person's alone /stop ends all of it, also what that person
// said on another channel.
func TestStopOfAPersonOnTwoChannels(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var err error
	if r.settings.Identities, err = key.NewIdentities(map[string][]string{"ann": {"chat/main/ann", "chat/main/ann2"}}); err != nil {
		t.Fatal(err)
	}
	r.start()
	r.say(whisper("m1", "ann", hold))
	r.running(hold)
	r.say(whisper("c1", "ann2", "/stop"))
	if got := r.ends("c1", models.InboundDone).Reply.Content; got != text.Say(text.English, text.Stopped, 1) {
		t.Errorf("/stop says %q", got)
	}
	r.ends("m1", models.InboundCancelled)
}
