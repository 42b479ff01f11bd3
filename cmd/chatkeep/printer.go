package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"

	"github.com/mattn/go-isatty"

	"github.com/chatkeep/chatkeep/agents"
	"github.com/chatkeep/chatkeep/gateway/httpapi"
	"github.com/chatkeep/chatkeep/gateway/watch"
	"github.com/chatkeep/chatkeep/models"
)

// printer shows answers as they grow.
type printer struct {
	out, errOut io.Writer
	json        bool
	// plain drops control characters: a model's text does not drive the terminal.
	plain bool
	shown strings.Builder // of the present answer
}

func (p *printer) update(u watch.Update) {
	if p.json {
		return
	}
	if u.Restart && p.shown.Len() > 0 {
		p.endLine()
		_, _ = fmt.Fprintln(p.errOut, "chatkeep: the answer starts again")
		p.shown.Reset()
	}
	p.show(u.Delta)
	for _, t := range u.Tools {
		if p.plain && t.Phase == agents.ToolStarted { // for a person, who waits
			_, _ = fmt.Fprintf(p.errOut, "🔧 %s …\n", printable(t.Name))
		}
	}
}

func (p *printer) show(text string) {
	if text == "" {
		return
	}
	p.shown.WriteString(text)
	if p.plain {
		text = printable(text)
	}
	_, _ = io.WriteString(p.out, text)
}

func (p *printer) endLine() {
	if shown := p.shown.String(); shown != "" && !strings.HasSuffix(shown, "\n") {
		_, _ = io.WriteString(p.out, "\n")
	}
}

// finish prints what is missing of an answer, and returns what went wrong.
func (p *printer) finish(in *models.Inbound) error {
	defer p.shown.Reset()
	failure := outcomeError(in)
	if p.json {
		if err := printJSON(p.out, httpapi.BodyOf(in)); err != nil {
			return err
		}
		return failure
	}
	if failure == nil && in.Reply != nil {
		p.complete(in.Reply.Content)
	}
	p.endLine()
	if in.Reply != nil {
		for _, notice := range in.Reply.Notices {
			_, _ = fmt.Fprintln(p.errOut, notice)
		}
	}
	return failure
}

// complete prints the answer as far as it was not seen growing: it may have run in
// another process, and what grew may have been words between tool calls.
func (p *printer) complete(answer string) {
	shown := p.shown.String()
	switch {
	case strings.HasSuffix(strings.TrimSpace(shown), strings.TrimSpace(answer)):
	case strings.HasPrefix(answer, shown):
		p.show(answer[len(shown):])
	default:
		p.endLine()
		p.shown.Reset()
		p.show(answer)
	}
}

// printable drops control characters that could drive a terminal.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, text)
}

func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && isatty.IsTerminal(f.Fd())
}

// printJSON writes one document on a line of its own.
func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return fmt.Errorf("write output: %w", err)
	}
	return nil
}
