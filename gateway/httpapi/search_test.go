package httpapi_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/chatkeep/chatkeep/models"
)

// finds returns what a search finds, as "role snippet", page by page.
func (w *world) finds(query string) (found []string) {
	w.t.Helper()
	for cursor := ""; ; {
		page := w.admin(http.MethodGet, "/search?"+query+"&cursor="+cursor, nil).ok()
		for i := range page.items() {
			found = append(found, page.str("items", i, "role")+" "+page.str("items", i, "snippet"))
		}
		if cursor = page.str("nextCursor"); cursor == "" {
			return found
		}
	}
}

func TestSearch(t *testing.T) {
	w := newWorld(t, options{})
	lin := w.chat(obj{"userId": "lin", "text": "明天部署到 Staging"}).ok()
	w.chat(obj{"userId": "lin", "text": strings.Repeat("长", 500) + "部署" + strings.Repeat("长", 500)}).ok()
	ann := w.chat(obj{"userId": "a+b/c", "text": "staging is 100% down"}).ok()
	q := url.QueryEscape
	for query, want := range map[string]int{
		"q=" + q("部署"): 4, "q=" + q("部署 STAGING"): 2, "q=staging": 4, "q=" + q("100%"): 2, "q=" + q("10_%"): 0,
		"q=staging&agentId=assistant": 4, "q=staging&agentId=model": 0, "q=staging&slot=default": 4, "q=staging&slot=side": 0,
		"q=staging&sessionKey=" + url.PathEscape(lin.str("sessionKey")):              2,
		"q=staging&sessionKey=" + url.PathEscape(ann.str("sessionKey")) + "&limit=1": 2,
		"q=" + q("部署") + "&sessionKey=" + url.PathEscape(ann.str("sessionKey")):      0,
		"q=staging&limit=1": 4,
	} {
		if got := w.finds(query); len(got) != want {
			t.Errorf("%s finds %q, want %d", query, got, want)
		}
	}
	long := w.finds("q=" + q("部署") + "&limit=2")[1]
	if !strings.HasPrefix(long, "user …长") || !strings.Contains(long, "部署") || len([]rune(long)) > 220 {
		t.Errorf("snippet %q", long)
	}
	first := w.admin(http.MethodGet, "/search?q=staging", nil).ok()
	for key, want := range map[string]any{
		"sessionKey": ann.str("sessionKey"), "slot": "default", "seq": 2.0, "role": "assistant", "id": ann.str("reply", "messageId"),
	} {
		if got := first.get("items", 0, key); got != want {
			t.Errorf("%s is %v, want %v", key, got, want)
		}
	}

	w.admin(http.MethodDelete, lin.session(), nil).ok()
	if got := w.finds("q=" + q("部署")); len(got) != 0 {
		t.Errorf("of a deleted session: %q", got)
	}
	unknown := url.PathEscape(lin.str("sessionKey"))
	w.admin(http.MethodGet, "/search?q=x&sessionKey="+unknown, nil).want(http.StatusNotFound, models.CodeSessionNotFound)
	w.admin(http.MethodGet, "/search?q=x&slot=side&sessionKey="+url.PathEscape(ann.str("sessionKey")), nil).want(http.StatusNotFound, models.CodeSlotNotFound)
	for _, bad := range []string{
		"", "q=", "q=%20", "q=x&limit=0", "q=x&limit=1000", "q=x&cursor=x", "q=x&sessionKey=x", "q=x&sessionKey=%zz", "q=%ff", "q=a%00b",
		"q=" + strings.Repeat("x", 300), fmt.Sprintf("q=%s", q(strings.Join(strings.Split("abcdefghijklmn", ""), " "))),
	} {
		w.admin(http.MethodGet, "/search?"+bad, nil).want(http.StatusBadRequest, models.CodeInvalidRequest)
	}
	w.do(request{method: http.MethodGet, path: "/admin/v1/search?q=x"}).want(http.StatusUnauthorized, models.CodeUnauthorized)
}

func TestHistoryOfTheAPI(t *testing.T) {
	w := newWorld(t, options{})
	w.chat(obj{"userId": "lin", "text": "the word is swordfish"}).ok()
	w.chat(obj{"userId": "ann", "text": "swordfish again"}).ok()
	got := w.chat(obj{"userId": "lin", "text": "/history SWORD"}).ok().str("reply", "content")
	if strings.Count(got, "\n") != 2 || strings.Contains(got, "again") || !strings.HasSuffix(got, "user: the word is swordfish") {
		t.Errorf("found %q", got)
	}
}
