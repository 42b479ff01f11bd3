package webhook

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/chatkeep/chatkeep/agents"
	"github.com/chatkeep/chatkeep/agents/internal/provider"
)

// The events of a streamed answer.
const (
	eventDelta = "delta"
	eventDone  = "done"
	eventError = "error"
)

// errTooLarge is an answer beyond Config.MaxAnswerBytes.
var errTooLarge = &agents.Error{Kind: agents.Permanent, Err: errors.New("answer too large")}

// wireLimit is how many bytes an answer of the allowed size may take on the wire:
// JSON may spend six on one, and wraps the text in some more.
func (a *Agent) wireLimit() int { return a.cfg.MaxAnswerBytes*6 + 1<<20 }

func (a *Agent) readWhole(body io.Reader, screen *provider.Screen) (response, error) {
	data, err := io.ReadAll(io.LimitReader(body, int64(a.wireLimit())+1))
	if err != nil {
		return response{}, fmt.Errorf("read answer: %w", err)
	}
	if len(data) > a.wireLimit() {
		return response{}, errTooLarge
	}
	var answer response
	if err := json.Unmarshal(data, &answer); err != nil {
		return response{}, fmt.Errorf("answer is not the JSON expected: %w", err)
	}
	if answer.Content != nil {
		if len(*answer.Content) > a.cfg.MaxAnswerBytes {
			return response{}, errTooLarge
		}
		screen.Show(*answer.Content)
	}
	return answer, nil
}

// readStream reads events up to done. The content given there counts; what was
// streamed stands in for it if there is none.
func (a *Agent) readStream(body io.Reader, screen *provider.Screen) (response, error) {
	stream := newEvents(body, a.wireLimit())
	var shown strings.Builder
	for {
		ev, err := stream.next()
		if errors.Is(err, io.EOF) {
			err = fmt.Errorf("no event %q: %w", eventDone, io.ErrUnexpectedEOF)
		}
		if err != nil {
			return response{}, fmt.Errorf("read stream: %w", err)
		}
		switch ev.name {
		case eventDelta:
			var delta struct {
				Text string `json:"text"`
			}
			if err := json.Unmarshal([]byte(ev.data), &delta); err != nil {
				return response{}, fmt.Errorf("broken event %q: %w", ev.name, err)
			}
			if shown.Len()+len(delta.Text) > a.cfg.MaxAnswerBytes {
				return response{}, errTooLarge
			}
			shown.WriteString(delta.Text)
			screen.Show(delta.Text)
		case eventDone:
			var answer response
			if err := json.Unmarshal([]byte(ev.data), &answer); err != nil {
				return response{}, fmt.Errorf("broken event %q: %w", ev.name, err)
			}
			return a.finish(answer, shown.String(), screen)
		case eventError:
			return response{}, serviceError(ev.data)
		}
	}
}

// finish makes what is shown and what is answered the same.
func (a *Agent) finish(answer response, shown string, screen *provider.Screen) (response, error) {
	if answer.Content == nil {
		answer.Content = &shown
		return answer, nil
	}
	if len(*answer.Content) > a.cfg.MaxAnswerBytes {
		return response{}, errTooLarge
	}
	if rest, ok := strings.CutPrefix(*answer.Content, shown); ok {
		screen.Show(rest)
		return answer, nil
	}
	screen.Void()
	screen.Show(*answer.Content)
	return answer, nil
}

// serviceError is a failure that the service itself reports; asking again is up to
// its users. Its message may quote the conversation: only a code is taken over.
func serviceError(data string) error {
	var failure struct {
		Code string `json:"code"`
	}
	_ = json.Unmarshal([]byte(data), &failure) // what is no JSON has no code
	text := "service reports a failure"
	if code := provider.Word(failure.Code); code != "" {
		text += ": code " + code
	}
	return &agents.Error{Kind: agents.Permanent, Err: errors.New(text)}
}
