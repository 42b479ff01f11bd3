package httpapi_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/chatkeep/chatkeep/models"
)

func TestBadChatBodies(t *testing.T) {
	w := newWorld(t, options{})
	long := strings.Repeat("x", 257)
	for name, body := range map[string]string{
		"empty":                "",
		"blank":                "  \n",
		"not JSON":             "hello",
		"cut off":              `{"userId":"lin","text":"h`,
		"two documents":        `{"userId":"lin","text":"hi"} {}`,
		"garbage after":        `{"userId":"lin","text":"hi"}]`,
		"null":                 "null",
		"a list":               `[{"userId":"lin"}]`,
		"a string":             `"hi"`,
		"unknown field":        `{"userId":"lin","text":"hi","colour":"red"}`,
		"number as text":       `{"userId":"lin","text":1}`,
		"object as id":         `{"userId":{},"text":"hi"}`,
		"string as bool":       `{"userId":"lin","text":"hi","stream":"true"}`,
		"string as images":     `{"userId":"lin","text":"hi","images":"x"}`,
		"no user":              `{"text":"hi"}`,
		"empty user":           `{"userId":"","text":"hi"}`,
		"no text":              `{"userId":"lin"}`,
		"blank text":           `{"userId":"lin","text":" \n\t"}`,
		"NUL in text":          `{"userId":"lin","text":"a\u0000b"}`,
		"NUL in user":          `{"userId":"a\u0000b","text":"hi"}`,
		"raw NUL":              "{\"userId\":\"a\x00b\",\"text\":\"hi\"}",
		"invalid UTF-8":        "{\"userId\":\"lin\",\"text\":\"\xff\xfe\"}",
		"invalid UTF-8 in id":  "{\"userId\":\"\xc3\x28\",\"text\":\"hi\"}",
		"half a surrogate":     `{"userId":"lin\ud800","text":"hi"}`,
		"other half":           `{"userId":"lin","text":"\udc00 hi"}`,
		"halves the wrong way": `{"userId":"lin","text":"\udc00\ud800"}`,
		"long user":            `{"userId":"` + long + `","text":"hi"}`,
		"long chat":            `{"userId":"lin","chatId":"` + long + `","text":"hi"}`,
		"long message id":      `{"userId":"lin","messageId":"` + long + `","text":"hi"}`,
		"long scope id":        `{"userId":"lin","scopeId":"` + long + `","text":"hi"}`,
		"chat type":            `{"userId":"lin","chatType":"party","text":"hi"}`,
		"group without chat":   `{"userId":"lin","chatType":"group","text":"hi"}`,
		"thread without chat":  `{"userId":"lin","threadId":"t","text":"hi"}`,
		"unknown scope":        `{"userId":"lin","scope":"everyone","text":"hi"}`,
		"task scope":           `{"userId":"lin","scope":"task","text":"hi"}`,
		"task scope with id":   `{"userId":"lin","scope":"task","scopeId":"t","text":"hi"}`,
		"slot name":            `{"userId":"lin","slot":"../x","text":"hi"}`,
		"empty image":          `{"userId":"lin","text":"hi","images":[""]}`,
		"many images":          `{"userId":"lin","text":"hi","images":[` + strings.Repeat(`"u",`, 16) + `"u"]}`,
		"a key twice":          `{"userId":"lin","text":"hi","text":"ho"}`,
		"a key in other case":  `{"userId":"lin","Text":"hi"}`,
		"a key in both cases":  `{"userId":"lin","text":"hi","TEXT":"ho"}`,
		"an escaped key twice": `{"userId":"lin","text":"hi","te\u0078t":"ho"}`,
		"image of a file":      `{"userId":"lin","text":"hi","images":["file:///etc/passwd"]}`,
		"image over FTP":       `{"userId":"lin","text":"hi","images":["https://example.com/a.png","ftp://example.com/a.png"]}`,
		"image without scheme": `{"userId":"lin","text":"hi","images":["example.com/a.png"]}`,
		"image on loopback":    `{"userId":"lin","text":"hi","images":["http://127.0.0.1/a.png"]}`,
		"image of metadata":    `{"userId":"lin","text":"hi","images":["http://169.254.169.254/latest/meta-data"]}`,
		"image on localhost":   `{"userId":"lin","text":"hi","images":["http://localhost:8080/a.png"]}`,
		"data that is none":    `{"userId":"lin","text":"hi","images":["data:text/html;base64,AAAA"]}`,
		"data without base64":  `{"userId":"lin","text":"hi","images":["data:image/png,AAAA"]}`,
		"deep nesting":         `{"userId":"lin","text":"hi","images":` + strings.Repeat("[", 20000) + strings.Repeat("]", 20000) + "}",
	} {
		t.Run(name, func(t *testing.T) {
			w.do(request{method: http.MethodPost, path: "/v1/chat", body: body}).want(http.StatusBadRequest, models.CodeInvalidRequest)
		})
	}
	text := strings.Repeat("x", 10_001)
	w.chat(obj{"userId": "lin", "text": text}).want(http.StatusRequestEntityTooLarge, models.CodeTooLarge)
	w.chat(obj{"userId": "lin", "text": strings.Repeat("x", 100<<10)}).want(http.StatusRequestEntityTooLarge, models.CodeTooLarge)
	if list := w.admin(http.MethodGet, "/inbound", nil).ok(); len(list.items()) != 0 {
		t.Errorf("something was stored: %s", list.body)
	}
	// What is unusual, but right.
	for _, id := range []string{"a/b:c%2F+ ", "用户🙂", strings.Repeat("x", 256), "A", "a", "\t", `\ud800`} {
		w.chat(obj{"userId": id, "text": "hi 🙂"}).content("hi 🙂")
	}
	w.do(request{method: http.MethodPost, path: "/v1/chat", body: `{"userId":"lin","text":"\ud83d\ude42 \\ud800"}`}).content(`🙂 \ud800`)
	if n := len(w.admin(http.MethodGet, "/sessions", nil).ok().items()); n != 8 {
		t.Errorf("%d sessions, want one for each id", n)
	}
}

func TestBadCompletionBodies(t *testing.T) {
	w := newWorld(t, options{})
	for name, body := range map[string]string{
		"empty":          "",
		"no messages":    `{"model":"assistant"}`,
		"messages typed": `{"model":"assistant","messages":"hi"}`,
		"unknown role":   `{"model":"assistant","messages":[{"role":"boss","content":"hi"}]}`,
		"content typed":  `{"model":"assistant","messages":[{"role":"user","content":5}]}`,
		"content part":   `{"model":"assistant","messages":[{"role":"user","content":[{"type":"smell"}]}]}`,
		"unknown model":  `{"model":"gpt-4","messages":[{"role":"user","content":"hi"}]}`,
		"NUL":            `{"model":"assistant","messages":[{"role":"user","content":"a\u0000"}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			w.do(request{method: http.MethodPost, path: "/v1/chat/completions", body: body}).want(http.StatusBadRequest, models.CodeInvalidRequest)
		})
	}
	for _, body := range []string{
		`{"model":"assistant","messages":[{"role":"system","content":"hi"}]}`,
		`{"model":"assistant","messages":[{"role":"user","content":""}]}`,
	} {
		w.do(request{method: http.MethodPost, path: "/v1/chat/completions", body: body, header: map[string]string{"X-Chatkeep-Chat-Id": "c"}}).want(http.StatusBadRequest, models.CodeInvalidRequest)
	}
	w.do(request{
		method: http.MethodPost, path: "/v1/chat/completions", header: map[string]string{"X-Chatkeep-Chat-Id": "\xff\xfe"},
		body: `{"model":"assistant","messages":[{"role":"user","content":"hi"}]}`,
	}).want(http.StatusBadRequest, models.CodeInvalidRequest)
}

func TestBadPathsAndQueries(t *testing.T) {
	w := newWorld(t, options{})
	known := session("agent:assistant:channel:any:scope:per_peer:api/default/lin")
	for _, c := range []struct {
		method, path string
		status       int
		code         models.ErrorCode
	}{
		{"GET", "/nothing", 404, models.CodeNotFound},
		{"GET", "/v1/chat", 405, models.CodeInvalidRequest},
		{"PUT", "/admin/v1/sessions", 405, models.CodeInvalidRequest},
		{"GET", "/admin/v1/sessions/", 404, models.CodeNotFound},
		{"POST", "/webhooks/feishu/none", 404, models.CodeNotFound},
		{"GET", "/v1/inbound/%00", 404, models.CodeNotFound},
		{"GET", "/v1/inbound/%ff%fe", 404, models.CodeNotFound},
		{"GET", "/v1/inbound/..%2f..", 404, models.CodeNotFound},
		{"GET", "/v1/inbound/" + strings.Repeat("x", 5000), 404, models.CodeNotFound},
		{"GET", "/admin/v1/sessions?limit=0", 400, models.CodeInvalidRequest},
		{"GET", "/admin/v1/sessions?limit=many", 400, models.CodeInvalidRequest},
		{"GET", "/admin/v1/sessions?limit=99999999999999999999", 400, models.CodeInvalidRequest},
		{"GET", "/admin/v1/sessions?state=lost", 400, models.CodeInvalidRequest},
		{"GET", "/admin/v1/sessions?scope=all", 400, models.CodeInvalidRequest},
		{"GET", "/admin/v1/sessions?q=%ff", 400, models.CodeInvalidRequest},
		{"GET", "/admin/v1/sessions?agentId=%00", 400, models.CodeInvalidRequest},
		{"GET", "/admin/v1/sessions?channel=%c3%28", 400, models.CodeInvalidRequest},
		{"GET", "/admin/v1/sessions?cursor=nonsense", 400, models.CodeInvalidRequest},
		{"GET", "/admin/v1/inbound?state=lost", 400, models.CodeInvalidRequest},
		{"GET", "/admin/v1/inbound?cursor=%00", 400, models.CodeInvalidRequest},
		{"GET", "/admin/v1/deliveries?state=lost", 400, models.CodeInvalidRequest},
		{"GET", "/admin/v1/deliveries?cursor=%21", 400, models.CodeInvalidRequest},
		{"POST", "/admin/v1/inbound/nothing/retry", 404, models.CodeNotFound},
		{"POST", "/admin/v1/deliveries/nothing/retry", 404, models.CodeNotFound},
		{"GET", "/admin/v1/sessions/nonsense", 400, models.CodeInvalidRequest},
		{"GET", "/admin/v1/sessions/%00", 400, models.CodeInvalidRequest},
		{"GET", "/admin/v1/sessions/%ff", 400, models.CodeInvalidRequest},
		{"GET", "/admin/v1/sessions/-", 400, models.CodeInvalidRequest},
		{"GET", "/admin/v1/sessions/-?key=%zz", 400, models.CodeInvalidRequest},
		{"GET", "/admin/v1" + known, 404, models.CodeSessionNotFound},
		{"DELETE", "/admin/v1" + known, 404, models.CodeSessionNotFound},
		{"POST", "/admin/v1" + known + "/reset", 404, models.CodeSessionNotFound},
		{"POST", "/admin/v1" + known + "/restore", 404, models.CodeSessionNotFound},
		{"POST", "/admin/v1" + known + "/cancel", 404, models.CodeSessionNotFound},
		{"GET", "/admin/v1" + known + "/messages", 404, models.CodeSessionNotFound},
		{"GET", "/admin/v1" + known + "/context", 404, models.CodeSessionNotFound},
		{"POST", "/admin/v1" + known + "/reset?dryRun=maybe", 400, models.CodeInvalidRequest},
		{"POST", "/admin/v1" + known + "/restore?reset=oldest", 400, models.CodeInvalidRequest},
		{"GET", "/admin/v1" + known + "/messages?before=x", 400, models.CodeInvalidRequest},
		{"GET", "/admin/v1" + known + "/messages?before=-1", 400, models.CodeInvalidRequest},
	} {
		t.Run(c.method+" "+c.path[:min(60, len(c.path))], func(t *testing.T) {
			token := adminToken
			if strings.HasPrefix(c.path, "/v1/") {
				token = ""
			}
			a := w.do(request{method: c.method, path: c.path, token: token}).want(c.status, c.code)
			if c.status == http.StatusMethodNotAllowed && a.header.Get("Allow") == "" {
				t.Error("no Allow")
			}
		})
	}
}

func TestBadAdminBodies(t *testing.T) {
	w := newWorld(t, options{})
	path := w.chat(obj{"userId": "lin", "text": "hi"}).ok().session()
	for _, body := range []string{
		"", "[]", `{"title":1}`, `{"colour":"red"}`, `{"title":"a\u0000"}`, `{"pinned":"yes"}`,
		`{"title":"` + strings.Repeat("x", 513) + `"}`, `{"model":"` + strings.Repeat("x", 257) + `"}`,
	} {
		w.admin(http.MethodPatch, path, body).want(http.StatusBadRequest, models.CodeInvalidRequest)
	}
	for _, body := range []obj{
		{}, {"channel": "fake", "account": "main", "text": "hi"},
		{"channel": "fake", "account": "main", "chatId": "c", "userId": "u", "text": "hi"},
		{"channel": "fake", "account": "main", "chatId": "c", "text": " "},
		{"channel": "fake", "account": "none", "chatId": "c", "text": "hi"},
		{"channel": "fake\x00", "account": "main", "chatId": "c", "text": "hi"},
		{"channel": "fake", "account": "main", "chatId": "c\x00", "text": "hi"},
		{"channel": "fake", "account": "main", "chatId": strings.Repeat("c", 257), "text": "hi"},
	} {
		w.admin(http.MethodPost, "/deliveries", body).want(http.StatusBadRequest, models.CodeInvalidRequest)
	}
	if n := len(w.admin(http.MethodGet, "/deliveries", nil).ok().items()); n != 1 { // the answer
		t.Errorf("%d deliveries are stored, want 1", n)
	}
}
