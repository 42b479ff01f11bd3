package limit

import (
	"slices"
	"testing"
	"time"

	"github.com/chatkeep/chatkeep/store"
)

func TestOnlyWhatIsLimitedCounts(t *testing.T) {
	l := Limits{TokensPerDay: map[store.BudgetKind]int64{store.BudgetUser: 100, store.BudgetAgent: 1000, store.BudgetTask: 5}}
	got := l.Budgets(20261130, Use{Person: "feishu/main/ou_1", Session: "agent:a", Agent: "assistant"})
	want := []store.Budget{{Day: 20261130, Kind: store.BudgetUser, Subject: "feishu/main/ou_1"}, {Day: 20261130, Kind: store.BudgetAgent, Subject: "assistant"}}
	if !slices.Equal(got, want) {
		t.Errorf("budgets %+v", got)
	}
	if none := (Limits{}).Budgets(1, Use{Person: "p", Session: "s", Chat: "c", Agent: "a", Task: "t"}); none != nil {
		t.Errorf("without limits: %+v", none)
	}
	if (Limits{}).Rate("p") != nil || (Limits{MessagesPerMinute: 3}).Rate("") != nil || (Limits{MessagesPerMinute: 3}).Rate("p").Most != 3 {
		t.Error("rate")
	}
}

func TestExempt(t *testing.T) {
	l := Limits{Exempt: []string{"feishu/main/ou_boss", "api/*"}}
	for id, want := range map[[3]string]bool{
		{"feishu", "main", "ou_boss"}: true, {"feishu", "other", "ou_boss"}: false, {"feishu", "main", "ou_1"}: false,
		{"api", "default", "x"}: true, {"api", "default", ""}: false,
	} {
		if got := l.Exempts(id[0], id[1], id[2]); got != want {
			t.Errorf("%v: %v", id, got)
		}
	}
}

func TestStanding(t *testing.T) {
	for _, c := range []struct {
		name            string
		limit           int64
		spent           store.Spent
		exceeded, warns bool // after one more token
		percent         int
	}{
		{"fresh", 100, store.Spent{}, false, false, 1},
		{"just below", 100, store.Spent{Tokens: 78}, false, false, 79},
		{"warned of", 100, store.Spent{Tokens: 79}, false, true, 80},
		{"rounded up", 7, store.Spent{Tokens: 4}, false, false, 71},
		{"all but one", 100, store.Spent{Tokens: 99}, false, true, 100},
		{"used up", 100, store.Spent{Tokens: 100}, true, true, 100},
		{"overspent", 100, store.Spent{Tokens: 5000}, true, true, 100},
		{"raised", 100, store.Spent{Tokens: 100, Extra: 100}, false, false, 50},
		{"lifted", 100, store.Spent{Tokens: 1 << 40, Extra: Lifted}, false, false, 0},
		{"unlimited", 0, store.Spent{Tokens: 5}, false, false, 100},
	} {
		s := Standing{Spent: c.spent, Limit: c.limit}
		if s.Exceeded() != c.exceeded || s.WarnAfter(1) != c.warns || s.Percent(1) != c.percent {
			t.Errorf("%s: exceeded %v, warns %v, %d %%", c.name, s.Exceeded(), s.WarnAfter(1), s.Percent(1))
		}
	}
}

func TestTomorrow(t *testing.T) {
	shanghai, err := time.LoadLocation("Asia/Shanghai")
	if err != nil {
		t.Fatal(err)
	}
	newYork, err := time.LoadLocation("America/New_York")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ at, want time.Time }{
		{time.Date(2026, 11, 30, 23, 59, 59, 0, shanghai), time.Date(2026, 12, 1, 0, 0, 0, 0, shanghai)},
		{time.Date(2026, 11, 30, 0, 0, 0, 0, shanghai), time.Date(2026, 12, 1, 0, 0, 0, 0, shanghai)},
		{time.Date(2026, 3, 8, 1, 0, 0, 0, newYork), time.Date(2026, 3, 9, 0, 0, 0, 0, newYork)}, // a day of 23 hours
	} {
		if got := Tomorrow(c.at); !got.Equal(c.want) {
			t.Errorf("%v: %v", c.at, got)
		}
	}
	// 20:00 in London on the last of November is the first of December in Shanghai.
	at := time.Date(2026, 11, 30, 20, 0, 0, 0, time.UTC)
	if store.DayOf(at) != 20261130 || store.DayOf(at.In(shanghai)) != 20261201 {
		t.Error("day")
	}
}
