package httpapi_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/gin-gonic/gin"
	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/chatkeep/chatkeep/gateway/httpapi"
)

const docURL = "mem:///openapi.json"

// document is the served description: its operations and their compiled schemas.
type document struct {
	operations []operation
	root       map[string]any
	compiler   *jsonschema.Compiler

	mu      sync.Mutex
	schemas map[string]*jsonschema.Schema
}

type operation struct {
	method, path string
	match        *regexp.Regexp
}

func readDocument(t *testing.T, api *httpapi.Server) *document {
	t.Helper()
	w := httptest.NewRecorder()
	api.Public().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/openapi.yaml", nil))
	raw, err := yaml.YAMLToJSON(w.Body.Bytes())
	if err != nil {
		t.Fatalf("openapi.yaml: %v", err)
	}
	root, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	d := &document{root: root.(map[string]any), compiler: jsonschema.NewCompiler(), schemas: map[string]*jsonschema.Schema{}}
	closeObjects(d.root)
	d.compiler.AssertFormat()
	if err := d.compiler.AddResource(docURL, d.root); err != nil {
		t.Fatal(err)
	}
	param := regexp.MustCompile(`\\\{[^/]+\\\}`)
	for path, item := range d.root["paths"].(map[string]any) {
		pattern := regexp.MustCompile("^" + param.ReplaceAllString(regexp.QuoteMeta(path), "[^/]+") + "$")
		for method := range item.(map[string]any) {
			if method != "parameters" {
				d.operations = append(d.operations, operation{strings.ToUpper(method), path, pattern})
			}
		}
	}
	return d
}

// closeObjects makes what the description does not mention an error in tests; it
// is open for clients, as adding is free.
func closeObjects(v any) {
	switch v := v.(type) {
	case map[string]any:
		if _, has := v["properties"].(map[string]any); has && v["additionalProperties"] == nil {
			v["additionalProperties"] = false
		}
		for _, child := range v {
			closeObjects(child)
		}
	case []any:
		for _, child := range v {
			closeObjects(child)
		}
	}
}

func escapePointer(s string) string { return strings.NewReplacer("~", "~0", "/", "~1").Replace(s) }

// check compares a response with what its operation says.
func (d *document) check(method, path string, status int, contentType string, body []byte) error {
	i := slices.IndexFunc(d.operations, func(o operation) bool { return o.method == method && o.match.MatchString(path) })
	if i < 0 {
		if status == http.StatusNotFound || status == http.StatusMethodNotAllowed {
			return d.validate("/components/schemas/Error", body)
		}
		return fmt.Errorf("no operation for %s %s", method, path)
	}
	op := d.operations[i]
	pointer := fmt.Sprintf("/paths/%s/%s/responses/%d", escapePointer(op.path), strings.ToLower(method), status)
	response, err := d.resolve(pointer)
	if err != nil {
		return fmt.Errorf("%s %s does not mention status %d", op.method, op.path, status)
	}
	if ref, ok := response["$ref"].(string); ok {
		pointer = strings.TrimPrefix(ref, "#")
		if response, err = d.resolve(pointer); err != nil {
			return err
		}
	}
	content, _ := response["content"].(map[string]any)
	media, _, _ := mime.ParseMediaType(contentType)
	if content == nil {
		return nil
	}
	if content[media] == nil {
		return fmt.Errorf("%s %s %d does not mention %q", op.method, op.path, status, media)
	}
	if media != "application/json" {
		return nil
	}
	return d.validate(pointer+"/content/application~1json/schema", body)
}

func (d *document) resolve(pointer string) (map[string]any, error) {
	v := any(d.root)
	for _, step := range strings.Split(pointer, "/")[1:] {
		m, _ := v.(map[string]any)
		if v = m[strings.NewReplacer("~1", "/", "~0", "~").Replace(step)]; v == nil {
			return nil, fmt.Errorf("nothing at %s", pointer)
		}
	}
	return v.(map[string]any), nil
}

func (d *document) validate(pointer string, body []byte) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	schema := d.schemas[pointer]
	if schema == nil {
		var err error
		if schema, err = d.compiler.Compile(docURL + "#" + pointer); err != nil {
			return err
		}
		d.schemas[pointer] = schema
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return err
	}
	return schema.Validate(v)
}

// checking is a transport that checks every response against the description.
type checking struct {
	t    *testing.T
	doc  *document
	next http.RoundTripper
}

// RoundTrip is part of [http.RoundTripper].
func (c *checking) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := c.next.RoundTrip(r)
	if err != nil || strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		return res, err
	}
	body, err := io.ReadAll(res.Body)
	_ = res.Body.Close()
	if err != nil {
		return nil, err
	}
	res.Body = io.NopCloser(bytes.NewReader(body))
	if err := c.doc.check(r.Method, r.URL.EscapedPath(), res.StatusCode, res.Header.Get("Content-Type"), body); err != nil {
		c.t.Errorf("%s %s: the answer is not what the description says: %v\n%s", r.Method, r.URL.EscapedPath(), err, body)
	}
	return res, nil
}

func TestEveryRouteIsDescribed(t *testing.T) {
	w := newWorld(t, options{stopped: true})
	var described []string
	routes := routesOf(t, w.handler)
	for _, o := range w.doc.operations {
		described = append(described, o.method+" "+o.path)
	}
	slices.Sort(described)
	if !slices.Equal(routes, described) {
		t.Errorf("routes and description differ:\nroutes    %q\ndescribed %q", missing(routes, described), missing(described, routes))
	}
}

// routesOf lists a handler's routes as the description writes them, sorted.
func routesOf(t *testing.T, h http.Handler) (routes []string) {
	t.Helper()
	engine, ok := h.(*gin.Engine)
	if !ok {
		t.Fatalf("the handler is a %T", h)
	}
	params := regexp.MustCompile(`:([^/]+)`)
	for _, r := range engine.Routes() {
		routes = append(routes, r.Method+" "+params.ReplaceAllString(r.Path, "{$1}"))
	}
	slices.Sort(routes)
	return routes
}

// missing returns what of a is not in b.
func missing(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(s string) bool { return slices.Contains(b, s) })
}

// TestDescriptionExamples holds every example against its schema, and every
// reference must lead somewhere.
func TestDescriptionExamples(t *testing.T) {
	w := newWorld(t, options{stopped: true})
	checked := 0
	var walk func(pointer string, v any)
	walk = func(pointer string, v any) {
		switch v := v.(type) {
		case map[string]any:
			if ref, ok := v["$ref"].(string); ok {
				if _, err := w.doc.resolve(strings.TrimPrefix(ref, "#")); err != nil {
					t.Errorf("%s: %v", pointer, err)
				}
			}
			if example, has := v["example"]; has && v["schema"] != nil {
				raw, err := json.Marshal(example)
				if err == nil {
					err = w.doc.validate(pointer+"/schema", raw)
				}
				if err != nil {
					t.Errorf("%s: example: %v", pointer, err)
				}
				checked++
			}
			for name, child := range v {
				walk(pointer+"/"+escapePointer(name), child)
			}
		case []any:
			for i, child := range v {
				walk(fmt.Sprintf("%s/%d", pointer, i), child)
			}
		}
	}
	walk("", w.doc.root)
	if checked < 5 {
		t.Errorf("only %d examples were found", checked)
	}
}
