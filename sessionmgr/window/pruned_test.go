package window

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/sessionmgr/prune"
)

func drawPruning(t *rapid.T) prune.Settings {
	return prune.Settings{
		Enabled:       rapid.Bool().Draw(t, "enabled"),
		Mode:          rapid.SampledFrom([]prune.Mode{prune.ModeSoft, prune.ModeHard, prune.ModeCacheTTL}).Draw(t, "mode"),
		KeepRecent:    rapid.IntRange(0, 8).Draw(t, "keepRecent"),
		MaxResultSize: rapid.SampledFrom([]int{0, 1, 40, 200}).Draw(t, "maxResultSize"),
		SaveToolCalls: rapid.Bool().Draw(t, "saveToolCalls"), KeepToolCalls: rapid.IntRange(0, 4).Draw(t, "keepToolCalls"),
	}
}

// freeze adds decisions to a state as a store does.
func freeze(forms map[int64]prune.Form, decided []prune.Decision) map[int64]prune.Form {
	out := maps.Clone(forms)
	if out == nil {
		out = map[int64]prune.Form{}
	}
	for _, d := range decided {
		if _, has := out[d.Seq]; !has || d.Form.Pruned == prune.Omitted {
			out[d.Seq] = d.Form
		}
	}
	return out
}

// Once decisions are stored, the same context comes of them, also while the cache is
// warm or pruning is off, and there is nothing left to decide.
func TestStoredDecisionsAreReplayed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawInput(t)
		out, err := Build(in)
		if err != nil {
			return
		}
		for _, d := range out.Decisions {
			if d.Role != models.RoleTool && d.Role != models.RoleAssistant {
				t.Fatalf("message %d of a %s is pruned", d.Seq, d.Role)
			}
		}
		in.Forms = freeze(in.Forms, out.Decisions)
		same := func(what string) {
			again, err := Build(in)
			if err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			if len(again.Decisions) > 0 {
				t.Fatalf("%s: decides %v again", what, again.Decisions)
			}
			if in.Start.From > 0 { // what is before it was left out of the history, too
				again.Omitted = out.Omitted
			}
			if got, want := mustJSON(t, again.Messages, again.Omitted), mustJSON(t, out.Messages, out.Omitted); got != want {
				t.Fatalf("%s:\n%s\nbefore:\n%s", what, got, want)
			}
		}
		same("again")
		if in.Pruning.Keeps() && in.Cold { // limits follow other rules here
			if in.Focus == nil && out.First != nil && out.First.Seq > 0 {
				in.History, _ = Since(in.History, out.First.Seq, 0, len(in.History)+1)
				in.Cold, in.Start = false, Start{out.First.Seq, out.Results}
				same("warm")
			}
			return
		}
		in.Pruning.Enabled, in.Ahead = false, false
		same("off")
		in.Pruning.Enabled, in.Pruning.Mode, in.Cold = true, prune.ModeCacheTTL, false
		same("warm")
	})
}

// While the cache is warm, what was sent before is the beginning of what is sent now.
func TestAWarmCacheKeepsItsPrefix(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := Input{SystemPrompt: "p", Pruning: drawPruning(t), Forms: map[int64]prune.Form{}, Limits: Limits{Window: 100_000}}
		in.Pruning.Enabled, in.Pruning.Mode = true, prune.ModeCacheTTL
		var before []Message
		for turn := range rapid.IntRange(1, 8).Draw(t, "turns") {
			in.Cold = turn == 0 || rapid.IntRange(0, 3).Draw(t, "age") == 0
			out, err := Build(in)
			if err != nil {
				t.Fatal(err)
			}
			if !in.Cold {
				if len(out.Decisions) > 0 || len(out.Messages) < len(before) {
					t.Fatalf("turn %d: %d decisions, %d messages after %d", turn, len(out.Decisions), len(out.Messages), len(before))
				}
				if got, want := mustJSON(t, out.Messages[:len(before)]), mustJSON(t, before); got != want {
					t.Fatalf("turn %d sends\n%s\nafter\n%s", turn, got, want)
				}
			}
			before = out.Messages
			in.Forms = freeze(in.Forms, out.Decisions)
			say := func(m *models.SessionMessage) {
				m.Seq = int64(len(in.History) + 1)
				in.History = append(in.History, m)
			}
			say(user("question"))
			for n := range rapid.IntRange(0, 3).Draw(t, "rounds") {
				id := fmt.Sprint(turn, "-", n)
				say(assistant(rapid.SampledFrom([]string{"", "let me look"}).Draw(t, "said"), id))
				say(result(id, strings.Repeat("x", rapid.IntRange(0, 500).Draw(t, "size"))))
			}
			say(assistant("answer"))
		}
	})
}

// Never more groups of calls than are to be kept, and what people said stays.
func TestOnlyToolCallsArePruned(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawInput(t)
		in.Limits, in.Budget, in.Summary = Limits{}, nil, nil
		plain := in
		plain.Pruning, plain.Forms, plain.Ahead = prune.Settings{}, nil, false
		pruned, whole := built(t, in), built(t, plain)
		if got, want := said(pruned), said(whole); got != want {
			t.Fatalf("says %q instead of %q", got, want)
		}
		calls := 0
		for _, m := range pruned.Messages {
			if len(m.Message.ToolCalls) > 0 {
				calls++
			}
		}
		keep := in.Pruning.KeepToolCalls
		if !in.Pruning.SaveToolCalls {
			keep = 0
		}
		if decides := in.Ahead || in.Pruning.Enabled; decides && (in.Cold || in.Pruning.Mode != prune.ModeCacheTTL) && calls > keep {
			t.Fatalf("%d groups of calls, %d are kept", calls, keep)
		}
		if pruned.Tokens > whole.Tokens && in.Pruning.Mode != prune.ModeHard && in.Forms == nil && in.Pruning.MaxResultSize >= 40 && counted(in.History) == 0 {
			t.Fatalf("grew from %d to %d tokens\n%s\n%s", whole.Tokens, pruned.Tokens, show(whole), show(pruned))
		}
	})
}

func built(t *rapid.T, in Input) *Output {
	out, err := Build(in)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// said is all that is not of a tool, without what only makes a context start validly.
// System messages that come to stand side by side are one.
func said(out *Output) string {
	var all []string
	previous := models.Role("")
	for _, m := range out.Messages {
		if m.Message.Role == models.RoleTool || m.Message.Content == Opener || strings.TrimSpace(m.Message.Content) == "" {
			continue
		}
		if role := m.Message.Role; role == models.RoleSystem && previous == role {
			all[len(all)-1] += "\n\n" + m.Message.Content
		} else {
			all = append(all, string(role)+" "+m.Message.Content)
		}
		previous = m.Message.Role
	}
	return strings.Join(all, "|")
}

// counted counts messages whose tokens a provider counted.
func counted(messages []*models.SessionMessage) (n int) {
	for _, m := range messages {
		if m.TokenCount > 0 {
			n++
		}
	}
	return n
}
