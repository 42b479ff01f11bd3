package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/respjson"
	"github.com/openai/openai-go/v3/packages/ssestream"

	"github.com/chatkeep/chatkeep/agents"
	"github.com/chatkeep/chatkeep/agents/internal/provider"
	"github.com/chatkeep/chatkeep/agents/toolloop"
	"github.com/chatkeep/chatkeep/models"
)

// answer gathers one answer, from a stream or from a whole body.
type answer struct {
	screen *provider.Screen
	limit  int
	size   int

	think     thinkFilter
	text      strings.Builder
	thought   strings.Builder
	hasReason bool
	refused   bool
	calls     []*toolCall
	finish    string
	usage     openai.CompletionUsage
}

// toolCall is a call whose pieces are still arriving.
type toolCall struct {
	index     int64
	id, name  string
	arguments strings.Builder
}

func newAnswer(screen *provider.Screen, limit int) *answer {
	return &answer{screen: screen, limit: limit}
}

// readStream reads server-sent events up to [DONE].
func (a *answer) readStream(res *http.Response) error {
	events := ssestream.NewDecoder(res)
	done, choices := false, false
	for !done && events.Next() {
		data := bytes.TrimSpace(events.Event().Data)
		switch {
		case len(data) == 0:
			continue
		case bytes.Equal(data, []byte("[DONE]")):
			done = true
			continue
		}
		if failure := embeddedError(data); failure != nil {
			return failure
		}
		if events.Event().Type == "error" {
			return parseErrorValue(data)
		}
		var chunk openai.ChatCompletionChunk
		if err := json.Unmarshal(data, &chunk); err != nil {
			return fmt.Errorf("broken event in stream: %w", err)
		}
		if chunk.Usage.PromptTokens > 0 {
			a.usage = chunk.Usage
		}
		for _, choice := range chunk.Choices {
			if choice.Index != 0 {
				continue
			}
			choices = true
			if err := a.addDelta(choice); err != nil {
				return err
			}
		}
	}
	if err := events.Err(); err != nil {
		return fmt.Errorf("read stream: %w", err)
	}
	if !done && a.finish == "" {
		return fmt.Errorf("read stream: cut off after %d bytes of answer: %w", a.size, io.ErrUnexpectedEOF)
	}
	if !choices {
		return errors.New("stream without choices")
	}
	a.show(a.think.flush())
	return nil
}

func (a *answer) addDelta(choice openai.ChatCompletionChunkChoice) error {
	delta := choice.Delta
	a.reason(delta.JSON.ExtraFields)
	if err := a.say(delta.Content, delta.Refusal); err != nil {
		return err
	}
	for _, piece := range delta.ToolCalls {
		call := a.callAt(piece.Index, piece.ID, piece.Function.Name)
		call.arguments.WriteString(piece.Function.Arguments)
		a.size += len(piece.Function.Arguments)
	}
	if choice.FinishReason != "" {
		a.finish = choice.FinishReason
	}
	if a.size > a.limit {
		return errTooLarge
	}
	return nil
}

// callAt returns the call that a piece belongs to. Some providers number every
// call 0; another id then begins another call.
func (a *answer) callAt(index int64, id, name string) *toolCall {
	for _, call := range slices.Backward(a.calls) {

		if call.index != index {
			continue
		}
		if id != "" && call.id != "" && id != call.id && name != "" {
			break
		}
		if call.id == "" {
			call.id = id
		}
		if call.name == "" {
			call.name = name
		}
		return call
	}
	call := &toolCall{index: index, id: id, name: name}
	a.calls = append(a.calls, call)
	return call
}

// readWhole reads an answer that is one JSON document. It also serves a provider
// that was asked to stream and does not.
func (a *answer) readWhole(body io.Reader) error {
	// JSON may spend six bytes on one, and wraps the answer in some more.
	limit := int64(a.limit)*6 + 1<<20
	data, err := io.ReadAll(io.LimitReader(body, limit+1))
	switch {
	case err != nil:
		return fmt.Errorf("read answer: %w", err)
	case int64(len(data)) > limit:
		return errTooLarge
	}
	if failure := embeddedError(data); failure != nil {
		return failure
	}
	var whole openai.ChatCompletion
	if err := json.Unmarshal(data, &whole); err != nil {
		return fmt.Errorf("broken answer: %w", err)
	}
	if len(whole.Choices) == 0 {
		return errors.New("answer without choices")
	}
	choice := whole.Choices[0]
	a.usage, a.finish = whole.Usage, choice.FinishReason
	a.reason(choice.Message.JSON.ExtraFields)
	for i, call := range choice.Message.ToolCalls {
		c := &toolCall{index: int64(i), id: call.ID, name: call.Function.Name}
		c.arguments.WriteString(call.Function.Arguments)
		a.calls = append(a.calls, c)
		a.size += len(call.Function.Arguments)
	}
	if err := a.say(choice.Message.Content, choice.Message.Refusal); err != nil {
		return err
	}
	a.show(a.think.flush())
	return nil
}

// say takes text of the answer, or of the refusal that stands in its place.
func (a *answer) say(content, refusal string) error {
	a.size += len(content) + len(refusal)
	if a.size > a.limit {
		return errTooLarge
	}
	if content != "" {
		a.show(a.think.write(content))
	}
	if refusal != "" {
		a.refused = true
		a.show(refusal, "")
	}
	return nil
}

func (a *answer) show(text, thought string) {
	a.text.WriteString(text)
	a.screen.Show(text)
	if thought != "" {
		a.hasReason = true
		a.thought.WriteString(thought)
	}
}

// reason takes the reasoning that comes in a field of its own. An empty text is
// kept apart from none: some providers want exactly what they gave.
func (a *answer) reason(fields map[string]respjson.Field) {
	for _, name := range []string{"reasoning_content", "reasoning"} {
		var text *string
		if json.Unmarshal([]byte(fields[name].Raw()), &text) != nil || text == nil {
			continue
		}
		a.hasReason = true
		a.thought.WriteString(*text)
		a.size += len(*text)
		return
	}
}

// completion is the answer as the tool loop takes it.
func (a *answer) completion() (*toolloop.Completion, error) {
	finish, err := a.finishReason()
	if err != nil {
		return nil, err
	}
	message := &models.SessionMessage{Role: models.RoleAssistant, Content: a.text.String()}
	if a.hasReason {
		thought := a.thought.String()
		message.Reasoning = &thought
	}
	for _, call := range a.calls {
		message.ToolCalls = append(message.ToolCalls, models.ToolCall{ID: call.id, Name: call.name, Arguments: call.arguments.String()})
	}
	if strings.TrimSpace(message.Content) == "" && len(message.ToolCalls) == 0 {
		return nil, agents.WithUsage(a.emptiness(finish), a.spent())
	}
	message.TokenCount = int(a.usage.CompletionTokens)
	if len(message.ToolCalls) == 0 {
		// The reasoning was charged but is not sent back, so it costs no context.
		message.TokenCount = int(max(a.usage.CompletionTokens-a.usage.CompletionTokensDetails.ReasoningTokens, 0))
	}
	return &toolloop.Completion{
		Message:      message,
		Usage:        a.spent(),
		FinishReason: finish,
	}, nil
}

func (a *answer) spent() models.Usage {
	return models.Usage{PromptTokens: int(a.usage.PromptTokens), CompletionTokens: int(a.usage.CompletionTokens)}
}

// emptiness is the failure of an answer without text: a slip that another try may
// mend, unless the provider says why it is empty.
func (a *answer) emptiness(finish string) error {
	if finish == finishStop {
		return &agents.Error{Kind: agents.Transient, Err: errEmpty}
	}
	return &agents.Error{Kind: agents.Permanent, Err: fmt.Errorf("%w: finish reason %q", errEmpty, finish)}
}
