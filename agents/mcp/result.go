package mcp

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chatkeep/chatkeep/agents"
)

const (
	// maxImages is how many pictures of one result are kept; more are named.
	maxImages = 4
	// maxImage is the largest picture that is kept, in bytes.
	maxImage = 1 << 20
)

// result writes a tool's answer as text and pictures. Kinds that models cannot read
// are named, so that a model knows that they were there.
func result(from *mcp.CallToolResult) agents.ToolResult {
	r := &resultWriter{}
	for _, content := range from.Content {
		r.content(content)
	}
	r.structured(from.StructuredContent)
	return agents.ToolResult{Text: strings.Join(r.parts, "\n"), IsError: from.IsError, Images: r.images}
}

type resultWriter struct {
	parts  []string
	images []string
}

func (r *resultWriter) say(format string, args ...any) {
	r.parts = append(r.parts, clean(fmt.Sprintf(format, args...)))
}

func (r *resultWriter) content(content mcp.Content) {
	switch c := content.(type) {
	case *mcp.TextContent:
		r.parts = append(r.parts, clean(c.Text))
	case *mcp.ImageContent:
		r.image(c.MIMEType, c.Data)
	case *mcp.AudioContent:
		r.say("[audio: %s, %d bytes]", c.MIMEType, len(c.Data))
	case *mcp.ResourceLink:
		r.say("[resource: %s]", about(c.URI, c.Name, c.Title, c.MIMEType, c.Description))
	case *mcp.EmbeddedResource:
		r.resource(c.Resource)
	default:
		r.say("[content of an unknown kind]")
	}
}

func (r *resultWriter) resource(c *mcp.ResourceContents) {
	switch {
	case c == nil:
	case strings.HasPrefix(c.MIMEType, "image/") && len(c.Blob) > 0:
		r.image(c.MIMEType, c.Blob)
	case len(c.Blob) > 0:
		r.say("[resource: %s, %d bytes]", about(c.URI, c.MIMEType), len(c.Blob))
	default:
		r.say("[resource: %s]\n%s", about(c.URI, c.MIMEType), c.Text)
	}
}

func (r *resultWriter) image(media string, data []byte) {
	switch media {
	case "image/png", "image/jpeg", "image/gif", "image/webp": // what models take
		if len(r.images) < maxImages && len(data) > 0 && len(data) <= maxImage {
			r.images = append(r.images, "data:"+media+";base64,"+base64.StdEncoding.EncodeToString(data))
			return
		}
	}
	r.say("[image: %s, %d bytes]", media, len(data))
}

// structured adds the structured form as JSON, unless the text says the same, as
// servers are asked to repeat it there.
func (r *resultWriter) structured(value any) {
	if value == nil {
		return
	}
	for _, part := range r.parts {
		var said any
		if json.Unmarshal([]byte(part), &said) == nil && reflect.DeepEqual(said, value) {
			return
		}
	}
	raw, err := json.Marshal(value)
	if err != nil {
		return // it came from JSON
	}
	r.parts = append(r.parts, clean(string(raw)))
}

// about joins what is known of something.
func about(facts ...string) string {
	var known []string
	for _, fact := range facts {
		if fact != "" {
			known = append(known, fact)
		}
	}
	return strings.Join(known, ", ")
}

// clean repairs a text that cannot be stored or sent on: invalid UTF-8 and NUL.
func clean(text string) string {
	return strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", "\uFFFD"), "\uFFFD")
}
