package httpapi_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/chatkeep/chatkeep/gateway"
	"github.com/chatkeep/chatkeep/gateway/slot"
	"github.com/chatkeep/chatkeep/models"
)

// handbook gives every session of both agents a static slot.
func handbook(s *gateway.Settings) {
	s.StaticSlots = map[string][]slot.Static{}
	for _, agent := range []string{"assistant", "model"} {
		s.StaticSlots[agent] = []slot.Static{slot.NewStatic("handbook", []*models.SessionMessage{
			{Role: models.RoleSystem, Content: "Holidays are listed here."},
			{Role: models.RoleUser, Content: "When is May Day?"},
			{Role: models.RoleAssistant, Content: "On the first of May."},
		})}
	}
}

// shows lists what the next turn of a slot would send.
func (w *world) shows(path, slotID string) []string {
	w.t.Helper()
	view := w.admin(http.MethodGet, path+"/context?slot="+slotID, nil).ok()
	var out []string
	for i := range view.get("messages").([]any) {
		out = append(out, view.str("messages", i, "role")+": "+view.str("messages", i, "content"))
	}
	return out
}

// holds lists what a slot stores.
func (w *world) holds(path, slotID string) []string {
	w.t.Helper()
	page := w.admin(http.MethodGet, path+"/messages?slot="+slotID, nil).ok()
	var out []string
	for i := range page.items() {
		out = append(out, page.str("items", i, "content"))
	}
	return out
}

func same(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
		t.Errorf("%s: %q, want %q", what, got, want)
	}
}

func TestSlotLife(t *testing.T) {
	w := newWorld(t, options{})
	path := w.chat(obj{"userId": "lin", "text": "one"}).ok().session()
	slots := path + "/slots"

	made := w.admin(http.MethodPost, slots, obj{"id": "draft"}).want(http.StatusCreated, "")
	if made.str("mode") != "full" || made.str("source", "kind") != "new" || made.get("compact") != true || made.get("current") != false || made.get("budget") != nil {
		t.Errorf("created %s", made.body)
	}
	w.admin(http.MethodPost, slots, obj{"id": "draft"}).want(http.StatusConflict, models.CodeSlotExists)
	w.admin(http.MethodPost, slots, obj{"id": "default"}).want(http.StatusConflict, models.CodeSlotExists)
	if got := w.admin(http.MethodPost, slots+"/draft/switch", nil).ok(); got.get("current") != true {
		t.Errorf("switched %s", got.body)
	}
	if got := w.chat(obj{"userId": "lin", "text": "two"}).ok().str("slot"); got != "draft" {
		t.Errorf("the answer is in slot %q", got)
	}
	if got := w.chat(obj{"userId": "lin", "text": "three", "slot": "default"}).ok().str("slot"); got != "default" {
		t.Errorf("a named slot: the answer is in %q", got)
	}
	same(t, "draft", w.holds(path, "draft"), "two", "two")
	same(t, "default", w.holds(path, "default"), "one", "one", "three", "three")

	list := w.admin(http.MethodGet, slots, nil).ok()
	if len(list.items()) != 2 || list.str("items", 1, "id") != "draft" || list.get("items", 0, "messageCount") != 4.0 || list.get("items", 1, "current") != true {
		t.Errorf("slots %s", list.body)
	}
	w.admin(http.MethodDelete, slots+"/default", nil).want(http.StatusConflict, models.CodeConflict)
	if got := w.admin(http.MethodDelete, slots+"/draft?dryRun=true", nil).ok(); got.get("changed") != 3.0 || len(w.holds(path, "draft")) != 2 {
		t.Errorf("dry run: %s", got.body)
	}
	w.admin(http.MethodDelete, slots+"/draft", nil).ok()
	if got := w.admin(http.MethodGet, path, nil).ok().str("currentSlot"); got != "default" {
		t.Errorf("current is %q after the current slot was deleted", got)
	}
	w.admin(http.MethodGet, path+"/messages?slot=draft", nil).want(http.StatusNotFound, models.CodeSlotNotFound)
	w.chat(obj{"userId": "lin", "text": "four", "slot": "draft"}).want(http.StatusNotFound, models.CodeSlotNotFound)
	for _, request := range []struct{ method, path string }{
		{http.MethodDelete, "/draft"}, {http.MethodPost, "/draft/switch"}, {http.MethodPost, "/no%00name/switch"},
	} {
		w.admin(request.method, slots+request.path, nil).want(http.StatusNotFound, models.CodeSlotNotFound)
	}
	w.admin(http.MethodPatch, slots+"/draft", obj{"mode": "full"}).want(http.StatusNotFound, models.CodeSlotNotFound)
	w.admin(http.MethodPost, slots+"/draft/derive", obj{"id": "x"}).want(http.StatusNotFound, models.CodeSlotNotFound)
	nobody := session("agent:assistant:channel:any:scope:per_peer:api/default/nobody") + "/slots"
	w.admin(http.MethodGet, nobody, nil).want(http.StatusNotFound, models.CodeSessionNotFound)
	w.admin(http.MethodPost, nobody, obj{"id": "x"}).want(http.StatusNotFound, models.CodeSessionNotFound)
}

func TestSlotsThatCannotBe(t *testing.T) {
	w := newWorld(t, options{})
	slots := w.chat(obj{"userId": "lin", "text": "one"}).ok().session() + "/slots"
	for _, body := range []any{
		obj{}, obj{"id": "a b"}, obj{"id": strings.Repeat("x", 65)}, obj{"id": "x", "mode": "half"}, obj{"id": "x", "mode": "focused"},
		obj{"id": "x", "focused": obj{"recentMessages": -1}}, obj{"id": "x", "focused": obj{"recent": 1}},
		obj{"id": "x", "budget": obj{"history": -1}}, obj{"id": "x", "budget": obj{"histories": 1}}, obj{"id": "x", "budget": "some"}, obj{"id": "x", "colour": "red"},
	} {
		w.admin(http.MethodPost, slots, body).want(http.StatusBadRequest, models.CodeInvalidRequest)
	}
	w.admin(http.MethodPatch, slots+"/default", obj{"mode": "focused"}).want(http.StatusBadRequest, models.CodeInvalidRequest)
	for _, body := range []any{obj{"id": "x", "strategy": "half"}, obj{"id": "x", "strategy": "focused"}, obj{"id": "x", "focused": obj{"recentMessages": 1}}} {
		w.admin(http.MethodPost, slots+"/default/derive", body).want(http.StatusBadRequest, models.CodeInvalidRequest)
	}
	for _, body := range []any{obj{"strategy": "messages"}, obj{"into": "default", "strategy": "messages"}, obj{"into": "other", "strategy": "half"}} {
		w.admin(http.MethodPost, slots+"/default/merge", body).want(http.StatusBadRequest, models.CodeInvalidRequest)
	}
	if list := w.admin(http.MethodGet, slots, nil).ok(); len(list.items()) != 1 {
		t.Errorf("slots %s", list.body)
	}
}

func TestReadonlySlot(t *testing.T) {
	w := newWorld(t, options{})
	path := w.work(obj{"userId": "lin", "text": "one"}).ok().session()
	asked := len(w.model.Requests())
	w.admin(http.MethodPatch, path+"/slots/default", obj{"mode": "readonly"}).ok()
	w.work(obj{"userId": "lin", "text": "two"}).want(http.StatusConflict, models.CodeSlotReadonly)
	if n := len(w.model.Requests()); n != asked {
		t.Error("the model was asked")
	}
	w.admin(http.MethodPost, path+"/reset", nil).want(http.StatusConflict, models.CodeSlotReadonly)
	w.work(obj{"userId": "lin", "text": "/reset"}).ok()
	same(t, "the slot", w.holds(path, "default"), "one", "one")
	w.admin(http.MethodPatch, path+"/slots/default", obj{"mode": "full"}).ok()
	w.work(obj{"userId": "lin", "text": "three"}).ok()
}

func TestFocusedSlot(t *testing.T) {
	w := newWorld(t, options{})
	path := w.chat(obj{"userId": "lin", "text": "one"}).ok().session()
	for _, text := range []string{"two", "three"} {
		w.chat(obj{"userId": "lin", "text": text}).ok()
	}
	slots := path + "/slots"
	w.admin(http.MethodPatch, slots+"/default", obj{"mode": "focused", "focused": obj{"keepSystem": true, "recentMessages": 2, "summaryOverride": "They counted."}}).ok()
	same(t, "focused", w.shows(path, "default"), "user: three", "assistant: three", "system: They counted.")
	same(t, "stored", w.holds(path, "default"), "one", "one", "two", "two", "three", "three")

	full := w.admin(http.MethodPost, slots+"/default/derive", obj{"id": "all"}).want(http.StatusCreated, "")
	if full.str("mode") != "full" || full.str("source", "kind") != "derived" || full.str("source", "parentId") != "default" || full.str("source", "strategy") != "full" || full.get("messageCount") != 6.0 {
		t.Errorf("full derive: %s", full.body)
	}
	some := w.admin(http.MethodPost, slots+"/default/derive", obj{"id": "some", "strategy": "focused", "focused": obj{"recentMessages": 3}}).want(http.StatusCreated, "")
	if some.str("mode") != "focused" || some.get("messageCount") != 3.0 || some.get("focused", "recentMessages") != 3.0 {
		t.Errorf("focused derive: %s", some.body)
	}
	same(t, "some", w.holds(path, "some"), "two", "three", "three")
	inherited := w.admin(http.MethodPost, slots+"/default/derive", obj{"id": "same", "strategy": "focused"}).want(http.StatusCreated, "")
	if inherited.get("messageCount") != 2.0 || inherited.str("focused", "summaryOverride") != "They counted." {
		t.Errorf("a focus taken from the parent: %s", inherited.body)
	}

	// Both go their own way afterwards.
	w.chat(obj{"userId": "lin", "text": "four", "slot": "all"}).ok()
	w.admin(http.MethodPatch, slots+"/default", obj{"mode": "full", "focused": nil}).ok()
	same(t, "default", w.shows(path, "default"), "user: one", "assistant: one", "user: two", "assistant: two", "user: three", "assistant: three")
	w.admin(http.MethodPatch, slots+"/default", obj{"mode": "focused", "focused": obj{"recentMessages": 0}}).ok()
	same(t, "nothing recent", w.shows(path, "default"))
}

func TestSlotBudgets(t *testing.T) {
	w := newWorld(t, options{})
	path := w.chat(obj{"userId": "lin", "text": strings.Repeat("a", 400)}).ok().session()
	w.chat(obj{"userId": "lin", "text": "short"}).ok()
	slots := path + "/slots"
	w.admin(http.MethodPatch, slots+"/default", obj{"budget": obj{"history": 50}}).ok()
	same(t, "a history of 50 tokens", w.shows(path, "default"), "user: short", "assistant: short")
	auto := w.admin(http.MethodPatch, slots+"/default", obj{"budget": "auto"}).ok()
	if auto.get("budget", "auto") != true || auto.get("budget", "history") != 80000.0 {
		t.Errorf("automatic budget: %s", auto.body)
	}
	if n := len(w.shows(path, "default")); n != 4 {
		t.Errorf("%d messages under an automatic budget", n)
	}
	if none := w.admin(http.MethodPatch, slots+"/default", obj{"budget": nil}).ok(); none.get("budget") != nil {
		t.Errorf("no budget: %s", none.body)
	}
}

func TestStaticSlots(t *testing.T) {
	w := newWorld(t, options{settings: handbook})
	w.work(obj{"userId": "new", "text": "hi", "slot": "handbook"}).want(http.StatusConflict, models.CodeSlotReadonly)
	path := w.work(obj{"userId": "lin", "text": "hi"}).ok().session()
	asked := len(w.model.Requests())
	w.work(obj{"userId": "lin", "text": "hi", "slot": "handbook"}).want(http.StatusConflict, models.CodeSlotReadonly)
	if n := len(w.model.Requests()); n != asked {
		t.Error("the model was asked")
	}
	slots := path + "/slots"
	list := w.admin(http.MethodGet, slots, nil).ok()
	if len(list.items()) != 2 || list.str("items", 1, "id") != "handbook" || list.str("items", 1, "source", "kind") != "static" || list.str("items", 1, "mode") != "readonly" || list.get("items", 1, "messageCount") != 3.0 {
		t.Errorf("slots %s", list.body)
	}
	if source, ok := list.get("items", 0, "source").(map[string]any); !ok || source["kind"] != "new" || source["parentId"] != "" || source["strategy"] != "" {
		t.Errorf("source %v", source)
	}
	same(t, "messages", w.holds(path, "handbook"), "Holidays are listed here.", "When is May Day?", "On the first of May.")
	if got := strings.Join(w.shows(path, "handbook"), "|"); !strings.HasSuffix(got, "system: Holidays are listed here.|user: When is May Day?|assistant: On the first of May.") {
		t.Errorf("context %s", got)
	}
	w.admin(http.MethodPost, slots, obj{"id": "handbook"}).want(http.StatusConflict, models.CodeSlotExists)
	w.admin(http.MethodPatch, slots+"/handbook", obj{"mode": "full"}).want(http.StatusConflict, models.CodeSlotReadonly)
	w.admin(http.MethodDelete, slots+"/handbook", nil).want(http.StatusConflict, models.CodeSlotReadonly)
	w.admin(http.MethodPost, slots+"/handbook/switch", nil).want(http.StatusConflict, models.CodeSlotReadonly)

	w.admin(http.MethodPost, slots+"/handbook/derive", obj{"id": "copy"}).want(http.StatusCreated, "")
	w.admin(http.MethodPost, slots+"/handbook/derive", obj{"id": "part", "strategy": "focused", "focused": obj{"recentMessages": 1}}).want(http.StatusCreated, "")
	w.work(obj{"userId": "lin", "text": "and Christmas?", "slot": "copy"}).ok()
	if got := w.holds(path, "copy"); len(got) != 5 || got[2] != "On the first of May." || got[3] != "and Christmas?" {
		t.Errorf("copy holds %q", got)
	}
	same(t, "part", w.holds(path, "part"), "On the first of May.")
	same(t, "handbook", w.holds(path, "handbook"), "Holidays are listed here.", "When is May Day?", "On the first of May.")
}

func TestMergeSlots(t *testing.T) {
	w := newWorld(t, options{})
	path := w.chat(obj{"userId": "lin", "text": "one"}).ok().session()
	slots := path + "/slots"
	w.admin(http.MethodPost, slots+"/default/derive", obj{"id": "side"}).want(http.StatusCreated, "")
	w.chat(obj{"userId": "lin", "text": "aside", "slot": "side"}).ok()
	w.chat(obj{"userId": "lin", "text": "two"}).ok()
	merge := func(into, strategy string) *answer {
		return w.admin(http.MethodPost, slots+"/side/merge", obj{"into": into, "strategy": strategy})
	}
	if got := merge("default", "messages").ok(); got.get("changed") != 2.0 {
		t.Errorf("merged %s", got.body)
	}
	if got := merge("default", "messages").ok(); got.get("changed") != 0.0 {
		t.Errorf("merged again %s", got.body)
	}
	same(t, "default", w.holds(path, "default"), "one", "one", "two", "two", "aside", "aside")
	same(t, "side", w.holds(path, "side"), "one", "one", "aside", "aside")

	merge("nowhere", "messages").want(http.StatusNotFound, models.CodeSlotNotFound)
	if got := merge("default", "summary").ok(); got.get("changed") != 0.0 { // nothing is new
		t.Errorf("merged %s", got.body)
	}
	w.chat(obj{"userId": "lin", "text": "new", "slot": "side"}).ok()
	w.admin(http.MethodPatch, slots+"/side", obj{"focused": obj{"summaryOverride": "An aside."}}).ok()
	merge("default", "summary").ok()
	if got := w.holds(path, "default"); len(got) != 7 || got[6] != "An aside." {
		t.Errorf("default holds %q", got)
	}
	if got := merge("default", "messages").ok(); got.get("changed") != 0.0 { // the override stands for them
		t.Errorf("merged after their summary %s", got.body)
	}
	w.admin(http.MethodPatch, slots+"/default", obj{"mode": "readonly"}).ok()
	w.chat(obj{"userId": "lin", "text": "more", "slot": "side"}).ok()
	merge("default", "messages").want(http.StatusConflict, models.CodeSlotReadonly)
}
