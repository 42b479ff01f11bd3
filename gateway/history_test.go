package gateway_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/chatkeep/chatkeep/internal/text"
	"github.com/chatkeep/chatkeep/models"
)

// asks runs a command and returns its answer.
func (r *rig) asks(id, user, command string) string {
	r.t.Helper()
	r.say(said(id, user, command))
	return r.ends(id, models.InboundDone).Reply.Content
}

func TestHistoryShowsAndFinds(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.chat.Language = "auto"
	r.start()
	if got := r.asks("c0", "ann", "/history"); got != text.Say(text.English, text.HistoryEmpty) {
		t.Errorf("of a session without messages: %q", got)
	}
	if got := r.asks("c1", "ann", "/历史 部署"); got != text.Say(text.Chinese, text.HistoryNothing) {
		t.Errorf("in a session without messages: %q", got)
	}
	for i := range 8 {
		id := fmt.Sprintf("m%d", i)
		r.say(said(id, "lin", fmt.Sprintf("明天第 %d 次部署\n到 Staging", i)))
		r.ends(id, models.InboundDone)
	}
	other := said("o1", "lin", "明天部署别处")
	other.Chat.ID = "elsewhere"
	r.say(other)
	r.ends("o1", models.InboundDone)

	newest := strings.Split(r.asks("c2", "ann", "历史"), "\n")
	if len(newest) != 11 || newest[0] != text.Say(text.Chinese, text.HistoryNewest) ||
		!strings.HasSuffix(newest[10], " 助手: re: 明天第 7 次部署 到 Staging") || !strings.HasSuffix(newest[9], " Name of lin: 明天第 7 次部署 到 Staging") {
		t.Errorf("the newest are %q", newest)
	}
	found := strings.Split(r.asks("c3", "ann", "/history STAGING 第"), "\n")
	if len(found) != 12 || found[0] != text.Say(text.Chinese, text.HistoryFound) || !strings.HasSuffix(found[1], " 助手: re: 明天第 7 次部署 到 Staging") ||
		found[11] != text.Say(text.Chinese, text.HistoryMore) {
		t.Errorf("found %q", found)
	}
	if got := r.asks("c4", "ann", "/history 第 3"); strings.Count(got, "\n") != 2 || strings.Contains(got, "……") {
		t.Errorf("found %q", got)
	}
	if got := r.asks("c5", "ann", "/history 别处"); got != text.Say(text.Chinese, text.HistoryNothing) {
		t.Errorf("of another session: %q", got)
	}
	if got := r.asks("c6", "ann", "/history "+strings.Repeat("x ", 30)); got != text.Say(text.English, text.HistoryNothing) { // one word, often
		t.Errorf("of one word: %q", got)
	}
	if got := r.asks("c7", "ann", "/history a b c d e f g h i j k l"); !strings.HasPrefix(got, "That is too much") {
		t.Errorf("of many words: %q", got)
	}
}

// A long message is shown around the word, one in another slot with its name, and one
// that was copied there once.
func TestHistoryIsShortAndOfAllSlots(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.chat.Access.Admins = []string{"lin"}
	r.start()
	r.say(said("m1", "lin", strings.Repeat("long ", 500)+"needle "+strings.Repeat("tail ", 500)))
	r.ends("m1", models.InboundDone)
	r.asks("c1", "lin", "/slot derive branch")
	r.asks("c2", "lin", "/slot switch branch")
	r.asks("c3", "lin", "/new side")
	lines := strings.Split(r.asks("c4", "lin", "/history Needle"), "\n")
	if len(lines) != 3 {
		t.Fatalf("found %q", lines)
	}
	for _, l := range lines[1:] {
		if !strings.Contains(l, "needle") || !strings.Contains(l, " `branch` ") || utf8.RuneCountInString(l) > 180 {
			t.Errorf("line %q", l)
		}
	}
	r.asks("c5", "lin", "/slot switch default")
	r.asks("c6", "lin", "/undo")
	r.asks("c7", "lin", "/slot delete branch")
	if got := r.asks("c8", "lin", "/history needle"); got != text.Say(text.English, text.HistoryNothing) {
		t.Errorf("what is gone is found: %q", got)
	}
}
