// Package mcptest is a server of tools for tests and for trying things out: each
// tool shows one way in which tools behave, good and bad.
package mcptest

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Server is the server. Its zero value is ready.
type Server struct {
	// Forget ends the calls of hang and of deaf, which ignores that it was cancelled.
	// Nil: it never does.
	Forget <-chan struct{}
	// Called, if set, hears of each call before it runs.
	Called func(Call)
}

// Call is a call that has reached the server.
type Call struct {
	Tool      string
	Arguments json.RawMessage
	// Meta is the value of the key in _meta that was asked for; "" if it is not there.
	Meta func(key string) string
}

// text is one schema for all tools: {text, bytes}.
type arguments struct {
	Text  string `json:"text,omitempty" jsonschema:"what to say"`
	Bytes int    `json:"bytes,omitempty" jsonschema:"how much to say"`
}

type sum struct {
	Sum int `json:"sum"`
}

type addends struct {
	A int `json:"a"`
	B int `json:"b"`
}

// MCP returns a new server of the SDK with all tools: echo, add, picture, sound,
// document, fail, hang, deaf, flood, die, panic.
func (s *Server) MCP() *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "mcptest", Version: "1"}, nil)
	s.add(server, "echo", "Says the text again.", func(_ context.Context, a arguments) (*mcp.CallToolResult, error) {
		return say(a.Text), nil
	})
	mcp.AddTool(server, &mcp.Tool{Name: "add", Description: "Adds two numbers."},
		func(_ context.Context, r *mcp.CallToolRequest, a addends) (*mcp.CallToolResult, sum, error) {
			s.called(r)
			return nil, sum{a.A + a.B}, nil
		})
	s.add(server, "picture", "Shows a picture.", func(context.Context, arguments) (*mcp.CallToolResult, error) {
		return content(&mcp.ImageContent{MIMEType: "image/png", Data: []byte("\x89PNG")}), nil
	})
	s.add(server, "sound", "Plays a sound.", func(context.Context, arguments) (*mcp.CallToolResult, error) {
		return content(&mcp.AudioContent{MIMEType: "audio/wav", Data: []byte("RIFF")}), nil
	})
	s.add(server, "document", "Shows documents.", func(context.Context, arguments) (*mcp.CallToolResult, error) {
		return content(
			&mcp.ResourceLink{URI: "file:///a.txt", Name: "a", MIMEType: "text/plain"},
			&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "file:///b.txt", MIMEType: "text/plain", Text: "inside b"}},
			&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "file:///c.bin", MIMEType: "application/zip", Blob: []byte("PK")}},
		), nil
	})
	s.add(server, "fail", "Fails.", func(_ context.Context, a arguments) (*mcp.CallToolResult, error) {
		return nil, errors.New("it went wrong: " + a.Text)
	})
	s.add(server, "hang", "Never answers.", func(ctx context.Context, _ arguments) (*mcp.CallToolResult, error) {
		select {
		case <-ctx.Done():
		case <-s.Forget: // nobody tells the server that a connection broke
		}
		return nil, context.Canceled
	})
	s.add(server, "deaf", "Never answers, and does not hear that nobody waits.", func(context.Context, arguments) (*mcp.CallToolResult, error) {
		<-s.Forget
		return say("too late"), nil
	})
	s.add(server, "flood", "Says very much.", func(_ context.Context, a arguments) (*mcp.CallToolResult, error) {
		return say(strings.Repeat("flood ", a.Bytes/6+1)[:a.Bytes]), nil
	})
	s.add(server, "die", "Ends the server.", func(context.Context, arguments) (*mcp.CallToolResult, error) {
		os.Exit(3)
		return nil, nil
	})
	s.add(server, "panic", "Ends the server with a panic.", func(context.Context, arguments) (*mcp.CallToolResult, error) {
		panic("mcptest: asked to panic")
	})
	return server
}

func (s *Server) add(server *mcp.Server, name, about string, run func(context.Context, arguments) (*mcp.CallToolResult, error)) {
	mcp.AddTool(server, &mcp.Tool{Name: name, Description: about},
		func(ctx context.Context, r *mcp.CallToolRequest, a arguments) (*mcp.CallToolResult, any, error) {
			s.called(r)
			result, err := run(ctx, a)
			return result, nil, err
		})
}

func (s *Server) called(r *mcp.CallToolRequest) {
	if s.Called == nil {
		return
	}
	s.Called(Call{Tool: r.Params.Name, Arguments: r.Params.Arguments, Meta: func(key string) string {
		value, _ := r.Params.Meta[key].(string)
		return value
	}})
}

func say(text string) *mcp.CallToolResult { return content(&mcp.TextContent{Text: text}) }

func content(c ...mcp.Content) *mcp.CallToolResult { return &mcp.CallToolResult{Content: c} }

// Stdio serves on standard input and output until the client goes away.
func (s *Server) Stdio(ctx context.Context) error {
	return s.MCP().Run(ctx, &mcp.StdioTransport{})
}

// Handler serves server over streamable HTTP. Sessions that nobody uses end after idle.
func Handler(server *mcp.Server, idle time.Duration) http.Handler {
	return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{SessionTimeout: idle})
}
