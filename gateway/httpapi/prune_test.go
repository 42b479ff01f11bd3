package httpapi_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/chatkeep/chatkeep/gateway"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/sessionmgr/prune"
)

func TestPruneOverTheAdminAPI(t *testing.T) {
	w := newWorld(t, options{settings: func(s *gateway.Settings) {
		s.Pruning = prune.Settings{Mode: prune.ModeSoft, KeepRecent: 2, MaxResultSize: 100, SaveToolCalls: true, KeepToolCalls: 5}
	}})
	answer := w.chat(obj{"userId": "lin", "text": "hello"}).ok()
	path, key := answer.session(), answer.str("sessionKey")
	err := w.store.AppendMessages(context.Background(), key, []*models.SessionMessage{
		{ID: "m1", Role: models.RoleUser, Content: "look"},
		{ID: "m2", Role: models.RoleAssistant, ToolCalls: []models.ToolCall{{ID: "c", Name: "look", Arguments: "{}"}}},
		{ID: "m3", Role: models.RoleTool, ToolCallID: "c", Content: strings.Repeat("结果 ", 500)},
		{ID: "m4", Role: models.RoleAssistant, Content: "seen"},
		{ID: "m5", Role: models.RoleUser, Content: "thanks"},
	})
	if err != nil {
		t.Fatal(err)
	}
	pruned := func() string {
		return w.admin(http.MethodGet, path+"/context", nil).ok().str("messages", 4, "pruned")
	}
	post := func(query string, changed, skipped int) (p gateway.Pruning) {
		t.Helper()
		a := w.admin(http.MethodPost, path+"/prune"+query, nil).ok()
		if err := json.Unmarshal(a.body, &p); err != nil {
			t.Fatal(err)
		}
		if p.Changed != changed || p.Skipped != skipped || p.DryRun != strings.Contains(query, "dryRun=true") {
			t.Errorf("prune%s: %s", query, a.body)
		}
		return p
	}
	want := gateway.PrunedItem{Seq: 5, Role: models.RoleTool, Pruned: prune.Soft, Why: prune.WhyLongResult, Size: 1500, Now: 100}
	if dry := post("?dryRun=true", 1, 0); len(dry.Items) != 1 || dry.Items[0] != want {
		t.Errorf("%+v", dry)
	}
	if got := pruned(); got != "" {
		t.Errorf("the dry run pruned: %q", got)
	}
	post("", 1, 0)
	if got := pruned(); got != "soft" {
		t.Errorf("pruned is %q", got)
	}
	if again := post("?slot=default", 0, 1); again.Reason != "nothing to prune" {
		t.Errorf("%+v", again)
	}
	w.admin(http.MethodPost, path+"/prune?dryRun=maybe", nil).want(http.StatusBadRequest, models.CodeInvalidRequest)
	w.admin(http.MethodPost, path+"/prune?slot=gone", nil).want(http.StatusNotFound, models.CodeSlotNotFound)
	w.admin(http.MethodPost, strings.Replace(path, "lin", "wang", 1)+"/prune", nil).want(http.StatusNotFound, models.CodeSessionNotFound)
}
