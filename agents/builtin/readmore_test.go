package builtin

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/sessionmgr/chatctx"
)

// What was cut can be read piece by piece, each character once, in its session alone.
func TestReadMore(t *testing.T) {
	m := newMemory()
	whole := strings.Repeat("很长的结果 with words. ", 6000)
	m.whole = map[string]*models.FullResult{"a\x00r1": {Text: whole, Size: len(whole) + 7}}
	tool := only(t, m.set(), ReadMore)
	ctx := chatctx.WithSessionKey(t.Context(), "a")
	var read strings.Builder
	offset, calls := 0, 0
	for ; ; calls++ {
		got, err := tool.Call(ctx, fmt.Appendf(nil, `{"result":"r1","offset":%d}`, offset), "key")
		if err != nil {
			t.Fatal(err)
		}
		i := strings.LastIndex(got.Text, "\n[bytes ")
		read.WriteString(got.Text[:i])
		var from, to, size int
		if _, err := fmt.Sscanf(got.Text[i+1:], "[bytes %d to %d of %d;", &from, &to, &size); err != nil || from != offset || size != len(whole)+7 {
			t.Fatalf("%s: %v", got.Text[i:], err)
		}
		if offset = to; strings.Contains(got.Text[i:], "the rest was not kept") {
			break
		}
	}
	if read.String() != whole || calls < 3 {
		t.Errorf("read %d of %d bytes in %d calls", read.Len(), len(whole), calls)
	}
	for _, args := range []string{`{"result":"r2"}`, `{"result":"r1","offset":99999999}`} {
		if _, err := tool.Call(ctx, json.RawMessage(args), "key"); err == nil {
			t.Errorf("%s is answered", args)
		}
	}
	if _, err := tool.Call(chatctx.WithSessionKey(t.Context(), "b"), json.RawMessage(`{"result":"r1"}`), "key"); err == nil {
		t.Error("another session reads it")
	}
}
