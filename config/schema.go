package config

import (
	"encoding/json"
	"reflect"
	"time"

	"github.com/invopop/jsonschema"
)

// variablePattern matches a value that holds ${NAME}, which may stand for a
// value of any type.
const variablePattern = `\$\{[A-Za-z_][A-Za-z0-9_]*\}`

// Schema returns the JSON Schema (draft 2020-12) of the file, with defaults and
// the explanations of the reference.
func Schema() ([]byte, error) {
	reflector := jsonschema.Reflector{
		Anonymous:                  true,
		RequiredFromJSONSchemaTags: true,
		Mapper:                     schemaOf,
	}
	schema := reflector.Reflect(&Config{})
	schema.Title = "chatkeep configuration"
	if temperature, ok := schema.Definitions["Agent"].Properties.Get("temperature"); ok {
		temperature.AnyOf = append(temperature.AnyOf, &jsonschema.Schema{Type: "null"}) // not sent
	}
	schema.Definitions["Variable"] = &jsonschema.Schema{Type: "string", Pattern: variablePattern}
	if err := setSchemaDefaults(schema); err != nil {
		return nil, err
	}
	if err := describe(schema); err != nil {
		return nil, err
	}
	return json.MarshalIndent(schema, "", "  ")
}

// schemaOf describes single values; composites are left to the reflector.
func schemaOf(t reflect.Type) *jsonschema.Schema {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t {
	case reflect.TypeFor[time.Time]():
		return orVariable(&jsonschema.Schema{Type: "string", Format: "date-time"})
	case reflect.TypeFor[Duration]():
		return orVariable(&jsonschema.Schema{Type: "string", Pattern: `^([0-9]+(\.[0-9]*)?(ns|us|µs|ms|s|m|h))+$|^0$`}, &jsonschema.Schema{Const: 0})
	case rawJSON:
		return jsonschema.TrueSchema
	}
	if e, ok := reflect.TypeAssert[enum](reflect.Zero(t)); ok {
		words := &jsonschema.Schema{Type: "string"}
		for _, word := range e.values() {
			words.Enum = append(words.Enum, word)
		}
		return orVariable(words)
	}
	switch t.Kind() {
	case reflect.Int, reflect.Int64:
		return orVariable(&jsonschema.Schema{Type: "integer", Minimum: "0"})
	case reflect.Float64:
		return orVariable(&jsonschema.Schema{Type: "number", Minimum: "0"})
	case reflect.Bool:
		return orVariable(&jsonschema.Schema{Type: "boolean"})
	case reflect.String:
		return &jsonschema.Schema{Type: "string"}
	}
	return nil
}

func orVariable(forms ...*jsonschema.Schema) *jsonschema.Schema {
	return &jsonschema.Schema{AnyOf: append(forms, &jsonschema.Schema{Ref: "#/$defs/Variable"})}
}

// setSchemaDefaults writes the default of every value beside its key.
func setSchemaDefaults(schema *jsonschema.Schema) error {
	agent, feishu, dingTalk, api, task := DefaultAgent(), DefaultFeishu(), DefaultDingTalk(), DefaultAPIAccount(), DefaultTask()
	var words WordList
	words.setDefaults()
	roots := []any{emptyDefault(), &agent, &feishu, &dingTalk, &api, &task, &words}
	var failed error
	for _, root := range roots {
		walk("", reflect.ValueOf(root), func(_ string, v reflect.Value) {
			definition := schema.Definitions[v.Type().Name()]
			if v.Kind() != reflect.Struct || definition == nil || definition.Properties == nil {
				return
			}
			for _, f := range fieldsOf(v.Type()) {
				property, ok := definition.Properties.Get(f.name)
				value := v.FieldByIndex(f.index)
				if !ok || property.Ref != "" || isEmptyDefault(value) {
					continue
				}
				document, err := json.Marshal(value.Interface())
				if err != nil {
					failed = err
					return
				}
				property.Default = json.RawMessage(document)
			}
		})
	}
	return failed
}

// emptyDefault is the default without its built-in agent and account, which
// are no defaults of a list's members.
func emptyDefault() *Config {
	c := Default()
	c.Agents, c.Channels = nil, Channels{}
	return c
}

// isEmptyDefault tells values whose default goes without saying.
func isEmptyDefault(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Slice, reflect.Map, reflect.String:
		return v.Len() == 0
	}
	return v.Kind() == reflect.Pointer && v.IsNil() || v.Type() == reflect.TypeFor[time.Time]()
}
