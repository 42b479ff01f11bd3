package transfer

import (
	"errors"
	"fmt"
	"io"

	"github.com/chatkeep/chatkeep/store"
)

// ErrFormat means that the name of a format is none of [Formats].
var ErrFormat = errors.New("transfer: unknown format")

// Format is the form of an exported session.
type Format string

// The formats.
const (
	// JSONL holds everything, one [Record] per line; see there.
	JSONL Format = "jsonl"
	// Markdown and HTML are for people: what nobody was meant to see (reasoning) is
	// left out.
	Markdown Format = "markdown"
	HTML     Format = "html"
)

// Formats lists all of them.
func Formats() []Format { return []Format{JSONL, Markdown, HTML} }

// ParseFormat reads the name of a format; empty is [JSONL].
func ParseFormat(name string) (Format, error) {
	if name == "" {
		return JSONL, nil
	}
	for _, f := range Formats() {
		if string(f) == name {
			return f, nil
		}
	}
	return "", fmt.Errorf("%w %q: use jsonl, markdown or html", ErrFormat, name)
}

// ContentType is what HTTP calls the format.
func (f Format) ContentType() string {
	switch f {
	case Markdown:
		return "text/markdown; charset=utf-8"
	case HTML:
		return "text/html; charset=utf-8"
	default:
		return "application/x-ndjson"
	}
}

// document writes the parts of a session in one format, in this order: the
// session, then each slot with its messages, then the end.
type document interface {
	session(r *store.SessionRecord) error
	slot(c *store.ContextRecord) error
	message(m *store.MessageRecord) error
	end(n Counts) error
}

func newDocument(f Format, w io.Writer) (document, error) {
	switch f {
	case JSONL:
		return newJSONL(w), nil
	case Markdown:
		return &markdown{w: w}, nil
	case HTML:
		return &page{w: w}, nil
	default:
		return nil, fmt.Errorf("%w %q", ErrFormat, f)
	}
}
