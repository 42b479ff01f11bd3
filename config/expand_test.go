package config

import (
	"strings"
	"testing"
)

func TestExpansion(t *testing.T) {
	env := []string{"NAME=value", "EMPTY=", "EVIL=x\nadminToken: stolen", "N=12", "YES=true", "WAIT=3s", "_a1=u", "NESTED=${NAME}"}
	tests := []struct{ in, want string }{
		{"${NAME}", "value"},
		{"a ${NAME} b ${NAME}", "a value b value"},
		{"${EMPTY}", ""},
		{"$${NAME}", "${NAME}"},
		{"$$${NAME}", "$${NAME}"},
		{"$NAME", "$NAME"},
		{"{{now}} $ {x}", "{{now}} $ {x}"},
		{"${_a1}", "u"},
		{"${NESTED}", "${NAME}"},
		{"${EVIL}", "x\nadminToken: stolen"},
	}
	for _, test := range tests {
		t.Run(test.in, func(t *testing.T) {
			c := load(t, "agents: [{id: a, kind: echo, systemPrompt: '"+test.in+"'}]", env...)
			if got := c.Agents[0].SystemPrompt; got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}

	c := load(t, `
server: {listen: "127.0.0.1:${N}"}
agents: [{id: a, kind: echo, contextWindow: "${N}", images: "${YES}", timeout: "${WAIT}", temperature: "${N}", extraBody: {k: ["${NAME}"]}, headers: {X-Key: "${NAME}"}}]
`, env...)
	a := c.Agents[0]
	if a.ContextWindow != 12 || !a.Images || a.Timeout.String() != "3s" || *a.Temperature != 12 || string(a.ExtraBody["k"]) != `["value"]` || a.Headers["X-Key"].Reveal() != "value" {
		t.Errorf("agent = %+v", a)
	}
	if c.Server.Listen != "127.0.0.1:12" || c.Server.AdminToken != "" {
		t.Errorf("server = %+v", c.Server)
	}
}

func TestExpansionMistakes(t *testing.T) {
	for in, want := range map[string]string{
		"${UNSET}":    "chatkeep.yaml:3: storage.dsn: environment variable UNSET is not set: set it, or write $${UNSET} if the text is meant",
		"${A-b}":      "chatkeep.yaml:3: storage.dsn: ${…} needs the name of an environment variable; write $${ for a literal ${",
		"${":          "chatkeep.yaml:3: storage.dsn: ${…} needs the name of an environment variable; write $${ for a literal ${",
		"${}":         "chatkeep.yaml:3: storage.dsn: ${…} needs the name of an environment variable; write $${ for a literal ${",
		"x ${1A} ${}": "chatkeep.yaml:3: storage.dsn: ${…} needs the name of an environment variable; write $${ for a literal ${",
	} {
		if got := refuse(t, "storage:\n  driver: sqlite\n  dsn: '"+in+"'"); got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", in, got, want)
		}
	}
}

func TestExpansionLeavesKeysAlone(t *testing.T) {
	c := load(t, "identities: {'${WHO}': [api/default/x]}", "WHO=lin")
	if c.Identities["${WHO}"] == nil {
		t.Errorf("identities = %v", c.Identities)
	}
}

func TestSharedValuesExpandOnce(t *testing.T) {
	c := load(t, "agents: [{id: a, kind: echo, systemPrompt: &p '$${X}'}, {id: b, kind: echo, systemPrompt: *p}]")
	for _, a := range c.Agents {
		if a.SystemPrompt != "${X}" {
			t.Errorf("%s: %q", a.ID, a.SystemPrompt)
		}
	}
}

func TestExpansionFailureIsOneProblem(t *testing.T) {
	text := refuse(t, "limits: {workers: '${UNSET}'}\nagents: [{id: a, kind: openai, model: m, baseUrl: '${UNSET}'}]\nsession: {slots: ['${UNSET}']}")
	if lines := strings.Split(text, "\n"); len(lines) != 3 {
		t.Errorf("got %d problems, want 3:\n%s", len(lines), text)
	}
}
