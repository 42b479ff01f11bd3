package command

import (
	"slices"
	"strings"
)

// Invocation is a command as somebody wrote it.
type Invocation struct {
	// Name is the command's English name, without the slash.
	Name string `json:"name"`
	// Args is the rest of the message, trimmed.
	Args string `json:"args,omitempty"`
}

// Parse finds the command in a message. A slash command is the first word; an
// alias without the slash counts only as the whole message, and never for a
// command that destroys something. Everything else is text for the agent.
func Parse(text string) (Invocation, bool) {
	text = strings.TrimSpace(text)
	word, rest, _ := strings.Cut(text, " ")
	if i := strings.IndexAny(word, "\n\t　"); i >= 0 {
		word, rest = text[:i], text[i:]
	}
	name, slashed := strings.CutPrefix(word, "/")
	rest = strings.TrimSpace(strings.TrimLeft(rest, "　"))
	for i := range Table {
		c := &Table[i]
		switch {
		case slashed && c.is(strings.ToLower(name)):
			return Invocation{Name: c.Name, Args: rest}, true
		case !slashed && rest == "" && !c.Destroys && c.alias(word):
			return Invocation{Name: c.Name}, true
		}
	}
	return Invocation{}, false
}

// Find returns the command of that name, or nil.
func Find(name string) *Command {
	for i := range Table {
		if Table[i].Name == name {
			return &Table[i]
		}
	}
	return nil
}

func (c *Command) is(name string) bool { return name == c.Name || c.alias(name) }

func (c *Command) alias(word string) bool {
	return slices.Contains(c.Aliases, word)
}
