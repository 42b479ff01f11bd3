package prune

import (
	"bytes"
	"encoding/json"
	"iter"
	"strings"
	"unicode/utf8"
)

// largeField reports whether a field of a call's arguments holds text that may be
// shortened without changing what the call did.
func largeField(name string) bool {
	switch name {
	case "content", "new_content", "body", "data", "code", "text", "search", "replace":
		return true
	}
	return false
}

// TruncateArguments shortens each string in a call's arguments that is the value of
// a large field (content, new_content, body, data, code, text, search, replace), at
// any depth, to at most limit characters, as [Truncate]. Everything else stays byte
// for byte, and JSON stays JSON. Arguments that are no JSON and longer than limit
// become an object that holds the shortened text. A limit of zero or less is none.
func TruncateArguments(args string, limit int) string {
	if limit <= 0 || len(args) <= limit {
		return args
	}
	if !json.Valid([]byte(args)) {
		if utf8.RuneCountInString(args) <= limit {
			return args
		}
		return `{"truncated":` + quote(Truncate(args, limit)) + `}`
	}
	var out strings.Builder
	copied := 0
	for field := range stringFields(args) {
		short := Truncate(field.value, limit)
		if !largeField(field.name) || short == field.value {
			continue
		}
		out.WriteString(args[copied:field.start])
		out.WriteString(quote(short))
		copied = field.end
	}
	out.WriteString(args[copied:])
	return out.String()
}

// quote writes s as a JSON string without the escapes that only HTML needs.
func quote(s string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil { // a string always encodes
		return `""`
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// stringField is a string in a JSON text that is the value of an object's field.
type stringField struct {
	name, value string
	start, end  int // of the literal, quotes included
}

// stringFields yields the string fields of valid JSON in the order of the text.
func stringFields(text string) iter.Seq[stringField] {
	return func(yield func(stringField) bool) {
		dec := json.NewDecoder(strings.NewReader(text))
		dec.UseNumber()
		var p position
		for {
			before := int(dec.InputOffset())
			token, err := dec.Token()
			if err != nil {
				return // io.EOF: the text is valid
			}
			value, isString := token.(string)
			name, isField := p.next(token)
			if !isString || !isField {
				continue
			}
			end := int(dec.InputOffset())
			start := before + strings.IndexByte(text[before:end], '"')
			if !yield(stringField{name, value, start, end}) {
				return
			}
		}
	}
}

// position is where in a JSON text a reader is: the containers around it,
// innermost last.
type position []container

type container struct {
	object bool
	// hasName is set between the name of a field and the end of its value.
	hasName bool
	name    string
}

// next takes the token that was read. For the end of a field's value it returns
// the field's name.
func (p *position) next(token json.Token) (name string, isField bool) {
	switch token {
	case json.Delim('{'), json.Delim('['):
		*p = append(*p, container{object: token == json.Delim('{')})
		return "", false
	case json.Delim('}'), json.Delim(']'):
		*p = (*p)[:len(*p)-1]
	}
	if len(*p) == 0 {
		return "", false
	}
	in := &(*p)[len(*p)-1]
	if !in.object {
		return "", false
	}
	if text, isString := token.(string); isString && !in.hasName {
		in.name, in.hasName = text, true
		return "", false
	}
	in.hasName = false
	return in.name, true
}
