package e2e

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/chatkeep/chatkeep/adapters/feishu/feishutest"
	"github.com/chatkeep/chatkeep/models"
)

func TestFeishuBotThatIsAddedSaysWelcomeOnce(t *testing.T) {
	w := onFeishu(t)
	w.start()
	w.platform.AddBot(group, "Group", "ou_admin")
	w.until("the bot says welcome", func() bool { return len(w.answers()) == 1 })
	if v := w.answers()[0]; v.ChatID != group || !strings.Contains(v.Text, "/help") {
		t.Errorf("the bot says %q in %s", v.Text, v.ChatID)
	}
}

func TestFeishuRedeliveredBotAddedSaysWelcomeOnce(t *testing.T) {
	w := onFeishu(t)
	w.start()
	w.platform.AddChat(group, feishutest.Group, "Group")
	added := w.platform.Envelope("im.chat.member.bot.added_v1", "ev_added", map[string]any{
		"chat_id": group, "name": "Group", "operator_id": map[string]string{"open_id": "ou_admin"},
	})
	for range 5 {
		w.platform.PushRaw(added)
	}
	w.until("all are acknowledged", func() bool { return w.platform.Unacknowledged() == 0 })
	w.settled()
	if n := len(w.answers()); n != 1 {
		t.Errorf("the bot said welcome %d times", n)
	}
}

func TestFeishuDeliveriesStopWhenTheBotIsRemoved(t *testing.T) {
	w := onFeishu(t)
	release := w.hold()
	w.platform.AddChat(group, feishutest.Group, "Group")
	w.start()
	w.platform.Inject(feishutest.Fault{Match: "/reply", Code: 99991400, Status: 429, Header: map[string]string{"x-ogw-ratelimit-reset": "600"}})
	id := w.platform.Say(feishutest.Said{ChatID: group, Text: "hello", Mention: true})
	w.asked(1)
	release()
	w.ends(id, models.InboundDone)
	w.stored("the answer was refused", func() bool { all := w.deliveries(); return len(all) == 1 && all[0].Error != "" })
	w.platform.RemoveBot(group, "ou_admin")
	w.stored("the delivery is given up", func() bool { return w.deliveries()[0].State != models.DeliveryPending })
	if n := len(w.platform.Calls("/reply")); n != 1 {
		t.Errorf("%d attempts", n)
	}
}

// picture is the smallest thing that is a PNG by its first bytes.
var picture = feishutest.Blob{ContentType: "image/png", Name: "shot.png", Data: []byte("\x89PNG\r\n\x1a\nrest")}

// screenshot is a post with words and a picture.
func screenshot(key string) feishutest.Said {
	content, _ := json.Marshal(map[string]any{"title": "", "content": [][]map[string]string{
		{{"tag": "text", "text": "what is wrong here?"}}, {{"tag": "img", "image_key": key}},
	}})
	return feishutest.Said{ChatID: "oc_direct", Type: "post", Content: string(content)}
}

func TestFeishuPictureInAPostReachesTheModel(t *testing.T) {
	w := onFeishu(t)
	w.platform.AddBlob("img_shot", picture)
	w.start()
	w.platform.Say(screenshot("img_shot"))
	user := w.asked(1).Last("user")
	parts, err := user.Parts()
	if err != nil {
		t.Fatalf("the message has no parts: %s", user.Content)
	}
	seen := false
	for _, p := range parts {
		seen = seen || p.ImageURL != nil && strings.HasPrefix(p.ImageURL.URL, "data:image/png;base64,")
	}
	if !seen || !strings.Contains(user.Text(), "what is wrong here?") {
		t.Errorf("the model got %s", user.Content)
	}
	w.settled()
	w.lost()
}

func TestFeishuPictureThatCannotBeFetchedIsToldToTheModel(t *testing.T) {
	w := onFeishu(t)
	w.platform.Inject(feishutest.Fault{Match: "/resources/", Times: -1, Status: 403, Code: 234009, Msg: "no permission"})
	w.start()
	id := w.platform.Say(screenshot("img_shot"))
	if said := w.asked(1).Last("user").Text(); !strings.Contains(said, "could not be read") {
		t.Errorf("the model got %q", said)
	}
	w.settled()
	w.answeredOnce(id)
}
