package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chatkeep/chatkeep/agents"
)

const (
	// maxTools is how many tools of one server are offered; providers take few more.
	maxTools = 128
	// maxDescription is the longest description in characters (OpenAI's limit).
	maxDescription = 1024
	// maxSchema is the largest schema of a tool's arguments, in bytes.
	maxSchema = 64 << 10

	// KeyMeta is where a call carries its idempotency key in _meta: the same whenever
	// the same call of a turn is made again.
	KeyMeta = "chatkeep/idempotencyKey"
)

// notSent is the code with which the library marks requests that never got through.
const notSent = -32005

// errAbsent is what a model learns of a tool whose server is gone.
var errAbsent = errors.New("the tool's server cannot be reached now")

// tool is one tool of a server.
type tool struct {
	link *link
	// remote is the server's own name for it.
	remote string
	spec   agents.ToolSpec
}

// Spec describes the tool under the name that models see.
func (t *tool) Spec() agents.ToolSpec { return t.spec }

// Call runs the tool on whatever connection its server has now. It returns soon
// after ctx ends, whatever the server does.
func (t *tool) Call(ctx context.Context, args json.RawMessage, idempotencyKey string) (agents.ToolResult, error) {
	c, _ := t.link.current(ctx)
	if err := ctx.Err(); err != nil {
		return agents.ToolResult{}, err
	}
	if c == nil {
		return agents.ToolResult{}, errAbsent
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.life, cancel)()
	returned := make(chan struct{})
	defer close(returned)
	defer context.AfterFunc(ctx, func() { c.killUnless(returned) })()

	answer, err := c.session.CallTool(ctx, &mcp.CallToolParams{
		Name: t.remote, Arguments: args, Meta: mcp.Meta{KeyMeta: idempotencyKey},
	})
	if err != nil {
		return agents.ToolResult{}, t.failure(ctx, c, err)
	}
	return result(answer), nil
}

// failure says in the model's terms why a call gave no result.
func (t *tool) failure(ctx context.Context, c *conn, err error) error {
	var refused *jsonrpc.Error
	switch {
	case c.life.Err() == nil && ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &refused) && refused.Code != notSent:
		return errors.New(clean(refused.Message))
	}
	t.link.log.Warn("MCP tool call failed", "tool", t.remote, "error", t.link.scrub(err))
	return errAbsent
}

// list asks for the server's tools.
func (l *link) list(ctx context.Context, c *conn) ([]*tool, error) {
	if has := c.session.InitializeResult(); has != nil && has.Capabilities != nil && has.Capabilities.Tools == nil {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	var out []*tool
	for remote, err := range c.session.Tools(ctx, nil) {
		if err != nil {
			return nil, fmt.Errorf("list tools: %w", err)
		}
		if len(out) == maxTools {
			l.log.Warn("MCP server has too many tools; the rest is left out", "limit", maxTools)
			break
		}
		parameters, err := schema(remote.InputSchema)
		if err != nil {
			l.log.Warn("MCP tool cannot be offered", "tool", remote.Name, "error", err)
			continue
		}
		out = append(out, &tool{link: l, remote: remote.Name, spec: agents.ToolSpec{
			Name: toolName(l.server.Name, remote.Name), Description: describe(remote), Parameters: parameters, Timeout: l.server.Timeout,
		}})
	}
	return out, nil
}

// describe is what models read about a tool.
func describe(t *mcp.Tool) string {
	text := strings.TrimSpace(clean(t.Description))
	if text == "" {
		text = clean(t.Title)
	}
	if utf8.RuneCountInString(text) > maxDescription {
		text = string([]rune(text)[:maxDescription-1]) + "…"
	}
	return text
}

// schema returns a tool's schema as an object with a type, which providers insist on.
func schema(declared any) (json.RawMessage, error) {
	raw, err := json.Marshal(declared)
	if err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	if len(raw) > maxSchema {
		return nil, fmt.Errorf("schema has %d bytes, at most %d are taken", len(raw), maxSchema)
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(raw, &object); err != nil {
		return nil, errors.New("schema is not a JSON object")
	}
	if object == nil {
		object = map[string]json.RawMessage{}
	}
	object["type"] = json.RawMessage(`"object"`)
	if _, ok := object["properties"]; !ok {
		object["properties"] = json.RawMessage(`{}`)
	}
	return json.Marshal(object)
}
