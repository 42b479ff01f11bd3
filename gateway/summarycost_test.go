package gateway_test

import (
	"context"
	"errors"
	"testing"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

// dying is a store of processes that end before they count anything by itself.
type dying struct{ store.Store }

func (dying) AddUsage(context.Context, []store.UsageEntry, []store.Spending) error {
	return errors.New("the process died")
}

// usedBy is what was counted today, by subject.
func (r *rig) usedBy(by store.UsageBy) map[string]store.UsageCount {
	r.t.Helper()
	day := store.DayOf(r.gateway.Today())
	totals, err := r.gateway.Usage(context.Background(), store.UsageQuery{By: by, From: day - 1, To: day})
	if err != nil {
		r.t.Fatal(err)
	}
	out := map[string]store.UsageCount{}
	for _, total := range totals {
		out[total.Subject] = total.UsageCount
	}
	return out
}

// What a summary cost is counted if it is stored, by whatever process dies then, as what
// the model cost that was asked.
func TestASummaryIsCountedWithItsCommit(t *testing.T) {
	t.Parallel()
	r := newHeldRig(t)
	r.settings.Limits.TokensPerDay = map[store.BudgetKind]int64{store.BudgetUser: 1_000_000}
	r.store = dying{r.store}
	r.let()
	r.start()
	r.talk(6)
	_, err := r.gateway.Patch(context.Background(), r.key(), func(s *models.Session) { s.Model = "chosen" })
	r.must(err)
	before := r.cost()
	r.says("c1", "/compact")
	if s := r.session(); s.CompactionCount != 1 {
		t.Fatalf("%+v", s)
	}
	cost := r.cost()
	cost.PromptTokens, cost.CompletionTokens = cost.PromptTokens-before.PromptTokens, cost.CompletionTokens-before.CompletionTokens
	if cost.PromptTokens < 500 || cost.CompletionTokens < 1 || cost.Turns != 6 {
		t.Errorf("it cost %+v", cost)
	}
	if got := r.usedBy(store.ByModel)["chosen"]; got.PromptTokens != cost.PromptTokens {
		t.Errorf("by model: %+v", r.usedBy(store.ByModel))
	}
	for by, subject := range map[store.UsageBy]string{store.BySession: r.key(), store.ByUser: "chat/main/ann", store.ByAgent: "assistant"} {
		if got := r.usedBy(by)[subject]; got.PromptTokens != before.PromptTokens+cost.PromptTokens {
			t.Errorf("by %s: %+v", by, r.usedBy(by))
		}
	}
	budget, err := r.gateway.Budget(context.Background(), store.BudgetUser, "chat/main/ann")
	r.must(err)
	if all := r.cost(); budget.Tokens != all.PromptTokens+all.CompletionTokens {
		t.Errorf("budget %+v, %+v was used", budget, all)
	}
}

// A summary that cannot be stored has cost what it cost, and is nobody's session's if
// that is deleted.
func TestASummaryThatIsNotStoredIsCounted(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		do   func(r *heldRig)
		left int // sessions that something is counted for
	}{
		"undone":  {func(r *heldRig) { r.says("c2", "/undo") }, 1},
		"deleted": {func(r *heldRig) { _, err := r.gateway.Delete(context.Background(), r.key(), false); r.must(err) }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newHeldRig(t)
			r.costly = true
			r.start()
			r.asksForASummary()
			before := r.cost()
			c.do(r)
			r.until("it is counted", func() bool { return r.cost().PromptTokens == before.PromptTokens+300 })
			if got := r.usedBy(store.BySession); len(got) != c.left {
				t.Errorf("by session: %+v", got)
			}
		})
	}
}
