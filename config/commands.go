package config

import (
	_ "embed" // for roles.yaml
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
)

// Approvals is how calls of tools wait that a person must approve.
type Approvals struct {
	// ExpireAfter is how long somebody may take to decide.
	ExpireAfter Duration `json:"expireAfter"`
}

func defaultApprovals() Approvals { return Approvals{ExpireAfter: Duration(24 * time.Hour)} }

// Commands is what operators may change about the chat commands.
type Commands struct {
	Help Help `json:"help"`
}

// Help is what /help says, by language; empty: the list of commands. {{commands}}
// stands for that list.
type Help struct {
	En string `json:"en"`
	Zh string `json:"zh"`
}

// Roles is the library of prompts that /role offers.
type Roles struct {
	// File is a YAML file of roles; empty: the built-in ones.
	File string `json:"file"`
}

// Role is one prompt of the library.
type Role struct {
	ID    string `yaml:"id"`
	Title string `yaml:"title"`
	// TitleZh is shown to people who read Chinese; empty: Title is.
	TitleZh string   `yaml:"titleZh"`
	Tags    []string `yaml:"tags"`
	Prompt  string   `yaml:"prompt"`
	// Examples are things to ask.
	Examples []string `yaml:"examples"`
}

//go:embed roles.yaml
var builtinRoles string

const (
	// maxRolesFile bounds the library's file, in bytes.
	maxRolesFile = 1 << 20
	// maxRolePrompt bounds a prompt, in bytes.
	maxRolePrompt = 64 << 10
)

// Library returns the roles; those of the file replace the built-in ones.
func (r Roles) Library() ([]Role, error) {
	document, name := []byte(builtinRoles), "built-in roles"
	if r.File != "" {
		var err error
		if document, err = readFile(r.File, maxRolesFile); err != nil {
			return nil, err
		}
		name = r.File
	}
	var library struct {
		Roles []Role `yaml:"roles"`
	}
	if err := yaml.UnmarshalWithOptions(document, &library, yaml.Strict()); err != nil {
		return nil, fmt.Errorf("%s: %s", name, strings.Join(strings.Fields(yaml.FormatError(err, false, false)), " "))
	}
	seen := map[string]bool{}
	for i, role := range library.Roles {
		switch {
		case !ownName.MatchString(role.ID):
			return nil, fmt.Errorf("%s: roles[%d].id must be 1 to 64 letters, digits, dots, underscores or hyphens", name, i)
		case seen[role.ID]:
			return nil, fmt.Errorf("%s: roles[%d].id: %q is there twice", name, i, role.ID)
		case strings.TrimSpace(role.Prompt) == "":
			return nil, fmt.Errorf("%s: roles[%d].prompt is missing", name, i)
		case len(role.Prompt) > maxRolePrompt:
			return nil, fmt.Errorf("%s: roles[%d].prompt is longer than %d KiB", name, i, maxRolePrompt>>10)
		}
		seen[role.ID] = true
	}
	return library.Roles, nil
}

func (k *checker) commands() {
	if k.config.Approvals.ExpireAfter == 0 {
		k.fail("approvals.expireAfter", "must not be 0: nothing waits for a person for ever")
	}
	if _, err := k.config.Roles.Library(); err != nil {
		k.fail("roles.file", "%s", err.Error())
	}
}

// patterns checks names of tools with * and ?.
func (k *checker) patterns(at func(i int) string, patterns []string) {
	for i, p := range patterns {
		if _, err := path.Match(p, ""); err != nil || p == "" || strings.ContainsFunc(p, func(r rune) bool { return r <= ' ' }) {
			k.fail(at(i), "must be a tool's name such as web__delete_file, or a pattern such as web__*, not %q", clip(p))
		}
	}
}

// modelNames checks names that /model offers.
func (k *checker) modelNames(at func(i int) string, models []string) {
	for i, m := range models {
		switch {
		case strings.TrimSpace(m) == "" || len(m) > 256 || hasControl(m):
			k.fail(at(i), "must be the name of a model, of 256 bytes at most")
		case slices.Contains(models[:i], m):
			k.fail(at(i), "%q is there twice: keep one", clip(m))
		}
	}
}
