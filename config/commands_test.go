package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestBuiltinRoles(t *testing.T) {
	roles, err := Roles{}.Library()
	if err != nil || len(roles) < 5 {
		t.Fatalf("%d roles, %v", len(roles), err)
	}
	for _, r := range roles {
		if r.Title == "" || r.TitleZh == "" || len(r.Tags) == 0 || len(r.Examples) == 0 {
			t.Errorf("%s is not complete: %+v", r.ID, r)
		}
	}
}

func TestRolesFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "roles.yaml")
	for document, want := range map[string]string{
		"roles: [{id: poet, title: Poet, tags: [fun], prompt: Rhyme., examples: [a rose]}]": "",
		"roles: []":                     "",
		"roles: [{id: a b, prompt: x}]": "roles[0].id",
		"roles: [{id: a}]":              "prompt is missing",
		"roles: [{id: a, prompt: x}, {id: a, prompt: y}]": "twice",
		"roles: [{id: a, prompt: x, promt: y}]":           "promt",
		"roles: [":                                        "roles",
	} {
		if err := os.WriteFile(file, []byte(document), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Parse("c.yaml", []byte("roles: {file: "+file+"}"), nil)
		switch {
		case want == "" && err != nil:
			t.Errorf("%s: %v", document, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "roles.file")):
			t.Errorf("%s: %v, want %q", document, err, want)
		}
	}
	if _, err := Parse("c.yaml", []byte("roles: {file: /nowhere/roles.yaml}"), nil); err == nil {
		t.Error("a missing file is accepted")
	}
}

func TestToolServerSecrets(t *testing.T) {
	dir := t.TempDir()
	env, headers := filepath.Join(dir, "env"), filepath.Join(dir, "headers")
	for file, text := range map[string]string{env: "API_KEY=a:b=c\n\nREGION = eu\n", headers: "Authorization: Bearer x=y\n"} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c := load(t, `
agents: [{id: a, kind: echo, approve: ["web__*", send_to_chat], models: [big, small]}]
mcpServers:
  - {name: one, command: [x], envFile: `+env+`, timeout: 5s}
  - {name: web, url: "http://h/", headersFile: `+headers+`}
  - {name: two, command: [x], env: {KEY: "${K}"}}
`, "K=from the environment")
	one, web, two := c.MCPServers[0], c.MCPServers[1], c.MCPServers[2]
	if one.Env["API_KEY"].Reveal() != "a:b=c" || one.Env["REGION"].Reveal() != "eu" || one.Timeout.Std().Seconds() != 5 {
		t.Errorf("got %#v", one.Env["API_KEY"].Reveal())
	}
	if web.Headers["Authorization"].Reveal() != "Bearer x=y" || two.Env["KEY"].Reveal() != "from the environment" {
		t.Errorf("got %q, %q", web.Headers["Authorization"].Reveal(), two.Env["KEY"].Reveal())
	}
	if shown := asJSON(t, c); strings.Contains(shown, "Bearer") || strings.Contains(shown, "from the environment") {
		t.Errorf("a secret is shown: %s", shown)
	}
	for document, want := range map[string]string{
		"mcpServers: [{name: a, command: [x], headers: {X: y}}]":       "belong to a url",
		"mcpServers: [{name: a, url: http://h/, env: {X: y}}]":         "belongs to a command",
		"mcpServers: [{name: a, url: http://h/, headers: {'X Y': y}}]": "no HTTP header name",
		"mcpServers: [{name: a, command: [x], env: {'X=Y': y}}]":       "no name of a variable",
		"mcpServers: [{name: a, command: [x], timeout: 0s}]":           "must not be 0",
		"agents: [{id: a, kind: echo, approve: ['[']}]":                "must be a tool's name",
		"agents: [{id: a, kind: echo, models: [m, m]}]":                "twice",
		"approvals: {expireAfter: 0s}":                                 "must not be 0",
	} {
		if _, err := Parse("c.yaml", []byte(document), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", document, err, want)
		}
	}
}

// The role file that the documents show can be used as it is.
func TestRolesOfTheDocuments(t *testing.T) {
	for _, name := range []string{"commands.md", "commands.zh.md"} {
		document, err := os.ReadFile(filepath.Join("..", "docs", name))
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(document), "<!-- not a configuration")
		_, rest, _ = strings.Cut(rest, "```yaml\n")
		example, _, ok := strings.Cut(rest, "```")
		file := filepath.Join(t.TempDir(), "roles.yaml")
		if err := os.WriteFile(file, []byte(example), 0o600); err != nil || !ok {
			t.Fatal(err)
		}
		if roles, err := (Roles{File: file}).Library(); err != nil || len(roles) != 1 || roles[0].TitleZh != "诗人" {
			t.Errorf("%s: %+v, %v", name, roles, err)
		}
	}
}
