package config

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"

	"github.com/goccy/go-yaml"
)

// Redacted returns a deep copy in which everything secret is replaced by
// [Hidden]: secrets, passwords in DSNs and URLs, and values under secret names
// in extraBody and in commands.
func (c *Config) Redacted() *Config {
	return copyOf(c, func(name string, v reflect.Value) reflect.Value {
		switch value := v.Interface().(type) {
		case RawJSON:
			return reflect.ValueOf(redactJSON(name, value))
		case Secret:
			return reflect.ValueOf(Secret(value.String()))
		case DSN:
			return reflect.ValueOf(DSN(value.String()))
		case URL:
			return reflect.ValueOf(URL(value.String()))
		case []string:
			if name == "command" {
				return reflect.ValueOf(redactArguments(value))
			}
		}
		return v
	})
}

// MarshalJSON writes the redacted form: no secret leaves through JSON.
func (c *Config) MarshalJSON() ([]byte, error) {
	type plain Config // without this method
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode((*plain)(c.Redacted())); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// YAML writes the redacted form as a configuration file.
func (c *Config) YAML() ([]byte, error) {
	document, err := c.MarshalJSON()
	if err != nil {
		return nil, err
	}
	return yaml.JSONToYAML(document)
}

func isSecret(t reflect.Type) bool {
	return t == reflect.TypeFor[Secret]() || t == reflect.TypeFor[DSN]() || t == reflect.TypeFor[URL]()
}

// copyOf returns a deep copy of c with every part, named by its key, passed
// through change.
func copyOf(c *Config, change func(name string, v reflect.Value) reflect.Value) *Config {
	out := new(Config)
	reflect.ValueOf(out).Elem().Set(rebuild("", reflect.ValueOf(c).Elem(), change))
	return out
}

func rebuild(name string, v reflect.Value, change func(string, reflect.Value) reflect.Value) reflect.Value {
	t := v.Type()
	if v.Kind() == reflect.Pointer || v.Kind() == reflect.Slice || v.Kind() == reflect.Map {
		if v.IsNil() {
			return v
		}
	}
	switch {
	case v.Kind() == reflect.Pointer:
		out := reflect.New(t.Elem())
		out.Elem().Set(rebuild(name, v.Elem(), change))
		return out
	case isLeaf(t):
		return change(name, v)
	case v.Kind() == reflect.Struct:
		out := reflect.New(t).Elem()
		for _, f := range fieldsOf(t) {
			out.FieldByIndex(f.index).Set(rebuild(f.name, v.FieldByIndex(f.index), change))
		}
		return out
	case v.Kind() == reflect.Slice:
		out := reflect.MakeSlice(t, v.Len(), v.Len())
		for i := range v.Len() {
			out.Index(i).Set(rebuild(name, v.Index(i), change))
		}
		return change(name, out)
	default:
		out := reflect.MakeMapWithSize(t, v.Len())
		for _, key := range v.MapKeys() {
			out.SetMapIndex(key, rebuild(key.String(), v.MapIndex(key), change))
		}
		return out
	}
}

// redactJSON hides the value if its name looks like a secret's, and those
// inside it. What is no JSON is hidden as a whole.
func redactJSON(name string, raw RawJSON) RawJSON {
	var value any
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	if err := decoder.Decode(&value); err != nil {
		return RawJSON(quoteJSON(Hidden))
	}
	out, err := json.Marshal(redactAny(name, value))
	if err != nil {
		return RawJSON(quoteJSON(Hidden))
	}
	return RawJSON(out)
}

func redactAny(name string, value any) any {
	switch v := value.(type) {
	case string:
		if secretName(name) && v != "" {
			return Hidden
		}
	case []any:
		for i := range v {
			v[i] = redactAny(name, v[i])
		}
	case map[string]any:
		for key := range v {
			v[key] = redactAny(key, v[key])
		}
	}
	return value
}

// redactArguments hides --token=VALUE, TOKEN=VALUE and what follows --token,
// and credentials in URLs.
func redactArguments(arguments []string) []string {
	out := make([]string, len(arguments))
	next := false
	for i, argument := range arguments {
		flag, _, hasValue := strings.Cut(argument, "=")
		name := strings.TrimLeft(flag, "-")
		switch {
		case next:
			out[i], next = Hidden, false
		case hasValue && secretName(name):
			out[i] = flag + "=" + Hidden
		case strings.Contains(argument, "://"):
			out[i] = URL(argument).String()
		default:
			out[i] = argument
			next = strings.HasPrefix(flag, "-") && secretName(name)
		}
	}
	return out
}
