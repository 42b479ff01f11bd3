package window

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/sessionmgr/prune"
)

// talk is a conversation as it is stored, and what was sent of it last.
type talk struct {
	in    Input // but for what a turn fills in
	read  int
	all   []*models.SessionMessage
	next  int64
	whole bool // all was read, with what it begins with
	start Start
	sent  []Message // empty: what comes next need not go on from it
}

// turn sends what the state comes to, checks it, and stores what a gateway stores. It
// reports whether it went on from what was sent before.
func (c *talk) turn(t *rapid.T, cold bool, observed []*models.SessionMessage, user *models.SessionMessage, answer ...*models.SessionMessage) (wentOn bool) {
	in := c.in
	in.Observed, in.User, in.Start = observed, user, c.start
	if cold {
		in.Start = Start{}
	}
	newest := c.all[max(0, len(c.all)-c.read):]
	if whole := len(newest) < c.read; whole != c.whole {
		if c.whole = whole; len(leading(c.all)) > 0 {
			c.sent = nil // its rules are too far back from now on, or are not any more
		}
	}
	var on bool
	if in.History, on = Since(newest, in.Start.From, in.Limits.MaxMessages, c.read); !on {
		in.Start, in.Cold = Start{}, true
	}
	out, err := Build(in)
	again, errAgain := Build(in)
	if (err == nil) != (errAgain == nil) || mustJSON(t, out) != mustJSON(t, again) {
		t.Fatal("the same state gave two contexts")
	}
	if err != nil {
		if !errors.Is(err, ErrTooLarge) {
			t.Fatal(err)
		}
		return false // the message is refused: nothing is stored
	}
	checkShape(t, out)
	if last := out.Messages[len(out.Messages)-1].Message; last.Role != models.RoleUser || !strings.HasSuffix(last.Content, user.Content) {
		t.Fatalf("the newest user message is not last: %q", last.Content)
	}
	wentOn = on && out.Cut == 0
	bounds := in
	if wentOn {
		bounds.Limits.MaxMessages, bounds.Budget = 0, nil
	}
	checkLimits(t, bounds, out)
	switch sent := c.sent; {
	case len(sent) == 0 || !on && (cold || len(c.all) >= c.read):
	case wentOn && len(out.Messages) > len(sent) && seen(t, out.Messages[:len(sent)]) == seen(t, sent):
	case !on:
		t.Fatal("starts anew while the cache is warm")
	default:
		in.Limits.Window, in.Limits.MaxTokens = 0, 0
		if whole, err := Build(in); err != nil || whole.Tokens <= out.Limit {
			t.Fatalf("%d tokens fit into %d, but it sends\n%s\nafter\n%s", whole.Tokens, out.Limit, seen(t, out.Messages), seen(t, sent))
		}
	}
	c.in.Forms = freeze(c.in.Forms, out.Decisions)
	first := c.append(slices.Concat(observed, list(user), answer)...)
	if c.start = (Start{out.First.Seq, out.Results}); c.start.From == 0 {
		for i, m := range c.all[first:] {
			if m.ID == out.First.ID {
				c.start.From = c.all[first+i].Seq
			}
		}
	}
	c.sent = out.Messages
	return wentOn
}

func (c *talk) append(messages ...*models.SessionMessage) (first int) {
	first = len(c.all)
	for _, m := range messages {
		m = m.Clone()
		c.next++
		m.Seq = c.next
		c.all = append(c.all, m)
	}
	return first
}

// forget forgets where the context started, as a store does when it begins differently.
func (c *talk) forget() { c.start, c.sent = Start{}, nil }

// seen is what a model sees of messages.
func seen(t *rapid.T, messages []Message) string {
	var lines []string
	for _, m := range messages {
		lines = append(lines, mustJSON(t, m.Message.Role, m.Message.Content, m.Message.ToolCalls, m.Message.ToolCallID, m.Message.Images))
	}
	return strings.Join(lines, "\n")
}

func drawTalk(t *rapid.T) *talk {
	c := &talk{read: rapid.IntRange(10, 60).Draw(t, "read"), in: Input{
		SystemPrompt: "p", Pruning: drawPruning(t), Forms: map[int64]prune.Form{}, Named: rapid.Bool().Draw(t, "named"),
		Limits: Limits{
			MaxMessages: rapid.IntRange(0, 12).Draw(t, "maxMessages"),
			MaxTokens:   rapid.SampledFrom([]int{0, 300, 1500, 6000}).Draw(t, "maxTokens"),
			Window:      rapid.SampledFrom([]int{0, 300, 1500, 6000}).Draw(t, "window"),
		},
		Summary: list(system("notes")),
	}}
	c.in.Pruning.Enabled, c.in.Pruning.Mode = true, prune.ModeCacheTTL
	if rapid.Bool().Draw(t, "budgeted") {
		part := func(name string) int { return rapid.SampledFrom([]int{0, 10, 150, 600}).Draw(t, name) }
		c.in.Budget = &models.Budget{System: part("system"), History: part("history"), ToolResults: part("results"), Reserve: part("reserve")}
	}
	for range rapid.IntRange(0, 2).Draw(t, "rules") {
		c.append(system("rule"))
	}
	return c
}

// named gives messages ids, which those that are not stored yet are known by.
func named(messages ...*models.SessionMessage) []*models.SessionMessage {
	for _, m := range messages {
		m.ID = models.NewID("msg")
	}
	return messages
}

// While the cache is warm, each request is the one before with more behind it, unless
// the window is full, whatever happens to the session meanwhile.
func TestContextsGoOnFromTheirStart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawTalk(t)
		text := func(name string, most int) string {
			return strings.Repeat("word ", rapid.IntRange(1, most).Draw(t, name))
		}
		for n := range rapid.IntRange(1, 30).Draw(t, "turns") {
			var observed, answer []*models.SessionMessage
			for range rapid.SampledFrom([]int{0, 0, 0, 1, 5}).Draw(t, "observed") {
				m := user(text("overheard", 20))
				if m.Observed = true; rapid.Bool().Draw(t, "own") {
					m.Role = models.RoleAssistant
				}
				observed = append(observed, m)
			}
			for round := range rapid.SampledFrom([]int{0, 0, 1, 2}).Draw(t, "rounds") {
				var ids []string
				for i := range rapid.IntRange(1, 3).Draw(t, "calls") {
					ids = append(ids, fmt.Sprint(n, "-", round, "-", i))
				}
				answer = append(answer, assistant(rapid.SampledFrom([]string{"", "let me look"}).Draw(t, "said"), ids...))
				for _, id := range ids[:len(ids)-rapid.SampledFrom([]int{0, 0, 0, 1}).Draw(t, "lost")] {
					answer = append(answer, result(id, text("result", 300)))
				}
			}
			answer = append(answer, assistant(text("answer", 40)))
			asked := user(text("question", 40))
			asked.SenderName = "Lin"
			before := len(c.all)
			c.turn(t, rapid.IntRange(0, 4).Draw(t, "age") == 0, named(observed...), named(asked)[0], named(answer...)...)
			switch rapid.SampledFrom([]string{"", "", "", "", "", "", "push", "merge", "undo", "summarise"}).Draw(t, "then") {
			case "push":
				c.append(named(assistant("by the way"))...)
			case "merge":
				c.append(named(system("what was found elsewhere"))...)
			case "undo":
				if len(c.all) == before {
					break
				}
				if c.sent = nil; c.all[before].Seq <= c.start.From {
					c.forget()
				}
				c.all = c.all[:before]
			case "summarise":
				c.all = c.all[min(len(c.all), rapid.IntRange(0, len(c.all)).Draw(t, "through")):]
				c.in.Summary = list(system("notes"), system(fmt.Sprint("summary ", n)))
				c.forget()
			}
		}
	})
}

// A full window costs the cache once in a while, not at each turn.
func TestAFullWindowIsCutWithRoomToGoOn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := &talk{read: 1000, in: Input{SystemPrompt: "p", Forms: map[int64]prune.Form{}, Pruning: prune.Settings{
			Enabled: true, Mode: prune.ModeCacheTTL, SaveToolCalls: true, KeepToolCalls: 100,
		}}}
		c.in.Limits.MaxMessages = rapid.SampledFrom([]int{0, 8, 1000}).Draw(t, "maxMessages")
		if c.in.Limits.Window = 4000; rapid.Bool().Draw(t, "no window") {
			c.in.Limits.Window, c.in.Limits.MaxTokens = 0, 4000
		}
		const turns = 200
		anew := 0
		for range turns {
			words := rapid.IntRange(1, 60).Draw(t, "words") // up to 90 tokens
			if !c.turn(t, false, nil, named(user("question"))[0], named(assistant(strings.Repeat("word ", words)))...) {
				anew++
			}
		}
		if most := 1 + turns/15; anew > most {
			t.Fatalf("%d of %d requests started anew, want %d at most", anew, turns, most)
		}
	})
}
