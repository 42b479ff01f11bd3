package prune

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chatkeep/chatkeep/models"
)

// script writes a history: u and a are a user's and an assistant's text, s a system
// message, cN a group of one call whose result has N characters, "cN+M" one of two,
// "CN" a call whose large argument has N characters, and "tcN" a call beside a text.
func script(text string) []*models.SessionMessage {
	var out []*models.SessionMessage
	add := func(m *models.SessionMessage) {
		m.Seq = int64(len(out) + 1)
		out = append(out, m)
	}
	said := map[string]*models.SessionMessage{
		"u": {Role: models.RoleUser, Content: "question"}, "a": {Role: models.RoleAssistant, Content: "answer"}, "s": {Role: models.RoleSystem, Content: "rules"},
	}
	for word := range strings.FieldsSeq(text) {
		if m := said[word]; m != nil {
			add(m.Clone())
			continue
		}
		call, arguments := &models.SessionMessage{Role: models.RoleAssistant}, `{"path":"p"}`
		word, beside := strings.CutPrefix(word, "t")
		if beside {
			call.Content = "let me look"
		}
		if size, large := strings.CutPrefix(word, "C"); large {
			arguments, word = `{"path":"p","content":"`+repeated("字", size)+`"}`, "c1"
		}
		var results []*models.SessionMessage
		for size := range strings.SplitSeq(word[1:], "+") {
			id := fmt.Sprint("call", len(out), "-", len(results))
			call.ToolCalls = append(call.ToolCalls, models.ToolCall{ID: id, Name: "tool", Arguments: arguments})
			results = append(results, &models.SessionMessage{Role: models.RoleTool, ToolCallID: id, Content: repeated("果", size)})
		}
		add(call)
		for _, m := range results {
			add(m)
		}
	}
	return out
}

func repeated(s, times string) string {
	n, err := strconv.Atoi(times)
	if err != nil {
		panic(err)
	}
	return strings.Repeat(s, n)
}

// line writes what a plan shows: seqs, with + for soft and - for hard.
func line(p Plan) string {
	var out []string
	for _, s := range p.Shown {
		out = append(out, fmt.Sprint(s.Stored.Seq)+map[Pruned]string{Not: "", Soft: "+", Hard: "-"}[s.Pruned])
	}
	return strings.Join(out, " ")
}

func whys(p Plan) string {
	var out []string
	for _, d := range p.Fresh {
		out = append(out, fmt.Sprintf("%d %s %s", d.Seq, d.Form.Pruned, d.Why))
	}
	return strings.Join(out, ", ")
}

func settings(mode Mode) Settings {
	return Settings{Enabled: true, Mode: mode, KeepRecent: 3, MaxResultSize: 100, SaveToolCalls: true, KeepToolCalls: 3, CacheTTL: 5 * time.Minute}
}

func TestRun(t *testing.T) {
	const talk = "u c500 a u c50 a u c500 a" // calls at 2, 6, 10
	off, none, one := settings(ModeSoft), settings(ModeSoft), settings(ModeSoft)
	off.Enabled, none.SaveToolCalls, one.KeepToolCalls = false, false, 1
	noRecent := settings(ModeSoft)
	noRecent.KeepRecent = 0
	coldOne := settings(ModeCacheTTL)
	coldOne.KeepToolCalls = 1
	for name, c := range map[string]struct {
		talk      string
		in        Input
		want, why string
	}{
		"soft":               {talk, Input{Settings: settings(ModeSoft)}, "1 2 3+ 4 5 6 7 8 9 10 11 12", "3 soft long_result"},
		"soft, none recent":  {talk, Input{Settings: noRecent}, "1 2 3+ 4 5 6 7 8 9 10 11+ 12", "3 soft long_result, 11 soft long_result"},
		"off":                {talk, Input{Settings: off}, "1 2 3 4 5 6 7 8 9 10 11 12", ""},
		"off, ahead":         {talk, Input{Settings: off, Ahead: true}, "1 2 3+ 4 5 6 7 8 9 10 11 12", "3 soft long_result"},
		"off, frozen":        {talk, Input{Settings: off, Forms: map[int64]Form{3: {Soft, "x"}}}, "1 2 3+ 4 5 6 7 8 9 10 11 12", ""},
		"arguments":          {"u C500 a u a u", Input{Settings: settings(ModeSoft)}, "1 2+ 3 4 5 6 7", "2 soft long_arguments"},
		"hard, as built":     {talk, Input{Settings: settings(ModeHard)}, "1 2 3 4 5 6 7 8 9 10 11 12", ""},
		"hard, ahead":        {talk, Input{Settings: settings(ModeHard), Ahead: true}, "1 2 3- 4 5 6 7- 8 9 10 11 12", "3 hard old_result, 7 hard old_result"},
		"no calls":           {talk, Input{Settings: none}, "1 4 5 8 9 12", "2 omitted tool_calls_none, 6 omitted tool_calls_none, 10 omitted tool_calls_none"},
		"one call":           {talk, Input{Settings: one}, "1 4 5 8 9 10 11 12", "2 omitted tool_calls, 6 omitted tool_calls"},
		"text stays":         {"u tc5 a u", Input{Settings: none}, "1 2- 4 5", "2 omitted tool_calls_none"},
		"warm":               {talk, Input{Settings: coldOne}, "1 2 3 4 5 6 7 8 9 10 11 12", ""},
		"warm, ahead":        {talk, Input{Settings: coldOne, Ahead: true}, "1 2 3 4 5 6 7 8 9 10 11 12", ""},
		"warm again":         {talk, Input{Settings: coldOne, Forms: map[int64]Form{2: {Omitted, ""}, 7: {Soft, "x"}}}, "1 4 5 6 7+ 8 9 10 11 12", ""},
		"cold":               {talk, Input{Settings: coldOne, Cold: true}, "1 4 5 8 9 10 11 12", "2 omitted tool_calls, 6 omitted tool_calls"},
		"cold, room":         {talk, Input{Settings: settings(ModeCacheTTL), Cold: true, Room: 2000}, "1 2 3+ 4 5 6 7 8 9 10 11 12", "3 soft long_result"},
		"cold, little room":  {talk, Input{Settings: settings(ModeCacheTTL), Cold: true, Room: 700}, "1 2 3- 4 5 6 7 8 9 10 11 12", "3 hard half_window"},
		"cold, no room":      {talk, Input{Settings: settings(ModeCacheTTL), Cold: true, Room: 1}, "1 2 3- 4 5 6 7- 8 9 10 11 12", "3 hard half_window, 7 hard half_window"},
		"a form is kept":     {talk, Input{Settings: settings(ModeCacheTTL), Cold: true, Room: 1, Forms: map[int64]Form{3: {Soft, "x"}}}, "1 2 3+ 4 5 6 7- 8 9 10 11 12", "7 hard half_window"},
		"recent part":        {"u c500+500+500 a", Input{Settings: settings(ModeSoft)}, "1 2 3+ 4 5 6", "3 soft long_result"},
		"system not counted": {"u c500 s a u", Input{Settings: settings(ModeSoft)}, "1 2 3 4 5 6", ""},
	} {
		t.Run(name, func(t *testing.T) {
			c.in.Messages = script(c.talk)
			got := Run(c.in)
			if line(got) != c.want || whys(got) != c.why {
				t.Errorf("shows %s, %s\nwant  %s, %s", line(got), whys(got), c.want, c.why)
			}
		})
	}
}

func TestForms(t *testing.T) {
	in := Input{Messages: script("u C500 c500 a u a u"), Settings: settings(ModeSoft)}
	plan := Run(in)
	call, result := plan.Shown[1].Message, plan.Shown[4].Message
	if a := call.ToolCalls[0].Arguments; !strings.HasPrefix(a, `{"path":"p","content":"字`) || len(a) > 350 || !strings.Contains(a, "500") {
		t.Errorf("arguments are %s", a)
	}
	if !strings.Contains(result.Content, "500") || len([]rune(result.Content)) != 100 {
		t.Errorf("result is %s", result.Content)
	}
	if d := plan.Fresh[0]; d.Size != 525 || d.Now >= d.Size || d.Role != models.RoleAssistant {
		t.Errorf("%+v", d)
	}
	if d := plan.Fresh[1]; d.Size != 500 || d.Now != 100 || d.Role != models.RoleTool {
		t.Errorf("%+v", d)
	}
	reasoning := "hm"
	m := &models.SessionMessage{Role: models.RoleAssistant, Content: "text", ToolCalls: call.ToolCalls, Reasoning: &reasoning}
	Form{Pruned: Omitted}.Apply(m)
	if m.ToolCalls != nil || m.Reasoning != nil || m.Content != "text" {
		t.Errorf("%+v", m)
	}
	picture := &models.SessionMessage{Role: models.RoleTool, Images: []string{"data:"}}
	if f, ok := hardResult(picture); !ok {
		t.Error("a picture is not cleared")
	} else if f.Apply(picture); picture.Images != nil || picture.Content != Cleared {
		t.Errorf("%+v", picture)
	}
	for _, content := range []string{"", Cleared} {
		if _, ok := hardResult(&models.SessionMessage{Role: models.RoleTool, Content: content}); ok {
			t.Errorf("%q is cleared", content)
		}
	}
	bad := &models.SessionMessage{Role: models.RoleAssistant, ToolCalls: []models.ToolCall{{Arguments: "{}"}}}
	for _, content := range []string{"", "[]", `["a","b"]`, "{"} {
		Form{Soft, content}.Apply(bad)
		if bad.ToolCalls[0].Arguments != "{}" {
			t.Errorf("%q was applied", content)
		}
	}
}

func TestCold(t *testing.T) {
	s, now := settings(ModeCacheTTL), time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for age, want := range map[time.Duration]bool{0: false, 5 * time.Minute: false, 5*time.Minute + time.Microsecond: true} {
		if got := s.Cold(now.Add(-age), now); got != want {
			t.Errorf("after %s: %v", age, got)
		}
	}
	if !s.Cold(time.Time{}, now) {
		t.Error("an unknown age counts as young")
	}
}

func TestBeyond(t *testing.T) {
	for _, c := range []struct {
		talk string
		most int
		want int64
	}{
		{"u a u a", 0, 0},
		{"u a u a", 4, 0},
		{"u a u a", 3, 1},
		{"u a u a", 1, 3},
		{"u c1+1 a u a", 3, 4},
		{"u c1+1 a u a", 4, 1},
		{"u c1+1 a u a", 5, 1},
		{"u c1+1 a u a", 6, 1},
		{"u c1+1 a u a", 7, 0},
		{"c1 u", 2, 0},
	} {
		if got := Beyond(script(c.talk), c.most); got != c.want {
			t.Errorf("%s beyond %d: through %d, want %d", c.talk, c.most, got, c.want)
		}
	}
	cut := script("u c1+1 a")
	if got := Beyond(slices.Delete(cut, 0, 2), 2); got != 0 {
		t.Errorf("a group whose start is not known is cut at %d", got)
	}
}
