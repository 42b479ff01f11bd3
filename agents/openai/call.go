package openai

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"

	"github.com/openai/openai-go/v3/option"

	"github.com/chatkeep/chatkeep/agents"
	"github.com/chatkeep/chatkeep/agents/internal/provider"
	"github.com/chatkeep/chatkeep/agents/toolloop"
	"github.com/chatkeep/chatkeep/models"
)

var (
	// errEmpty is an answer with neither text nor calls, e.g. reasoning alone.
	errEmpty = errors.New("empty answer")
	// errTooLarge is an answer beyond Config.MaxAnswerBytes.
	errTooLarge = errors.New("answer too large")
)

// call asks the model once. A request that the provider refuses for a known
// quirk is sent again at once without what it refuses.
func (a *Agent) call(ctx context.Context, t *turn, messages []*models.SessionMessage, tools []agents.ToolSpec) (*toolloop.Completion, error) {
	known := quirk(a.quirks.Load())
	learned := quirk(0)
	for {
		answer, err := a.send(ctx, t, known, messages, tools)
		if err == nil {
			return answer.completion()
		}
		next := learn(err)
		if next == 0 || learned.has(next) || known.has(next) {
			return nil, a.classify(ctx, err)
		}
		learned |= next
		known = known.with(next)
		a.quirks.Store(uint32(known))
	}
}

// send makes one HTTP call and reads its answer in whatever form it comes.
func (a *Agent) send(ctx context.Context, t *turn, known quirk, messages []*models.SessionMessage, tools []agents.ToolSpec) (*answer, error) {
	params := a.params(t.req, known, messages, tools)
	var res *http.Response
	options := []option.RequestOption{option.WithResponseBodyInto(&res)}
	if t.req.Stream {
		options = append(options, option.WithJSONSet("stream", true), option.WithHeader("Accept", "text/event-stream"))
	}
	if _, err := a.chat.New(ctx, params, options...); err != nil {
		return nil, err
	}
	defer res.Body.Close()

	answer := newAnswer(t.screen, a.cfg.MaxAnswerBytes)
	switch form(res) {
	case formStream:
		return answer, answer.readStream(res)
	case formPage:
		return nil, errors.New("got a web page instead of an answer, is the base URL right?")
	default:
		return answer, answer.readWhole(res.Body)
	}
}

// The forms in which an answer may come, whatever was asked for.
type answerForm int

const (
	formWhole answerForm = iota
	formStream
	formPage
)

// form tells by the declared type, and by the first byte where a server declares
// another one than it sends.
func form(res *http.Response) answerForm {
	body := bufio.NewReader(res.Body)
	head, _ := body.Peek(1)
	res.Body = struct {
		io.Reader
		io.Closer
	}{body, res.Body}
	media, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	switch {
	case media == "text/html", string(head) == "<":
		return formPage
	case media == "text/event-stream", string(head) == "d", string(head) == "e", string(head) == ":": // data:, event:, a comment
		return formStream
	}
	return formWhole
}

// refuseFailures turns every response that is not a success into an error of our
// own, because many providers' error bodies are not what the client expects.
func (a *Agent) refuseFailures(req *http.Request, next option.MiddlewareNext) (*http.Response, error) {
	res, err := next(req)
	if err != nil || res.StatusCode/100 == 2 {
		return res, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxErrorBody))
	if err != nil && len(body) == 0 {
		body = fmt.Appendf(nil, "unreadable body: %v", err)
	}
	failure := parseError(body)
	failure.status = res.StatusCode
	failure.retryAfter = provider.RetryAfter(res.Header, a.clock.Now())
	return nil, failure
}
