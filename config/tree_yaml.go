package config

import (
	"errors"
	"fmt"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// parseYAML builds the tree of a YAML document, anchors and merges resolved.
func parseYAML(data []byte) (root *node, err error) {
	defer func() {
		if recover() != nil { // the parser's own faults on hostile input
			root, err = nil, &syntaxError{message: "is not valid YAML: check its indentation, quotes and brackets"}
		}
	}()
	file, err := parser.ParseBytes(data, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return nil, yamlSyntaxError(err)
	}
	var body ast.Node
	for _, doc := range file.Docs {
		if doc.Body == nil {
			continue
		}
		if body != nil {
			return nil, &syntaxError{lineOf(doc.Body), "holds more than one document: keep one"}
		}
		body = doc.Body
	}
	if body == nil {
		return &node{line: 1}, nil
	}
	p := yamlParser{anchors: map[string]*node{}}
	return p.value(body, 0)
}

func yamlSyntaxError(err error) error {
	e := &syntaxError{message: "is not valid YAML: check its indentation, quotes and brackets"}
	if detail, ok := errors.AsType[yaml.Error](err); ok {
		if token := detail.GetToken(); token != nil && token.Position != nil {
			e.line = token.Position.Line
		}
		e.message = "is not valid YAML: " + detail.GetMessage()
	}
	return e
}

type yamlParser struct {
	anchors map[string]*node
	nodes   int
}

func (p *yamlParser) value(n ast.Node, depth int) (*node, error) {
	line := lineOf(n)
	if depth > maxDepth {
		return nil, &syntaxError{line, errTooDeep.Error()}
	}
	if p.nodes++; p.nodes > maxNodes {
		return nil, &syntaxError{line, errTooMany.Error()}
	}
	scalar := func(k kind, text string) (*node, error) { return &node{kind: k, line: line, text: text}, nil }
	switch n := n.(type) {
	case nil, *ast.NullNode:
		return scalar(kindNull, "")
	case *ast.BoolNode:
		return scalar(kindBool, fmt.Sprint(n.Value))
	case *ast.IntegerNode:
		return scalar(kindInt, fmt.Sprint(n.Value))
	case *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		return scalar(kindFloat, n.GetToken().Value)
	case *ast.StringNode:
		return scalar(kindText, n.Value)
	case *ast.LiteralNode:
		return scalar(kindText, n.Value.Value)
	case *ast.TagNode:
		return p.tagged(n, line, depth)
	case *ast.AnchorNode:
		value, err := p.value(n.Value, depth)
		if err == nil {
			p.anchors[n.Name.GetToken().Value] = value
		}
		return value, err
	case *ast.AliasNode:
		return p.alias(n, line)
	case *ast.SequenceNode:
		list := &node{kind: kindList, line: line}
		for _, v := range n.Values {
			item, err := p.value(v, depth+1)
			if err != nil {
				return nil, err
			}
			list.items = append(list.items, item)
		}
		return list, nil
	case *ast.MappingNode:
		return p.mapping(n.Values, line, depth)
	case *ast.MappingValueNode:
		return p.mapping([]*ast.MappingValueNode{n}, line, depth)
	}
	return nil, &syntaxError{line, "uses YAML that a configuration has no use for: write plain keys and values"}
}

// tagged honours !!str, which makes text of any scalar, and no other tag.
func (p *yamlParser) tagged(n *ast.TagNode, line, depth int) (*node, error) {
	value, err := p.value(n.Value, depth+1)
	if err != nil {
		return nil, err
	}
	if n.Start.Value != "!!str" || value.kind == kindList || value.kind == kindMap {
		return nil, &syntaxError{line, fmt.Sprintf("uses the tag %s: remove it", n.Start.Value)}
	}
	text := ""
	if n.Value != nil {
		text = n.Value.GetToken().Value
	}
	return &node{kind: kindText, line: line, text: text}, nil
}

// alias returns what an anchor before it holds. The whole of it counts against
// the bound on nodes, or a few lines could grow without end.
func (p *yamlParser) alias(n *ast.AliasNode, line int) (*node, error) {
	name := n.Value.GetToken().Value
	value, ok := p.anchors[name]
	if !ok {
		return nil, &syntaxError{line, fmt.Sprintf("uses *%s, which is not defined before: write &%s first", name, name)}
	}
	if p.nodes += value.count(); p.nodes > maxNodes {
		return nil, &syntaxError{line, errTooMany.Error()}
	}
	return value, nil
}

func (p *yamlParser) mapping(values []*ast.MappingValueNode, line, depth int) (*node, error) {
	m := &node{kind: kindMap, line: line}
	var merged []entry
	for _, v := range values {
		value, err := p.value(v.Value, depth+1)
		if err != nil {
			return nil, err
		}
		if v.Key.IsMergeKey() {
			sources := []*node{value}
			if value.kind == kindList {
				sources = value.items
			}
			for _, source := range sources {
				if source.kind != kindMap {
					return nil, &syntaxError{lineOf(v), "merges something that is no group of keys: merge an anchor of one"}
				}
				merged = append(merged, source.entries...)
			}
			continue
		}
		key, err := p.value(v.Key, depth+1)
		if err != nil {
			return nil, err
		}
		if key.kind == kindList || key.kind == kindMap || key.kind == kindNull {
			return nil, &syntaxError{lineOf(v), "has a key that is no word: write key: value"}
		}
		text := key.text
		if key.kind != kindText {
			text = v.Key.GetToken().Value
		}
		m.entries = append(m.entries, entry{text, lineOf(v.Key), value})
	}
	m.merge(merged)
	return m, nil
}

// merge adds entries whose keys are not there yet.
func (n *node) merge(entries []entry) {
	seen := make(map[string]bool, len(n.entries))
	for _, e := range n.entries {
		seen[e.key] = true
	}
	for _, e := range entries {
		if !seen[e.key] {
			seen[e.key] = true
			n.entries = append(n.entries, e)
		}
	}
}

// count is the number of nodes in n.
func (n *node) count() int {
	total := 1
	for _, item := range n.items {
		total += item.count()
	}
	for _, e := range n.entries {
		total += e.value.count()
	}
	return total
}

func lineOf(n ast.Node) int {
	if n == nil || n.GetToken() == nil || n.GetToken().Position == nil {
		return 0
	}
	return n.GetToken().Position.Line
}
