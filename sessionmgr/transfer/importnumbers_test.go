package transfer_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chatkeep/chatkeep/internal/tokens"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/sessionmgr/transfer"
	"github.com/chatkeep/chatkeep/store"
)

// A document is not believed what cannot be: how full a context is depends on it.
func TestImportCountsTokens(t *testing.T) {
	thought := strings.Repeat("hm ", 400)
	user := models.SessionMessage{Role: models.RoleUser, Content: strings.Repeat("word ", 800)}
	answer := models.SessionMessage{Role: models.RoleAssistant, Content: strings.Repeat("word ", 800), Reasoning: &thought}
	for _, c := range []struct {
		message models.SessionMessage
		says    string
		keeps   bool
	}{
		{user, "1004", true}, {user, "2000", true}, {user, "1003", false}, {user, "0", false}, {user, "-5", false}, {user, "9223372036854775807", false},
		{answer, "801", true}, {answer, "300", true}, {answer, "200000", true}, {answer, "1", false}, {answer, "0", false}, {answer, "90000000", false},
	} {
		from, to := newMemory(t), newMemory(t)
		talk(t, from, sessionKey, 0)
		m := c.message
		m.ID, m.Slot, m.TokenCount, m.CreatedAt = "msg_1", models.DefaultSlot, 777, day
		if err := from.AppendMessages(t.Context(), sessionKey, []*models.SessionMessage{&m}); err != nil {
			t.Fatal(err)
		}
		text := strings.Replace(document(t, from, sessionKey), `"tokenCount":777`, `"tokenCount":`+c.says, 1)
		if _, err := transfer.Import(t.Context(), to, strings.NewReader(text)); err != nil {
			t.Fatal(err)
		}
		want := c.says
		if !c.keeps {
			want = fmt.Sprint(tokens.Message(&c.message, nil))
		}
		if got := tokensOf(t, to); got != want {
			t.Errorf("%s that says %s has %s tokens, want %s", c.message.Role, c.says, got, want)
		}
	}
}

func tokensOf(t *testing.T, s store.Store) string {
	t.Helper()
	session, err := s.Session(t.Context(), sessionKey)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(session.TotalTokenCount)
}
