package command_test

import (
	"strings"
	"testing"

	"github.com/chatkeep/chatkeep/gateway/command"
)

func TestParse(t *testing.T) {
	cases := []struct {
		text, name, args string // an empty name: it is text for the agent
	}{
		{"/help", "help", ""},
		{"  /help  ", "help", ""},
		{"/HELP", "help", ""},
		{"/new trip", "new", "trip"},
		{"/new\ntrip", "new", "trip"},
		{"/new\ttrip to  town ", "new", "trip to  town"},
		{"/new　trip", "new", "trip"}, // the blank of Chinese keyboards
		{"/新会话 旅行", "new", "旅行"},
		{"新会话", "new", ""},
		{"停止", "stop", ""},
		{"/重置", "reset", ""},
		{"重置", "", ""}, // what destroys needs its slash
		{"撤销", "", ""},
		{"停止 一下", "", ""}, // a bare alias is the whole message or text
		{"请停止", "", ""},
		{"help", "", ""},
		{"stop it", "", ""},
		{"please /stop", "", ""},
		{"/unknown word", "", ""},
		{"/", "", ""},
		{"// stop", "", ""},
		{"/stopp", "", ""},
		{"", "", ""},
		{" \n ", "", ""},
	}
	for _, c := range cases {
		got, ok := command.Parse(c.text)
		if ok != (c.name != "") || got.Name != c.name || got.Args != c.args {
			t.Errorf("Parse(%q) = %+v, %v; want %q with %q", c.text, got, ok, c.name, c.args)
		}
	}
}

func TestTableHoldsNothingTwice(t *testing.T) {
	seen := map[string]string{}
	for _, c := range command.Table {
		if len(c.Aliases) == 0 || c.Help == "" {
			t.Errorf("%s has no Chinese name or no help", c.Name)
		}
		for _, name := range append([]string{c.Name}, c.Aliases...) {
			if other, taken := seen[name]; taken {
				t.Errorf("%s names both %s and %s", name, other, c.Name)
			}
			seen[name] = c.Name
			if got, ok := command.Parse("/" + name + " rest"); !ok || got.Name != c.Name || got.Args != "rest" {
				t.Errorf("/%s is %+v, %v", name, got, ok)
			}
		}
		if command.Find(c.Name) == nil {
			t.Errorf("Find does not know %s", c.Name)
		}
		if got, ok := command.Parse(c.Aliases[0]); ok == c.Destroys {
			t.Errorf("the bare alias of %s: %+v, %v", c.Name, got, ok)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"/new trip", "新会话", "/", "/\xff", "/stop\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, ok := command.Parse(text)
		if !ok {
			return
		}
		if command.Find(got.Name) == nil {
			t.Errorf("Parse(%q) names %q, which does not exist", text, got.Name)
		}
		if got.Args != strings.TrimSpace(got.Args) || !strings.Contains(text, got.Args) {
			t.Errorf("Parse(%q) has arguments %q", text, got.Args)
		}
	})
}
