package jsonkeys

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// Check refuses valid JSON in which an object has a key twice, or one that is the
// name of a field but for its case: encoding/json would take the last of them, and
// either case, where a client meant one thing and something before us may have read
// another. v is what the document is decoded into.
func Check(document []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(document))
	d.UseNumber()
	return (&keyChecker{d}).value(reflect.TypeOf(v))
}

type keyChecker struct{ d *json.Decoder }

// value reads one value that is decoded into t; nil: nothing is known of it.
func (k *keyChecker) value(t reflect.Type) error {
	token, err := k.d.Token()
	if err != nil {
		return err
	}
	t = decodedType(t)
	switch token {
	case json.Delim('['):
		for k.d.More() {
			if err := k.value(elementOf(t)); err != nil {
				return err
			}
		}
	case json.Delim('{'):
		if err := k.members(t); err != nil {
			return err
		}
	default:
		return nil
	}
	_, err = k.d.Token() // the end
	return err
}

func (k *keyChecker) members(t reflect.Type) error {
	fields := map[string]reflect.Type{}
	if t != nil && t.Kind() == reflect.Struct {
		addFields(fields, t)
	}
	seen := map[string]bool{}
	for k.d.More() {
		token, err := k.d.Token()
		if err != nil {
			return err
		}
		name, _ := token.(string) // a key is nothing else
		if seen[name] {
			return fmt.Errorf("the key %q is there twice", short(name))
		}
		seen[name] = true
		of, known := fields[name]
		if !known {
			of = elementOf(t) // of a map
			for field := range fields {
				if strings.EqualFold(field, name) {
					return fmt.Errorf("the key %q must be written %q", short(name), field)
				}
			}
		}
		if err := k.value(of); err != nil {
			return err
		}
	}
	return nil
}

// short cuts a key to what an error message holds.
func short(key string) string { return strings.ToValidUTF8(key[:min(len(key), 64)], "") }

var unmarshaler = reflect.TypeFor[json.Unmarshaler]()

// decodedType is the type behind pointers; nil for one that decodes itself.
func decodedType(t reflect.Type) reflect.Type {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == nil || reflect.PointerTo(t).Implements(unmarshaler) {
		return nil
	}
	return t
}

func elementOf(t reflect.Type) reflect.Type {
	if t == nil {
		return nil
	}
	switch t.Kind() {
	case reflect.Slice, reflect.Array, reflect.Map:
		return t.Elem()
	default:
		return nil
	}
}

func addFields(into map[string]reflect.Type, t reflect.Type) {
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "" && f.Type.Kind() == reflect.Struct:
			addFields(into, f.Type)
		case f.IsExported() && name != "-":
			if name == "" {
				name = f.Name
			}
			into[name] = f.Type
		}
	}
}
