package feishu

import (
	"bytes"
	"encoding/base64"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/chatkeep/chatkeep/adapters/adaptertest"
	"github.com/chatkeep/chatkeep/adapters/feishu/feishutest"
)

func TestFiles(t *testing.T) {
	files := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/report.pdf" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/pdf")
		_, _ = io.WriteString(w, "%PDF-1.4")
	}))
	t.Cleanup(files.Close)
	r := startRig(t, rigOptions{})
	m := r.said(feishutest.Said{ChatID: "oc_1", Text: "hi"})
	png := []byte("\x89PNG\r\n\x1a\n0000")
	d := adaptertest.Delivery(m, "dlv_1", "here")
	d.Files = []string{
		"data:image/png;base64," + base64.StdEncoding.EncodeToString(png),
		files.URL + "/report.pdf",
		files.URL + "/missing.pdf",
		"data:text/plain,hello%20world",
	}
	for range 2 { // the second attempt shows nothing new
		if _, err := r.send(d); err != nil {
			t.Fatal(err)
		}
	}
	var types []string
	for _, v := range r.platform.FromBot() {
		types = append(types, v.Type)
	}
	if want := []string{"interactive", "image", "file", "text", "file"}; !slices.Equal(types, want) {
		t.Errorf("types %q, want %q", types, want)
	}
	views := r.platform.FromBot()
	key := fields[fileContent]([]byte(views[1].Raw)).ImageKey
	if b, ok := r.platform.Blob(key); !ok || !bytes.Equal(b.Data, png) {
		t.Error("the picture did not arrive")
	}
	if b, _ := r.platform.Blob(fields[fileContent]([]byte(views[2].Raw)).FileKey); b.Name != "report.pdf" {
		t.Errorf("name %q", b.Name)
	}
	if views[3].Text != files.URL+"/missing.pdf" {
		t.Errorf("text %q", views[3].Text)
	}
}
