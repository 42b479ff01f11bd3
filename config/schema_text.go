package config

import (
	"reflect"
	"regexp"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/invopop/jsonschema"
)

// describe writes what the reference file says beside a key into the schema,
// for editors to show.
func describe(schema *jsonschema.Schema) error {
	comments := yaml.CommentMap{}
	var ignored any
	if err := yaml.UnmarshalWithOptions([]byte(Reference()), &ignored, yaml.CommentToMap(comments)); err != nil {
		return err
	}
	for path, around := range comments {
		for _, comment := range around {
			text := strings.TrimPrefix(strings.TrimSpace(strings.Join(comment.Texts, " ")), "example")
			if text = strings.TrimPrefix(text, "; "); comment.Position != yaml.CommentLinePosition || text == "" {
				continue
			}
			if property := propertyAt(schema, path); property != nil && property.Ref == "" {
				property.Description = text
			}
		}
	}
	return nil
}

var position = regexp.MustCompile(`\[\d+\]`)

// propertyAt finds the property that a path such as $.agents[0].id leads to;
// nil if it leads into a map.
func propertyAt(schema *jsonschema.Schema, path string) *jsonschema.Schema {
	t := reflect.TypeFor[Config]()
	var property *jsonschema.Schema
	for name := range strings.SplitSeq(strings.TrimPrefix(position.ReplaceAllString(path, ""), "$."), ".") {
		for t.Kind() == reflect.Slice || t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		definition := schema.Definitions[t.Name()]
		if t.Kind() != reflect.Struct || definition == nil || definition.Properties == nil {
			return nil
		}
		f, ok := fieldNamed(fieldsOf(t), name)
		if !ok {
			return nil
		}
		property, _ = definition.Properties.Get(name)
		t = f.typ
	}
	return property
}
