package compact

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/chatkeep/chatkeep/models"
)

func TestCutKeepsWhatItMust(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		history := drawHistory(t)
		keep := rapid.IntRange(0, 20).Draw(t, "keep")
		fit := rapid.SampledFrom([]int{0, 50, 500, 20000}).Draw(t, "fit")
		cut := Cut(history, keep, fit)
		kept := history[cut:]
		if len(history) > 0 && len(kept) == 0 {
			t.Fatal("nothing is kept")
		}
		if wrong := whole(kept); wrong != "" {
			t.Fatalf("cut at %d: %s", cut, wrong)
		}
		newest := -1
		for i, m := range history {
			if m.Role == models.RoleUser {
				newest = i
			}
		}
		if newest >= 0 && cut > newest {
			t.Fatalf("cut at %d: the newest user message is %d", cut, newest)
		}
		if last := lastTurn(history); cut > last {
			t.Fatalf("cut at %d: the newest turn begins at %d", cut, last)
		}
		crowded := fit > 0 && tokensOf(history[Cut(history, keep, 0):]) > fit
		if !crowded && cut > 0 && len(kept) < keep {
			t.Fatalf("cut at %d of %d: less than %d are kept", cut, len(history), keep)
		}
		if crowded && tokensOf(kept) > fit && cut < lastTurn(history) {
			t.Fatalf("cut at %d: %d tokens are kept, %d fit", cut, tokensOf(kept), fit)
		}
		// Once what may go is gone, nothing more goes.
		if again := Cut(kept, keep, fit); !crowded && again > 0 && len(kept)-again < keep {
			t.Fatalf("a second cut at %d of %d", again, len(kept))
		}
	})
}

// sketch makes a history of one letter per message: u(ser), a(ssistant), c(all),
// t(ool result), s(ystem). Every message has ten tokens.
func sketch(letters string) []*models.SessionMessage {
	roles := map[rune]models.Role{'u': models.RoleUser, 'a': models.RoleAssistant, 'c': models.RoleAssistant, 't': models.RoleTool, 's': models.RoleSystem}
	var out []*models.SessionMessage
	for i, l := range letters {
		m := &models.SessionMessage{Seq: int64(i + 1), Role: roles[l], Content: string(l), TokenCount: 10}
		if l == 'c' {
			m.ToolCalls = []models.ToolCall{{ID: "call", Name: "tool"}}
		}
		out = append(out, m)
	}
	return out
}

func TestCut(t *testing.T) {
	for _, c := range []struct {
		history   string // a bar where the cut belongs
		keep, fit int
	}{
		{"", 10, 0},
		{"uaua", 10, 0},
		{"|ua", 0, 0}, // the newest turn stays
		{"ua|ua", 0, 0},
		{"uaua|uaua", 3, 0},            // three would split a turn
		{"ua|ucttcta", 2, 0},           // nor are two of its last turn enough
		{"ua|uua", 1, 0},               // what was overheard belongs to the turn
		{"uctctctctctt|ctctaua", 7, 0}, // no turn begins early enough: at a group
		{"uaua", 3, 0},                 // but a short one is not taken apart
		{"ua|uaaa", 0, 0},              // what was pushed since does not count
		{"aaaaaa|aa", 2, 0},            // pushed texts alone
		{"aaaa|aaua", 4, 0},            // and before the only turn
		{"ua|uauaua", 6, 60},           // what is kept may take all of the room
		{"uauaua|ua", 6, 50},           // but if it takes more, half of it stays free
		{"uaua|ucttta", 6, 20},         // the newest turn stays, however large
		{"sua|ua", 2, 0},               //
		{"uauauauauaua|uaua", 4, 0},    //
	} {
		want := max(0, strings.IndexByte(c.history, '|'))
		letters := strings.ReplaceAll(c.history, "|", "")
		if got := Cut(sketch(letters), c.keep, c.fit); got != want {
			t.Errorf("%s keeping %d in %d: cut at %d", c.history, c.keep, c.fit, got)
		}
	}
}

func TestDue(t *testing.T) {
	for _, c := range []struct {
		messages, tokens int
		want             bool
	}{{20, 80_000, true}, {19, 80_000, false}, {20, 79_999, false}, {500, 200_000, true}} {
		if got := Due(c.messages, c.tokens, 20, 100_000, 0.8); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}
