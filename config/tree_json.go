package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
)

// parseJSON builds the tree of a JSON document.
func parseJSON(data []byte) (*node, error) {
	p := jsonParser{data: data, decoder: json.NewDecoder(bytes.NewReader(data)), line: 1}
	p.decoder.UseNumber()
	root, err := p.value(0)
	if err == nil {
		if _, extra := p.decoder.Token(); extra != io.EOF {
			err = errors.New("has something after its end: keep one document")
		}
	}
	if err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			err = errors.New("ends too early: close every bracket and quote")
		}
		p.advance()
		return nil, &syntaxError{p.line, "is not valid JSON: " + strings.TrimPrefix(err.Error(), "json: ")}
	}
	return root, nil
}

type jsonParser struct {
	data    []byte
	decoder *json.Decoder
	offset  int64
	line    int
}

// advance moves line to where the decoder is.
func (p *jsonParser) advance() {
	now := min(p.decoder.InputOffset(), int64(len(p.data)))
	p.line += bytes.Count(p.data[p.offset:now], []byte("\n"))
	p.offset = now
}

func (p *jsonParser) token() (json.Token, error) {
	token, err := p.decoder.Token()
	p.advance()
	return token, err
}

func (p *jsonParser) value(depth int) (*node, error) {
	if depth > maxDepth {
		return nil, errTooDeep
	}
	token, err := p.token()
	if err != nil {
		return nil, err
	}
	n := &node{line: p.line}
	switch t := token.(type) {
	case nil:
		n.kind = kindNull
	case bool:
		n.kind, n.text = kindBool, "false"
		if t {
			n.text = "true"
		}
	case json.Number:
		n.kind, n.text = kindInt, t.String()
		if strings.ContainsAny(n.text, ".eE") {
			n.kind = kindFloat
		}
	case string:
		n.kind, n.text = kindText, t
	case json.Delim:
		if t == '[' {
			n.kind = kindList
			err = p.list(n, depth)
		} else {
			n.kind = kindMap
			err = p.object(n, depth)
		}
	}
	return n, err
}

func (p *jsonParser) list(n *node, depth int) error {
	for p.decoder.More() {
		item, err := p.value(depth + 1)
		if err != nil {
			return err
		}
		n.items = append(n.items, item)
	}
	_, err := p.token()
	return err
}

func (p *jsonParser) object(n *node, depth int) error {
	for p.decoder.More() {
		token, err := p.token()
		if err != nil {
			return err
		}
		key, _ := token.(string) // the decoder lets nothing else stand here
		line := p.line
		value, err := p.value(depth + 1)
		if err != nil {
			return err
		}
		n.entries = append(n.entries, entry{key, line, value})
	}
	_, err := p.token()
	return err
}
