package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWordLists(t *testing.T) {
	dir := t.TempDir()
	good, bad := filepath.Join(dir, "good.txt"), filepath.Join(dir, "bad.txt")
	for name, content := range map[string]string{good: "敏感词\n", bad: "ok\n\xff\n"} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c := load(t, "limits: {words: [{file: "+good+"}, {file: "+good+", in: off, out: refuse}], exempt: [feishu/main/ou_1, 'api/*']}")
	if got := c.Limits.Words[0]; got != (WordList{good, WordsMask, WordsMask}) {
		t.Errorf("%+v", got)
	}
	for document, complaint := range map[string]string{
		"words: [{file: " + bad + "}]":                     "limits.words[0].file: " + bad + ":2: is not UTF-8 text",
		"words: [{file: " + dir + "/none.txt}]":            "limits.words[0].file: cannot read " + dir + "/none.txt: no such file",
		"words: [{in: mask}]":                              "limits.words[0].file: is missing",
		"words: [{file: " + good + ", in: hide}]":          "limits.words[0].in: must be one of off, mask, refuse",
		"words: [{file: " + good + ", in: off, out: off}]": "limits.words[0]: does nothing",
		"exempt: [ou_1]":                                   "limits.exempt[0]: needs channel/account/id",
		"turnsPerUser: -1":                                 "limits.turnsPerUser: must not be negative",
		"tokensPerDayPerTask: -1":                          "limits.tokensPerDayPerTask: must not be negative",
	} {
		_, err := Parse("c.yaml", []byte("limits: {"+document+"}"), nil)
		if err == nil || !strings.Contains(err.Error(), complaint) {
			t.Errorf("%s: %v, want %q", document, err, complaint)
		}
	}
}
