package agenttest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"

	"github.com/chatkeep/chatkeep/internal/clock"
)

// write sends a reply in the form that was asked for.
func (s *Server) write(w http.ResponseWriter, r *http.Request, request *ChatRequest, reply Reply) {
	if clock.Sleep(r.Context(), s.options.Clock, reply.Delay) != nil {
		return
	}
	if reply.Status != 0 {
		maps.Copy(w.Header(), reply.Header)
		w.Header().Set("Content-Type", cmp.Or(reply.ContentType, "application/json"))
		w.WriteHeader(reply.Status)
		_, _ = w.Write([]byte(reply.Body))
		return
	}
	answer := s.answer(request, reply)
	if request.Stream && !reply.NoStream {
		s.stream(w, r, answer)
		return
	}
	s.whole(w, r, answer)
}

// answer is a reply with its defaults filled in.
type answer struct {
	Reply
	model     string
	wantUsage bool
}

func (s *Server) answer(request *ChatRequest, reply Reply) answer {
	reply.ReasoningField = cmp.Or(reply.ReasoningField, "reasoning_content")
	if reply.FinishReason == "" {
		reply.FinishReason = "stop"
		if len(reply.ToolCalls) > 0 {
			reply.FinishReason = "tool_calls"
		}
	}
	reply.PromptTokens = cmp.Or(reply.PromptTokens, request.PromptTokens)
	reply.CompletionTokens = cmp.Or(reply.CompletionTokens, s.options.Estimate(reply.Text))
	reply.ChunkRunes = cmp.Or(reply.ChunkRunes, 8)
	wanted := !request.Stream || request.StreamOptions != nil && request.StreamOptions.IncludeUsage
	return answer{Reply: reply, model: request.Model, wantUsage: wanted && !reply.NoUsage}
}

func (a answer) usage() map[string]any {
	return map[string]any{
		"prompt_tokens":     a.PromptTokens,
		"completion_tokens": a.CompletionTokens,
		"total_tokens":      a.PromptTokens + a.CompletionTokens,
	}
}

func (s *Server) whole(w http.ResponseWriter, r *http.Request, a answer) {
	message := map[string]any{"role": "assistant", "content": a.Text}
	if a.Reasoning != nil {
		message[a.ReasoningField] = *a.Reasoning
	}
	if len(a.ToolCalls) > 0 {
		message["tool_calls"] = toolCalls(a.ToolCalls, false)
		if a.Text == "" {
			message["content"] = nil
		}
	}
	choices := []any{map[string]any{"index": 0, "message": message, "finish_reason": a.FinishReason}}
	switch a.Fault {
	case FaultSilence:
		<-r.Context().Done()
		return
	case FaultHangUp:
		panic(http.ErrAbortHandler)
	case FaultError:
		writeError(w, http.StatusOK, "server_error", "", "The server had an error while processing your request.")
		return
	case FaultNoChoices:
		choices = []any{}
	}
	body := map[string]any{"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": a.model, "choices": choices}
	if a.wantUsage {
		body["usage"] = a.usage()
	}
	text := encode(body)
	if a.Fault == FaultCut || a.Fault == FaultBroken {
		text = text[:len(text)/2]
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write([]byte(text))
}

func (s *Server) stream(w http.ResponseWriter, r *http.Request, a answer) {
	flusher, ok := w.(http.Flusher)
	if !ok {
		http.Error(w, "streaming unsupported", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	send := func(data string) { _, _ = fmt.Fprintf(w, "data: %s\n\n", data); flusher.Flush() }
	chunks := a.chunks()
	for i := 0; i <= len(chunks); i++ {
		if a.Fault != "" && i == min(a.After, len(chunks)) && a.fail(r, send) {
			return
		}
		if i == len(chunks) {
			break
		}
		if clock.Sleep(r.Context(), s.options.Clock, a.ChunkDelay) != nil {
			return
		}
		send(chunks[i])
	}
	send("[DONE]")
}

// fail makes the fault happen and reports whether that ends the stream.
func (a answer) fail(r *http.Request, send func(string)) bool {
	switch a.Fault {
	case FaultHangUp:
		panic(http.ErrAbortHandler)
	case FaultSilence:
		<-r.Context().Done()
	case FaultBroken:
		send(`{"id":"chatcmpl-1","choices":[{"index":0,"del`)
	case FaultError:
		send(encode(errorBody("server_error", "", "The server had an error while processing your request.")))
	case FaultNoChoices:
		send(encode(a.chunk(nil)))
		send("[DONE]")
	}
	return true
}

// chunks are the events of a stream, all but [DONE].
func (a answer) chunks() []string {
	delta := func(fields map[string]any) string {
		return encode(a.chunk(map[string]any{"index": 0, "delta": fields, "finish_reason": nil}))
	}
	chunks := []string{delta(map[string]any{"role": "assistant", "content": ""})}
	if a.Reasoning != nil {
		for _, piece := range pieces(*a.Reasoning, a.ChunkRunes) {
			chunks = append(chunks, delta(map[string]any{a.ReasoningField: piece, "content": nil}))
		}
	}
	if a.Text != "" {
		for _, piece := range pieces(a.Text, a.ChunkRunes) {
			chunks = append(chunks, delta(map[string]any{"content": piece}))
		}
	}
	for i, call := range toolCalls(a.ToolCalls, true) {
		// First the head, then the arguments in pieces, as providers stream them.
		chunks = append(chunks, delta(map[string]any{"tool_calls": []any{call}}))
		for _, piece := range pieces(a.ToolCalls[i].Arguments, a.ChunkRunes) {
			chunks = append(chunks, delta(map[string]any{"tool_calls": []any{
				map[string]any{"index": i, "function": map[string]any{"arguments": piece}},
			}}))
		}
	}
	chunks = append(chunks, encode(a.chunk(map[string]any{"index": 0, "delta": map[string]any{}, "finish_reason": a.FinishReason})))
	if a.wantUsage {
		last := a.chunk(nil)
		last["usage"] = a.usage()
		chunks = append(chunks, encode(last))
	}
	return chunks
}

func (a answer) chunk(choice map[string]any) map[string]any {
	choices := []any{}
	if choice != nil {
		choices = append(choices, choice)
	}
	return map[string]any{"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": a.model, "choices": choices}
}

// toolCalls writes calls; as heads they have an index and no arguments yet.
func toolCalls(calls []ReplyCall, heads bool) []map[string]any {
	var out []map[string]any
	for i, call := range calls {
		function := map[string]any{"name": call.Name, "arguments": call.Arguments}
		entry := map[string]any{"id": call.ID, "type": "function", "function": function}
		if heads {
			function["arguments"] = ""
			entry["index"] = i
		}
		out = append(out, entry)
	}
	return out
}

// pieces cuts a text into pieces of n runes; an empty text is one empty piece.
func pieces(text string, n int) []string {
	runes := []rune(text)
	var out []string
	for len(runes) > n {
		out = append(out, string(runes[:n]))
		runes = runes[n:]
	}
	return append(out, string(runes))
}

func encode(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // a programming error: only maps, strings and numbers get here
	}
	return string(b)
}
