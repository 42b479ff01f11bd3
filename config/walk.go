package config

import (
	"encoding"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// field is one key of a struct; those of embedded structs are its own.
type field struct {
	name  string
	typ   reflect.Type
	index []int
}

func fieldsOf(t reflect.Type) []field {
	var fields []field
	for _, f := range reflect.VisibleFields(t) {
		if f.Anonymous || !f.IsExported() {
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		fields = append(fields, field{name: name, typ: f.Type, index: f.Index})
	}
	return fields
}

func fieldNamed(fields []field, name string) (field, bool) {
	i := slices.IndexFunc(fields, func(f field) bool { return f.name == name })
	if i < 0 {
		return field{}, false
	}
	return fields[i], true
}

var (
	textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()
	rawJSON         = reflect.TypeFor[RawJSON]()
)

// isLeaf tells whether a type is one value of the file, not a composite.
func isLeaf(t reflect.Type) bool {
	if t == rawJSON || reflect.PointerTo(t).Implements(textUnmarshaler) {
		return true
	}
	switch t.Kind() {
	case reflect.Struct, reflect.Map, reflect.Slice, reflect.Pointer:
		return false
	}
	return true
}

// walk visits v and everything in it with its key path, composites before
// their parts; absent parts (nil pointers) are left out. Maps go in order of
// their keys, and their values are visited as copies that cannot be set.
func walk(path string, v reflect.Value, visit func(path string, v reflect.Value)) {
	if v.Kind() == reflect.Pointer {
		if !v.IsNil() {
			walk(path, v.Elem(), visit)
		}
		return
	}
	visit(path, v)
	if isLeaf(v.Type()) {
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for _, f := range fieldsOf(v.Type()) {
			walk(join(path, f.name), v.FieldByIndex(f.index), visit)
		}
	case reflect.Slice:
		for i := range v.Len() {
			walk(at(path, i), v.Index(i), visit)
		}
	case reflect.Map:
		for _, key := range sortedKeys(v) {
			walk(join(path, key.String()), v.MapIndex(key), visit)
		}
	}
}

func sortedKeys(m reflect.Value) []reflect.Value {
	keys := m.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
	return keys
}

var plainKey = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

// join appends a key to a path, quoted if it would not read as one word.
func join(path, key string) string {
	switch {
	case !plainKey.MatchString(key):
		return path + "[" + strconv.Quote(key) + "]"
	case path == "":
		return key
	}
	return path + "." + key
}

// at appends a position to a path.
func at(path string, i int) string { return fmt.Sprintf("%s[%d]", path, i) }

// parent cuts the last step off a path.
func parent(path string) string {
	if i := strings.LastIndexAny(path, ".["); i >= 0 {
		return path[:i]
	}
	return ""
}
