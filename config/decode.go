package config

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"unicode/utf8"
)

// origin is where a key was written.
type origin struct {
	source string
	line   int
}

// decoder puts trees into typed values and reports everything that does not
// fit; what does fit is kept.
type decoder struct {
	source   string
	problems *Errors
	origins  map[string]origin
	// suspect holds paths that are wrong already, or that an unknown key was
	// probably meant for: their missing values are no second problem.
	suspect map[string]bool
}

func (d *decoder) problem(path string, line int, format string, args ...any) {
	d.suspect[path] = true
	d.problems.add(Problem{Source: d.source, Line: line, Path: path, Message: fmt.Sprintf(format, args...)})
}

// defaulter is an element of a list or map that has defaults of its own.
type defaulter interface{ setDefaults() }

// value decodes n into v, which keeps its value where n says nothing.
func (d *decoder) value(path string, n *node, v reflect.Value) {
	if n.bad {
		return
	}
	if n.kind == kindNull {
		if v.Kind() == reflect.Pointer {
			v.SetZero()
		}
		return
	}
	if v.Kind() == reflect.Pointer {
		fresh := reflect.New(v.Type().Elem())
		d.value(path, n, fresh.Elem())
		v.Set(fresh)
		return
	}
	d.origins[path] = origin{d.source, n.line}
	switch {
	case v.Type() == rawJSON:
		v.SetBytes(n.json())
	case isLeaf(v.Type()):
		d.scalar(path, n, v)
	case v.Kind() == reflect.Struct:
		d.object(path, n, v)
	case v.Kind() == reflect.Slice:
		d.list(path, n, v)
	default:
		d.dictionary(path, n, v)
	}
}

func (d *decoder) object(path string, n *node, v reflect.Value) {
	if !d.expect(path, n, kindMap) {
		return
	}
	fields := fieldsOf(v.Type())
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.name
	}
	seen := map[string]bool{}
	for _, e := range n.entries {
		keyPath := join(path, e.key)
		f, known := fieldNamed(fields, e.key)
		switch {
		case !known:
			if s := nearest(e.key, names); s != "" {
				d.suspect[join(path, s)] = true
			}
			d.problem(keyPath, e.line, "unknown key: %s", didYouMean(e.key, names))
		case seen[e.key]:
			d.problem(keyPath, e.line, "is given twice: remove one")
		default:
			d.value(keyPath, e.value, v.FieldByIndex(f.index))
		}
		seen[e.key] = true
	}
}

func (d *decoder) list(path string, n *node, v reflect.Value) {
	if !d.expect(path, n, kindList) {
		return
	}
	list := reflect.MakeSlice(v.Type(), len(n.items), len(n.items))
	for i, item := range n.items {
		setElementDefaults(list.Index(i))
		if item.kind == kindNull {
			d.problem(at(path, i), item.line, "is empty: write it, or remove the entry")
			continue
		}
		d.value(at(path, i), item, list.Index(i))
	}
	v.Set(list)
}

func (d *decoder) dictionary(path string, n *node, v reflect.Value) {
	if !d.expect(path, n, kindMap) {
		return
	}
	m := reflect.MakeMapWithSize(v.Type(), len(n.entries))
	for _, e := range n.entries {
		key := reflect.ValueOf(e.key)
		if m.MapIndex(key).IsValid() {
			d.problem(join(path, e.key), e.line, "is given twice: remove one")
			continue
		}
		element := reflect.New(v.Type().Elem()).Elem()
		setElementDefaults(element)
		if v.Type().Elem() == rawJSON {
			element.SetBytes([]byte("null"))
		}
		d.value(join(path, e.key), e.value, element)
		m.SetMapIndex(key, element)
	}
	v.Set(m)
}

func setElementDefaults(v reflect.Value) {
	if e, ok := reflect.TypeAssert[defaulter](v.Addr()); ok {
		e.setDefaults()
	}
}

func (d *decoder) expect(path string, n *node, want kind) bool {
	if n.kind == want {
		return true
	}
	d.problem(path, n.line, "needs %s, not %s", want, n.kind)
	return false
}

// scalar decodes one value. Types are strict: text is text, and a number is a
// number unless it came out of the environment.
func (d *decoder) scalar(path string, n *node, v reflect.Value) {
	if n.kind == kindList || n.kind == kindMap {
		d.problem(path, n.line, "needs one value, not %s", n.kind)
		return
	}
	if target, ok := reflect.TypeAssert[encoding.TextUnmarshaler](v.Addr()); ok {
		if n.kind != kindText && n.text != "0" { // a zero needs no unit
			d.problem(path, n.line, "%s, not %s", textForm(v.Type()), n.describe())
			return
		}
		if target.UnmarshalText([]byte(n.text)) != nil {
			d.problem(path, n.line, "%s, not %s", textForm(v.Type()), n.describe())
		}
		return
	}
	var err error
	switch v.Kind() {
	case reflect.String:
		err = n.setText(v)
	case reflect.Bool:
		err = n.setBool(v)
	case reflect.Int, reflect.Int64:
		err = n.setInt(v)
	case reflect.Float64:
		err = n.setFloat(v)
	}
	if err != nil {
		d.problem(path, n.line, "%s", err)
	}
}

func textForm(t reflect.Type) string {
	if t == reflect.TypeFor[Duration]() {
		return errDuration.Error()
	}
	return "needs a time with its zone, such as 2026-12-01T09:00:00+08:00"
}

func (n *node) setText(v reflect.Value) error {
	switch {
	case n.kind != kindText && isSecret(v.Type()):
		return errors.New("needs text: put the value in quotes")
	case n.kind != kindText:
		return fmt.Errorf("needs text: write %q in quotes", n.text)
	case !utf8.ValidString(n.text):
		return errors.New("needs valid UTF-8")
	}
	v.SetString(n.text)
	return nil
}

func (n *node) setBool(v reflect.Value) error {
	if (n.kind == kindBool || n.loose) && (n.text == "true" || n.text == "false") {
		v.SetBool(n.text == "true")
		return nil
	}
	return fmt.Errorf("needs true or false, not %s", n.describe())
}

func (n *node) setInt(v reflect.Value) error {
	if n.kind == kindInt || n.loose {
		if i, err := strconv.ParseInt(n.text, 10, v.Type().Bits()); err == nil {
			v.SetInt(i)
			return nil
		}
	}
	return fmt.Errorf("needs a whole number, not %s", n.describe())
}

func (n *node) setFloat(v reflect.Value) error {
	if n.kind == kindInt || n.kind == kindFloat || n.loose {
		f, err := strconv.ParseFloat(n.text, 64)
		if err == nil && !math.IsNaN(f) && !math.IsInf(f, 0) {
			v.SetFloat(f)
			return nil
		}
	}
	return fmt.Errorf("needs a number, not %s", n.describe())
}

// json renders n as JSON, for what is passed through to others.
func (n *node) json() []byte {
	switch n.kind {
	case kindBool, kindInt:
		return []byte(n.text)
	case kindFloat:
		if f, err := strconv.ParseFloat(n.text, 64); err == nil {
			if out, err := json.Marshal(f); err == nil {
				return out
			}
		}
		return quoteJSON(n.text)
	case kindText:
		return quoteJSON(n.text)
	case kindList:
		out := []byte{'['}
		for i, item := range n.items {
			if i > 0 {
				out = append(out, ',')
			}
			out = append(out, item.json()...)
		}
		return append(out, ']')
	case kindMap:
		out := []byte{'{'}
		for i, e := range n.entries {
			if i > 0 {
				out = append(out, ',')
			}
			out = append(append(out, quoteJSON(e.key)...), ':')
			out = append(out, e.value.json()...)
		}
		return append(out, '}')
	}
	return []byte("null")
}

func quoteJSON(s string) []byte {
	out, err := json.Marshal(s)
	if err != nil { // no string fails to marshal
		return []byte(`""`)
	}
	return out
}
