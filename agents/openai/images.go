package openai

import (
	"net/url"
	"path"
	"strings"

	"github.com/chatkeep/chatkeep/models"
)

// withImageNames returns a message's text with its pictures named, for where they
// cannot be sent themselves.
func withImageNames(m *models.SessionMessage) string {
	text := m.Content
	for _, image := range m.Images {
		if text != "" {
			text += "\n"
		}
		text += "[image: " + imageName(image) + "]"
	}
	return text
}

// imageName is the file's name, or a data URL's type. The rest of a URL may hold a
// signature and is left out.
func imageName(image string) string {
	if data, ok := strings.CutPrefix(image, "data:"); ok {
		media, _, _ := strings.Cut(data, ",")
		media, _, _ = strings.Cut(media, ";")
		return orUnnamed(media)
	}
	u, err := url.Parse(image)
	if err != nil {
		return orUnnamed("")
	}
	return orUnnamed(strings.Trim(path.Base(u.Path), "/."))
}

func orUnnamed(name string) string {
	if name == "" {
		return "unnamed"
	}
	return name
}
