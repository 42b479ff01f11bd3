package transfer

import (
	"cmp"
	_ "embed" // for the page
	"html/template"
	"io"
	"regexp"
	"strings"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

//go:embed page.html
var pageText string

var pageParts = template.Must(template.New("page").Parse(pageText))

// page writes a self-contained page that fetches nothing when it is opened.
type page struct{ w io.Writer }

type sessionPart struct {
	Title   string
	Facts   []fact
	Summary string
}

type messagePart struct {
	Role    models.Role
	Heading string
	Quote   string
	Content string
	Images  []imagePart
	Calls   []models.ToolCall
}

// imagePart is a picture that the page holds, a link to one, or only its name.
type imagePart struct {
	Embedded template.URL
	Link     string
	Name     string
}

func (d *page) session(r *store.SessionRecord) error {
	s := &r.Session
	return pageParts.ExecuteTemplate(d.w, "session", sessionPart{
		Title: cmp.Or(s.Title, s.Key), Facts: facts(r), Summary: s.CompactedSummary,
	})
}

func (d *page) slot(c *store.ContextRecord) error {
	return pageParts.ExecuteTemplate(d.w, "slot", c.Slot.ID)
}

func (d *page) message(m *store.MessageRecord) error {
	part := messagePart{Role: m.Role, Heading: heading(&m.SessionMessage), Content: m.Content, Calls: m.ToolCalls}
	if m.Quote != nil {
		part.Quote = quoted(m.Quote)
	}
	for _, image := range m.Images {
		part.Images = append(part.Images, imageOf(image))
	}
	return pageParts.ExecuteTemplate(d.w, "message", part)
}

func (d *page) end(Counts) error { return pageParts.ExecuteTemplate(d.w, "end", nil) }

// picture is a data URL that a browser shows and never runs: not SVG, nothing but base64.
var picture = regexp.MustCompile(`^data:image/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/=]+$`)

func imageOf(url string) imagePart {
	switch {
	case picture.MatchString(url):
		return imagePart{Embedded: template.URL(url)} //nolint:gosec // the expression above lets base64 of a picture through alone
	case strings.HasPrefix(url, "https://"), strings.HasPrefix(url, "http://"):
		return imagePart{Link: url}
	default:
		return imagePart{Name: imageName(url)}
	}
}
