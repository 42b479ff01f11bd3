package dingtalk

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/chatkeep/chatkeep/adapters"
	"github.com/chatkeep/chatkeep/adapters/dingtalk/dingtalktest"
)

var png = []byte("\x89PNG\r\n\x1a\n0000")

func dataURL(contentType string, data []byte) string {
	return "data:" + contentType + ";base64," + base64.StdEncoding.EncodeToString(data)
}

func TestFetch(t *testing.T) {
	b := newBench(t, setup{})
	b.run()
	m := b.directly()
	b.platform.AddFile("dl-1", "", png)
	b.platform.AddFile("dl-2", "application/pdf", []byte("%PDF"))
	media, err := b.adapter.Fetch(t.Context(), m, adapters.Attachment{Kind: adapters.Image, Key: "dl-1"}, int64(len(png)))
	if err != nil || !bytes.Equal(media.Data, png) || media.ContentType != "image/png" {
		t.Errorf("%+v, %v", media, err)
	}
	media, err = b.adapter.Fetch(t.Context(), m, adapters.Attachment{Kind: adapters.File, Key: "dl-2", Name: "报告.pdf"}, 100)
	if err != nil || media.Name != "报告.pdf" || media.ContentType != "application/pdf" {
		t.Errorf("%+v, %v", media, err)
	}
	if _, err = b.adapter.Fetch(t.Context(), m, adapters.Attachment{Key: "dl-1"}, int64(len(png))-1); !errors.Is(err, adapters.ErrTooLarge) {
		t.Errorf("too large: %v", err)
	}
	if _, err = b.adapter.Fetch(t.Context(), m, adapters.Attachment{Key: "expired"}, 100); err == nil || !strings.Contains(err.Error(), "downloadCode") {
		t.Errorf("unknown code: %v", err)
	}
}

func TestPicturesBecomePartOfTheText(t *testing.T) {
	b := newBench(t, setup{})
	b.run()
	d := replyTo(b.inGroup(), "a chart:")
	d.Files = []string{dataURL("image/png", png), "@already-there"}
	if _, err := b.send(d); err != nil {
		t.Fatal(err)
	}
	got := b.last("cidGroup==")
	if !strings.HasPrefix(got.Text, "a chart:\n\n![](@sim") || !strings.HasSuffix(got.Text, "\n\n![](@already-there)") || got.Via != dingtalktest.ViaWebhook {
		t.Errorf("%+v", got)
	}
}

func TestFilesAreMessages(t *testing.T) {
	b := newBench(t, setup{})
	b.run()
	b.platform.AddFile("report.pdf", "application/pdf", []byte("%PDF-1"))
	d := replyTo(b.directly(), "the report:")
	d.Files = []string{b.platform.URL() + "/files/report.pdf"}
	// The text fails once: the next attempt must not show the file again.
	b.platform.Fail(dingtalktest.OpWebhook, dingtalktest.ErrCode("130101"))
	if _, err := b.send(d); kindOfErr(err) != adapters.RateLimited {
		t.Fatal(err)
	}
	if _, err := b.send(d); err != nil {
		t.Fatal(err)
	}
	shown := b.platform.Shown()
	if len(shown) != 2 || shown[0].Kind != "file" || shown[0].Text != "report.pdf" || shown[1].Text != "the report:" {
		t.Errorf("%+v", shown)
	}
	if n := len(b.platform.Journal(dingtalktest.OpUpload)); n != 1 {
		t.Errorf("uploaded %d times", n)
	}
}

func TestFilesThatCannotBeSentAreNamed(t *testing.T) {
	b := newBench(t, setup{})
	b.run()
	d := replyTo(b.directly(), "three files:")
	d.Files = []string{b.platform.URL() + "/files/missing.pdf", dataURL("text/x-odd", []byte("x")), "neither"}
	if _, err := b.send(d); err != nil {
		t.Fatal(err)
	}
	if got := b.last("cidDirect=="); strings.Count(got.Text, "✗") != 3 {
		t.Errorf("%q", got.Text)
	}
	d = replyTo(b.directly(), "one file:")
	d.ID, d.Files = "other", []string{dataURL("application/pdf", []byte("%PDF"))}
	b.platform.Fail(dingtalktest.OpDirectSend, dingtalktest.Refusal(400, "resource.not.found"))
	if _, err := b.send(d); err != nil {
		t.Fatal(err)
	}
	if got := b.last("cidDirect=="); got.Text != "one file:\n\n[file.pdf ✗]" {
		t.Errorf("%q", got.Text)
	}
}

func TestUploadReplacesARefusedToken(t *testing.T) {
	b := newBench(t, setup{})
	b.run()
	m := b.directly()
	for i := range 2 {
		d := replyTo(m, "")
		d.ID, d.Files = fmt.Sprint(i), []string{dataURL("image/png", png)}
		if _, err := b.send(d); err != nil {
			t.Fatal(err)
		}
		b.platform.RevokeToken()
	}
	b.platform.Fail(dingtalktest.OpUpload, dingtalktest.Page(502))
	d := replyTo(m, "x")
	d.ID, d.Files = "3", []string{dataURL("image/png", png)}
	if _, err := b.send(d); kindOfErr(err) != adapters.Retry {
		t.Errorf("nothing is shown yet, but: %v", err)
	}
}

func TestDataURLs(t *testing.T) {
	for in, want := range map[string]string{
		"data:text/plain,a%20b":          "a b",
		"data:image/png;base64,aGVsbG8=": "hello",
		"data:nothing":                   "",
		"data:x;base64,%%%":              "",
	} {
		m, err := fromDataURL(in)
		if want == "" {
			if err == nil {
				t.Errorf("%s: no error", in)
			}
		} else if err != nil || string(m.Data) != want {
			t.Errorf("%s: %+v, %v", in, m, err)
		}
	}
}
