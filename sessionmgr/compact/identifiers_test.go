package compact

import (
	"slices"
	"strings"
	"testing"

	"github.com/chatkeep/chatkeep/models"
)

func TestIdentifiers(t *testing.T) {
	for text, want := range map[string][]string{
		"see https://example.com/a?b=1&c=2#d, and (http://10.0.0.1:8080/x).": {"https://example.com/a?b=1&c=2#d", "http://10.0.0.1:8080/x"},
		"请打开https://例.cn/订单/7，然后回复":                                          {"https://例.cn/订单/7"},
		"write to lin.wei+1@example.co.uk please":                            {"lin.wei+1@example.co.uk"},
		"in /etc/nginx/nginx.conf and ~/notes.md, not and/or; see ./run.sh":  {"/etc/nginx/nginx.conf", "~/notes.md", "./run.sh"},
		`C:\Users\Lin\报表.xlsx stays`:                                         {`C:\Users\Lin\报表.xlsx`},
		"gateway/turn.go, README.md and example.com":                         {"gateway/turn.go", "README.md", "example.com"},
		"订单号A12345678，金额¥1,299.00，共15%":                                      {"A12345678", "1,299.00", "15%"},
		"ORD-2024-0017 (#4432) v1.2.3 K8s oc_abc":                            {"ORD-2024-0017", "#4432", "v1.2.3", "K8s", "oc_abc"},
		"commit 9f86d081884c7d65 at 2026-05-01T18:30:00Z, or 18:30":          {"9f86d081884c7d65", "2026-05-01T18:30:00Z", "18:30"},
		"550e8400-e29b-41d4-a716-446655440000":                               {"550e8400-e29b-41d4-a716-446655440000"},
		"call +8613800138000 or use DEEPSEEK_API_KEY":                        {"+8613800138000", "DEEPSEEK_API_KEY"},
		"I have 2 cats, and 12 dogs; a well-known fact. /help":               nil,
		strings.Repeat("a1", longestID):                                      nil,
	} {
		if got := identifiersIn(text, true); !slices.Equal(got, want) {
			t.Errorf("%s:\n%q\nwant\n%q", text, got, want)
		}
	}
	if got := identifiersIn("1234 rows, 56.78 of A-1234", false); !slices.Equal(got, []string{"A-1234"}) {
		t.Errorf("without numbers: %q", got)
	}
	far := "A-0001 " + strings.Repeat("汉 ", 200_000) + " A-0002"
	if got := identifiersIn(far, true); !slices.Equal(got, []string{"A-0001", "A-0002"}) {
		t.Errorf("both ends of a long text: %q", got)
	}
}

func TestSays(t *testing.T) {
	for _, c := range []struct {
		text, id string
		want     bool
	}{
		{"order 1234.", "1234", true},
		{"订单1234的", "1234", true},
		{"order 12345", "1234", false},
		{"order 1234.5", "1234", false},
		{"src/a.go", "a.go", false},
		{"src/a.go, a.go", "a.go", true},
		{"https://x.com/a/b", "https://x.com/a", false},
		{"(https://x.com/a)", "https://x.com/a", true},
		{"", "x", false},
	} {
		if got := says(c.text, c.id); got != c.want {
			t.Errorf("%q in %q: %v", c.id, c.text, got)
		}
	}
}

func TestMissingIdentifiersAreAdded(t *testing.T) {
	s := &summariser{}
	ids := []string{"A-1", "A-2", strings.Repeat("long/", 40) + "x.go", "A-3"}
	got := s.complete("## Exact identifiers\n- A-2", ids, 10)
	if want := "## Exact identifiers\n- A-2\n- A-1\n- A-3"; got != want {
		t.Errorf("%q", got)
	}
	if got := s.complete("x", ids, 0); got != "x" {
		t.Errorf("without room: %q", got)
	}
}

func TestWhoseIdentifiersComeFirst(t *testing.T) {
	got := collect("## Exact identifiers\n- OLD-1", []*models.SessionMessage{
		{Role: models.RoleUser, Content: "first U-1"},
		{Role: models.RoleAssistant, ToolCalls: []models.ToolCall{{Arguments: `{"order":"C-77"}`}}},
		{Role: models.RoleTool, Content: "row T-500, 9999"},
		{Role: models.RoleAssistant, Content: "U-1 is done"},
		{Role: models.RoleUser, Content: "and now U-22", Quote: &models.Quote{Text: "Q-33"}},
	})
	if want := []string{"U-22", "Q-33", "U-1", "C-77", "OLD-1", "T-500"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
