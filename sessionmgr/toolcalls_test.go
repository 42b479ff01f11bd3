package sessionmgr_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/chatkeep/chatkeep/sessionmgr"
)

func TestIsExecutableToolCallArgs(t *testing.T) {
	for _, c := range []struct {
		name, args string
		want       bool
	}{
		{"tool", `{}`, true},
		{"tool", `{"a":[1,2]}`, true},
		{"", `{}`, false},
		{" \t", `{}`, false},
		{"tool", ``, false},
		{"tool", `{"a":`, false},
		{"tool", `{} {}`, false},
		{"bash", `{"command":"ls"}`, true},
		{"bash", `{"command":" "}`, false},
		{"bash", `{"command":1}`, false},
		{"bash", `{"Command":"ls"}`, false},
		{"bash", `{}`, false},
		{"bash", `"ls"`, false},
		{"bash", `null`, false},
		{"skill", `{"skill":"pdf"}`, true},
		{"skill", `{"command":"pdf"}`, false},
		{"bashful", `{}`, true},
	} {
		if got := sessionmgr.IsExecutableToolCallArgs(c.name, c.args); got != c.want {
			t.Errorf("(%q, %s) = %v", c.name, c.args, got)
		}
	}
}

func TestTruncateToolArguments(t *testing.T) {
	long := strings.Repeat("汉字<&>", 100)
	quoted := func(s string) string {
		data, err := json.Marshal(s)
		check(t, err)
		return string(data)
	}
	args := fmt.Sprintf(`{ "path": %[1]s, "content" : %[1]s,"n":12345678901234567890, "edits":[{"search":%[1]s,"x":{"replace":"kept"}}, "text", %[1]s], "text": [%[1]s], "name":"content" , "e": "\u00e9" }`, quoted(long))
	got := sessionmgr.TruncateToolArguments(args, 100)
	if !json.Valid([]byte(got)) {
		t.Fatalf("not JSON: %s", got)
	}
	var decoded struct {
		Path, Content, Name string
		N                   json.Number
		Edits               []json.RawMessage
		Text                []string
	}
	check(t, json.Unmarshal([]byte(got), &decoded))
	if decoded.Path != long || decoded.Text[0] != long || decoded.N != "12345678901234567890" || decoded.Name != "content" || !strings.Contains(got, `"\u00e9" }`) {
		t.Errorf("changed what must stay: %s", got)
	}
	if decoded.Content != sessionmgr.TruncateToolResult(long, 100) {
		t.Errorf("content is %q", decoded.Content)
	}
	if edit := string(decoded.Edits[0]); len(edit) > 500 || !strings.Contains(edit, "kept") {
		t.Errorf("edit is %s", edit)
	}
	for _, same := range []string{`{"content":"short"}`, ``, `{broken`, `{"content":` + quoted(strings.Repeat("汉", 100)) + `}`} {
		if got := sessionmgr.TruncateToolArguments(same, 100); got != same {
			t.Errorf("changed %q to %q", same, got)
		}
	}
	if got := sessionmgr.TruncateToolArguments("{broken"+long, 100); !json.Valid([]byte(got)) || utf8.RuneCountInString(got) > 200 {
		t.Errorf("broken: %s", got)
	}
}

func FuzzTruncateToolArguments(f *testing.F) {
	f.Add(`{"path":"a","content":"`+strings.Repeat("x", 200)+`","edits":[{"search":"a","replace":"b"}]}`, 20)
	f.Add(`[{"text":"\ud83d\ude00\u0000","n":1e400}]`, 3)
	f.Add(`{"text":"\ud800 lone"}`, 3)
	f.Add(`{broken`, 2)
	f.Add(`{"text":{"text":"`+strings.Repeat("汉", 50)+`"},"text":"`+strings.Repeat("y", 50)+`"}`, 10)
	f.Fuzz(func(t *testing.T, args string, limit int) {
		got := sessionmgr.TruncateToolArguments(args, limit)
		if json.Valid([]byte(args)) && !json.Valid([]byte(got)) {
			t.Fatalf("%q became %q", args, got)
		}
		if again := sessionmgr.TruncateToolArguments(got, limit); json.Valid([]byte(args)) && again != got {
			t.Fatalf("a second time gives %q after %q", again, got)
		}
		var value any
		if limit > 0 && json.Unmarshal([]byte(got), &value) == nil {
			checkLargeFields(t, value, limit)
		}
	})
}

// checkLargeFields walks a JSON value.
func checkLargeFields(t *testing.T, value any, limit int) {
	t.Helper()
	large := map[string]bool{"content": true, "new_content": true, "body": true, "data": true, "code": true, "text": true, "search": true, "replace": true}
	switch value := value.(type) {
	case []any:
		for _, element := range value {
			checkLargeFields(t, element, limit)
		}
	case map[string]any:
		for name, element := range value {
			checkLargeFields(t, element, limit)
			text, isText := element.(string)
			if isText && large[name] && utf8.RuneCountInString(text) > limit {
				t.Fatalf("%s has %d characters, at most %d", name, utf8.RuneCountInString(text), limit)
			}
		}
	}
}

func FuzzIsExecutableToolCallArgs(f *testing.F) {
	f.Add("bash", `{"command":"ls"}`)
	f.Fuzz(func(t *testing.T, name, args string) {
		if sessionmgr.IsExecutableToolCallArgs(name, args) && (strings.TrimSpace(name) == "" || !json.Valid([]byte(args))) {
			t.Fatalf("(%q, %q) cannot be run", name, args)
		}
	})
}
