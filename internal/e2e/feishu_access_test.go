package e2e

import (
	"regexp"
	"strings"
	"testing"

	"github.com/chatkeep/chatkeep/adapters/feishu/feishutest"
	"github.com/chatkeep/chatkeep/gateway/access"
	"github.com/chatkeep/chatkeep/models"
)

func TestFeishuPairing(t *testing.T) {
	w := onFeishu(t)
	w.chat.Access = access.Policy{Direct: access.Pairing, Admins: []string{"ou_root"}}
	w.start()
	tell := func(chat, who, text string) string {
		t.Helper()
		id := w.platform.Say(feishutest.Said{ChatID: chat, From: who, Text: text})
		w.acked(id, 1)
		return id
	}
	w.ends(tell("oc_ann", "ou_ann", "may I?"), models.InboundIgnored)
	w.ends(tell("oc_ann", "ou_ann", "please?"), models.InboundIgnored)
	w.settled()
	w.until("the code is told", func() bool { return len(w.answers()) == 1 })
	code := regexp.MustCompile(`P-[2-9A-Z]{6}`).FindString(w.answers()[0].Text)
	w.ends(tell("oc_root", "ou_root", "/approve "+code), models.InboundDone)
	w.settled()
	w.until("ann is told", func() bool { return len(w.answers()) == 3 })
	w.ends(tell("oc_ann", "ou_ann", "the word is heron"), models.InboundDone)
	if said := prompt(w.asked(1)); !strings.Contains(said, "heron") || strings.Contains(said, "please") {
		t.Errorf("prompt: %s", said)
	}
}

// The platform tells who wrote a quoted message that the bot never got.
func TestFeishuQuoteOfSomebodyDenied(t *testing.T) {
	w := onFeishu(t)
	w.chat.Access.DenyUsers = []string{"ou_eve"}
	w.platform.AddChat(group, feishutest.Group, "Group")
	w.start()
	eves := w.platform.Say(feishutest.Said{ChatID: group, From: "ou_eve", Text: "canary of eve", Quiet: true})
	bobs := w.platform.Say(feishutest.Said{ChatID: group, From: "ou_bob", Text: "words of bob", Quiet: true})
	for i, quoted := range []string{eves, bobs} {
		w.ends(w.tell(feishutest.Said{From: "ou_ann", Text: "what is that?", Mention: true, ReplyTo: quoted}), models.InboundDone)
		said := prompt(w.asked(i + 1))
		if strings.Contains(said, "canary of eve") {
			t.Errorf("prompt: %s", said)
		}
		if i == 1 && !strings.Contains(said, "words of bob") {
			t.Errorf("the quote is missing: %s", said)
		}
	}
}
