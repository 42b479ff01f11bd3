package builtin

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/chatkeep/chatkeep/agents"
	"github.com/chatkeep/chatkeep/internal/clock"
)

func only(t *testing.T, s *Set, name string) agents.Tool {
	t.Helper()
	tools, err := s.Toolset([]string{"unknown", name}, nil).Tools(t.Context())
	if err != nil || len(tools) != 1 {
		t.Fatalf("%d tools, %v", len(tools), err)
	}
	return tools[0]
}

func TestTime(t *testing.T) {
	shanghai, err := time.LoadLocation("Asia/Shanghai")
	if err != nil {
		t.Fatal(err)
	}
	// A moment on two days at once, an hour before Berlin puts its clocks back.
	set := New(shanghai, nil, nil, nil, clock.NewFake(time.Date(2026, 10, 24, 23, 59, 59, 0, time.UTC)))
	for args, want := range map[string]string{
		`{}`:                        `{"time":"2026-10-25T07:59:59+08:00","weekday":"Sunday","zone":"Asia/Shanghai","unix":1792886399}`,
		`{"zone":"UTC"}`:            `{"time":"2026-10-24T23:59:59Z","weekday":"Saturday","zone":"UTC","unix":1792886399}`,
		`{"zone":"Europe/Berlin"}`:  `{"time":"2026-10-25T01:59:59+02:00","weekday":"Sunday","zone":"Europe/Berlin","unix":1792886399}`,
		`{"zone":"America/Denver"}`: `{"time":"2026-10-24T17:59:59-06:00","weekday":"Saturday","zone":"America/Denver","unix":1792886399}`,
	} {
		got, err := only(t, set, Time).Call(t.Context(), []byte(args), "")
		if err != nil || got.Text != want {
			t.Errorf("%s: %s, %v; want %s", args, got.Text, err, want)
		}
	}
	for _, zone := range []string{"Atlantis", "../../etc/passwd", "CST-8"} {
		args, err := json.Marshal(timeArguments{zone})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := only(t, set, Time).Call(t.Context(), args, ""); err == nil || !strings.Contains(err.Error(), "Asia/Shanghai") {
			t.Errorf("%s: %+v, %v", zone, got, err)
		}
	}
}

func TestSpecs(t *testing.T) {
	for _, name := range Names() {
		spec := only(t, New(time.UTC, nil, nil, nil, clock.Real()), name).Spec()
		var schema struct{ Type string }
		if spec.Name != name || spec.Description == "" || json.Unmarshal(spec.Parameters, &schema) != nil || schema.Type != "object" {
			t.Errorf("%s: %+v", name, spec)
		}
	}
}
