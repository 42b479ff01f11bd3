package compact

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/chatkeep/chatkeep/internal/tokens"
	"github.com/chatkeep/chatkeep/models"
)

// Errors of a summary. On each the history is as it was.
var (
	// ErrOverflow is for a [Model] to return: what it was asked does not fit its
	// window. It is asked again with less, a few times.
	ErrOverflow = errors.New("compact: the request does not fit the model's window")
	// ErrEmpty means that the model gave no summary.
	ErrEmpty = errors.New("compact: the model's summary is empty")
	// ErrNoProgress means that the summary is no shorter than what it would replace.
	ErrNoProgress = errors.New("compact: the summary is no shorter than what it is to replace")
	// ErrSmallWindow means that the model's window has no room for a summary.
	ErrSmallWindow = errors.New("compact: the model's window is too small")
)

// Model writes a summary, without tools and without the session's own prompt. It must
// end soon after ctx does.
type Model func(ctx context.Context, ask Ask) (Answer, error)

// Ask is one request to a [Model].
type Ask struct {
	// System says what is asked for, Text holds what it is to be made of.
	System string
	Text   string
	// MaxTokens is the room that the window keeps for the answer. System asks for no more
	// than that; it is no hard limit, for models that reason count their reasoning too.
	MaxTokens int
}

// Answer is what a [Model] wrote, and what that cost.
type Answer struct {
	Text  string
	Usage models.Usage
}

// What is put into one request, in tokens, and how many requests one summary takes.
const (
	defaultWindow = 32_000 // of a model of which nothing is known
	mostAnswer    = 4000
	mostRecord    = 48_000
	leastRecord   = 128
	mostAsks      = 8
	mostHalvings  = 4
)

// summariser makes one summary.
type summariser struct {
	model        Model
	instructions string

	answer int // tokens that a summary may have
	record int // tokens of the record that one request may have
	usage  models.Usage
}

// newSummariser divides a model's window: a request holds the earlier summary, a part
// of the record and the prompts, and leaves room for the answer, with a quarter in
// reserve because models count otherwise than the estimate that is used here: it is
// quick, and where it is too low the request is made smaller.
func newSummariser(model Model, window int, instructions string) (*summariser, error) {
	if window <= 0 {
		window = defaultWindow
	}
	s := &summariser{model: model, answer: min(mostAnswer, window/8)}
	s.instructions = clipped(instructions, min(maxInstructions, window/16))
	prompts := tokens.Estimate(s.system()) + tokens.Estimate(s.ask("", "", 0)) + 8*tokens.MessageOverhead
	s.record = min(mostRecord, (window-s.answer-s.earlier()-prompts)*3/4)
	if s.record < leastRecord {
		return nil, fmt.Errorf("%w: %d tokens", ErrSmallWindow, window)
	}
	return s, nil
}

// earlier is how many tokens the summary so far may have: more than was asked for,
// as models do not count well.
func (s *summariser) earlier() int { return s.answer * 2 }

// summarise returns a summary of messages, oldest first, into which the earlier
// summary is distilled. What is more than mostAsks requests hold is left out, the
// oldest first: older counts the messages that were left out before.
func (s *summariser) summarise(ctx context.Context, earlier string, messages []*models.SessionMessage, older int) (string, error) {
	record := newRecorder(messages)
	rest, dropped := s.newest(record, messages)
	older += dropped
	summary, halvings := earlier, 0
	for len(rest) > 0 {
		part, n := s.part(record, rest)
		answer, err := s.model(ctx, Ask{System: s.system(), Text: s.ask(summary, part, older), MaxTokens: s.answer})
		s.usage = s.usage.Add(answer.Usage)
		if errors.Is(err, ErrOverflow) && halvings < mostHalvings && s.record/2 >= leastRecord {
			halvings++
			s.record, s.answer = s.record/2, max(s.answer/2, leastRecord)
			rest, dropped = s.newest(record, rest)
			older += dropped
			continue
		}
		if err != nil {
			return "", fmt.Errorf("summarise: %w", err)
		}
		if strings.TrimSpace(answer.Text) == "" {
			return "", ErrEmpty
		}
		summary = clipped(strings.TrimSpace(answer.Text), s.earlier())
		rest, older = rest[n:], 0
	}
	return arrange(summary), nil
}

// newest returns the newest messages, as many as may be shown to the model, and how
// many are left out.
func (s *summariser) newest(r *recorder, messages []*models.SessionMessage) (rest []*models.SessionMessage, dropped int) {
	left, from := mostAsks*s.record, len(messages)
	for ; from > 0; from-- {
		if left -= r.entry(messages[from-1], s.record/2).tokens; left < 0 {
			break
		}
	}
	return messages[from:], from
}

// part writes down as many messages as one request holds, at least one, and returns
// how many.
func (s *summariser) part(r *recorder, messages []*models.SessionMessage) (string, int) {
	var b strings.Builder
	left, n := s.record, 0
	for _, m := range messages {
		e := r.entry(m, s.record/2)
		if left -= e.tokens; left < 0 && n > 0 {
			break
		}
		b.WriteString(e.text)
		n++
	}
	return b.String(), n
}

// complete adds to a summary the identifiers that it lacks, under their heading,
// which is its last: as many as room tokens hold.
func (s *summariser) complete(summary string, identifiers []string, room int) string {
	var added strings.Builder
	n := 0
	for _, id := range identifiers {
		if n == mostIDs {
			break
		}
		line := "\n- " + id
		size := tokens.Estimate(line)
		if size > room || says(summary, id) {
			continue
		}
		added.WriteString(line)
		n, room = n+1, room-size
	}
	return summary + added.String()
}
