package command

import (
	"slices"
	"strings"

	"github.com/chatkeep/chatkeep/internal/text"
	"github.com/chatkeep/chatkeep/models"
)

// resetWords take a session's own setting back.
var resetWords = map[string]bool{"default": true, "reset": true, "默认": true, "重置": true}

// model is /model [name].
func model(c *Call) (string, error) {
	asked := strings.Join(words(c.Args), " ")
	if asked == "" {
		return c.showModel()
	}
	name := ""
	if !resetWords[strings.ToLower(asked)] {
		i := slices.IndexFunc(c.Models, func(m string) bool { return m == asked })
		if i < 0 {
			i = slices.IndexFunc(c.Models, func(m string) bool { return strings.EqualFold(m, asked) })
		}
		if i < 0 {
			return text.Say(c.Lang, text.ModelUnknown, asked, c.modelList("")), nil
		}
		name = c.Models[i]
	}
	err := c.change(func(s *models.Session) { s.Model = name })
	switch {
	case err != nil:
		return "", err
	case name == "":
		return text.Say(c.Lang, text.ModelReset, c.ownModel()), nil
	}
	return text.Say(c.Lang, text.ModelChosen, name), nil
}

func (c *Call) showModel() (string, error) {
	current, err := c.session()
	if err != nil {
		return "", err
	}
	now := current.Model
	if now == "" {
		now = c.ownModel()
	}
	return text.Say(c.Lang, text.ModelShown, now, c.modelList(now)), nil
}

// ownModel is the agent's own model.
func (c *Call) ownModel() string {
	if len(c.Models) == 0 {
		return c.Session.AgentID
	}
	return c.Models[0]
}

func (c *Call) modelList(current string) string {
	var lines []string
	for _, m := range c.Models {
		line := "- `" + m + "`"
		if m == current {
			line += " ✓"
		}
		lines = append(lines, line)
	}
	if len(lines) == 0 {
		return text.Say(c.Lang, text.ModelNone)
	}
	return strings.Join(lines, "\n")
}
