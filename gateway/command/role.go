package command

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/chatkeep/chatkeep/internal/text"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

// Role is a prompt that a session may take for its own.
type Role struct {
	ID string
	// Title and TitleZh are what people call it.
	Title   string
	TitleZh string
	Tags    []string
	Prompt  string
	// Examples are things to ask.
	Examples []string
}

func (r *Role) title(l text.Lang) string {
	if l == text.Chinese {
		return cmp.Or(r.TitleZh, r.Title, r.ID)
	}
	return cmp.Or(r.Title, r.ID)
}

// is reports whether somebody means the role.
func (r *Role) is(name string) bool {
	return strings.EqualFold(name, r.ID) || strings.EqualFold(name, r.Title) || name == r.TitleZh && name != ""
}

// role is /role [list [tag]|show ROLE|use ROLE|default].
func role(c *Call) (string, error) {
	parts := words(c.Args)
	verb, name := "list", ""
	if len(parts) > 0 {
		verb, name = strings.ToLower(parts[0]), strings.Join(parts[1:], " ")
	}
	switch {
	case verb == "list" || verb == "列表":
		return c.listRoles(strings.TrimPrefix(name, "#"))
	case (verb == "show" || verb == "查看") && name != "":
		return c.onRole(name, func(r *Role) (string, error) { return c.showRole(r), nil })
	case (verb == "use" || verb == "使用") && name != "":
		return c.onRole(name, c.useRole)
	case resetWords[verb] && name == "":
		return c.setPrompt("", text.Say(c.Lang, text.RoleReset))
	}
	return text.Say(c.Lang, text.RoleUsage), nil
}

func (c *Call) onRole(name string, do func(*Role) (string, error)) (string, error) {
	i := slices.IndexFunc(c.Roles, func(r Role) bool { return r.is(name) })
	if i < 0 {
		return text.Say(c.Lang, text.RoleMissing, name), nil
	}
	return do(&c.Roles[i])
}

func (c *Call) listRoles(tag string) (string, error) {
	current, err := c.session()
	if err != nil {
		return "", err
	}
	lines := []string{text.Say(c.Lang, text.RoleTitle)}
	for i := range c.Roles {
		r := &c.Roles[i]
		if tag != "" && !slices.ContainsFunc(r.Tags, func(t string) bool { return strings.EqualFold(t, tag) }) {
			continue
		}
		line := "- `" + r.ID + "` " + r.title(c.Lang)
		if len(r.Tags) > 0 {
			line += " #" + strings.Join(r.Tags, " #")
		}
		if current.SystemPrompt == r.Prompt {
			line += " ✓"
		}
		lines = append(lines, line)
	}
	if len(lines) == 1 {
		return text.Say(c.Lang, text.RoleNone), nil
	}
	return strings.Join(append(lines, text.Say(c.Lang, text.RoleUsage)), "\n"), nil
}

func (c *Call) showRole(r *Role) string {
	lines := []string{"**" + r.title(c.Lang) + "** (`" + r.ID + "`)", strings.TrimSpace(r.Prompt)}
	return strings.Join(append(lines, r.examples(c.Lang)...), "\n")
}

// examples are lines that say what to ask.
func (r *Role) examples(l text.Lang) []string {
	if len(r.Examples) == 0 {
		return nil
	}
	lines := []string{text.Say(l, text.RoleExamples)}
	for _, e := range r.Examples {
		lines = append(lines, "- "+e)
	}
	return lines
}

func (c *Call) useRole(r *Role) (string, error) {
	said := append([]string{text.Say(c.Lang, text.RoleUsed, r.title(c.Lang))}, r.examples(c.Lang)...)
	return c.setPrompt(r.Prompt, strings.Join(said, "\n"))
}

// setPrompt changes the session's system prompt, which is everybody's who shares it.
func (c *Call) setPrompt(prompt, said string) (string, error) {
	if c.Shared && !c.Admin {
		return text.Say(c.Lang, text.NeedsAdmin), nil
	}
	return said, c.change(func(s *models.Session) { s.SystemPrompt = prompt })
}

// session is the session as it is stored, or as it would be.
func (c *Call) session() (*models.Session, error) {
	s, err := c.Tx.Session()
	if errors.Is(err, store.ErrNotFound) {
		s, err = c.Session.Clone(), nil
	}
	return s, err
}

// change changes the session's settings.
func (c *Call) change(do func(*models.Session)) error {
	if err := c.Tx.Create(&c.Session); err != nil {
		return err
	}
	s, err := c.Tx.Session()
	if err != nil {
		return err
	}
	do(s)
	return c.Tx.Update(s, c.Now)
}
