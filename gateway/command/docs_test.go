package command

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chatkeep/chatkeep/internal/text"
)

// Marks around the table in the documents.
const (
	tableBegins = "<!-- commands -->\n"
	tableEnds   = "<!-- /commands -->\n"
)

// documents say what the table of commands says. UPDATE_DOCS=1 writes it into them.
func TestDocumentsShowTheTable(t *testing.T) {
	for lang, name := range map[text.Lang]string{text.English: "commands.md", text.Chinese: "commands.zh.md"} {
		file := filepath.Join("..", "..", "docs", name)
		document, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		head, rest, ok := strings.Cut(string(document), tableBegins)
		_, tail, okEnd := strings.Cut(rest, tableEnds)
		if !ok || !okEnd {
			t.Fatalf("%s has no table", name)
		}
		want := head + tableBegins + documented(lang) + tableEnds + tail
		if want == string(document) {
			continue
		}
		if os.Getenv("UPDATE_DOCS") == "" {
			t.Errorf("%s does not show the commands as they are; run this test with UPDATE_DOCS=1", name)
			continue
		}
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// documented is the table in Markdown.
func documented(l text.Lang) string {
	head := [...]string{"command", "aliases", "does", "bare alias", "where several people share the session"}
	bare, admin, anybody := "yes", "administrators", "everybody"
	if l == text.Chinese {
		head = [...]string{"命令", "别名", "作用", "可单独使用别名", "多人共用会话时"}
		bare, admin, anybody = "是", "仅管理员", "所有人"
	}
	var b strings.Builder
	b.WriteString("| " + strings.Join(head[:], " | ") + " |\n|---|---|---|---|---|\n")
	for _, c := range Table {
		alone, who := "", anybody
		if !c.Destroys {
			alone = bare
		}
		if c.AdminIfShared {
			who = admin
		}
		usage := strings.ReplaceAll(strings.TrimSpace("/"+c.Name+" "+c.Usage), "|", `\|`)
		b.WriteString("| `" + usage + "` | " + strings.Join(c.Aliases, " ") + " | " + text.Say(l, c.Help) + " | " + alone + " | " + who + " |\n")
	}
	return b.String()
}

// The table is sound: names and aliases are unambiguous, everything is said in both
// languages.
func TestTable(t *testing.T) {
	seen := map[string]string{}
	for _, c := range Table {
		for _, name := range append([]string{c.Name}, c.Aliases...) {
			if seen[name] != "" {
				t.Errorf("%q is both %s and %s", name, seen[name], c.Name)
			}
			seen[name] = c.Name
		}
		if len(c.Aliases) == 0 || c.run == nil || c.Help == "" || text.Say(text.English, c.Help) == "" || text.Say(text.Chinese, c.Help) == "" {
			t.Errorf("%s is not complete", c.Name)
		}
	}
	for name := range strings.FieldsSeq("help new reset stop retry undo status history compact slot remember forget memory model task approve whoami") {
		if seen[name] != name {
			t.Errorf("there is no command %s", name)
		}
	}
}
