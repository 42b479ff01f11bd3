package config

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

func compiledSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	document, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(document))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("config.json", parsed); err != nil {
		t.Fatal(err)
	}
	schema, err := compiler.Compile("config.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

func validate(t *testing.T, schema *jsonschema.Schema, document string) error {
	t.Helper()
	asJSON, err := yaml.YAMLToJSON([]byte(document))
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(asJSON))
	if err != nil {
		t.Fatal(err)
	}
	return schema.Validate(parsed)
}

func TestSchemaAcceptsWhatIsRight(t *testing.T) {
	schema := compiledSchema(t)
	printed, err := load(t, Reference(), referenceEnv...).YAML()
	if err != nil {
		t.Fatal(err)
	}
	for name, document := range map[string]string{
		"reference": Reference(),
		"printed":   string(printed),
		"session":   acceptedUnchanged,
		"variables": "limits: {workers: '${N}'}\nlog: {level: '${L}'}\nserver: {shutdownGrace: '${D}'}\nagents: [{images: '${B}', temperature: null, timeout: 0}]",
	} {
		if err := validate(t, schema, document); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSchemaRefusesWhatIsWrong(t *testing.T) {
	schema := compiledSchema(t)
	for _, document := range []string{
		"sever: {}",
		"server: {listen: 1}",
		"log: {level: loud}",
		"limits: {workers: -1}",
		"limits: {workers: many}",
		"server: {shutdownGrace: 30}",
		"agents: {id: a}",
		"channels: {feishu: [{mode: stream}]}",
		"channels: {feishu: [{overrides: {oc_1: {mode: webhook}}}]}",
	} {
		if err := validate(t, schema, document); err == nil {
			t.Errorf("accepted %s", document)
		}
	}
}

// Both readers of a document must agree on which keys there are.
func TestSchemaHasEveryKeyAndDefault(t *testing.T) {
	document, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Defs map[string]struct {
			Properties map[string]struct {
				Default     any
				Description string
			}
		} `json:"$defs"`
	}
	if err := json.Unmarshal(document, &schema); err != nil {
		t.Fatal(err)
	}
	eachStruct(func(name string, fields []field) {
		properties := schema.Defs[name].Properties
		if len(properties) != len(fields) {
			t.Errorf("%s has %d keys in the schema, %d in the struct", name, len(properties), len(fields))
		}
		for _, f := range fields {
			if _, ok := properties[f.name]; !ok {
				t.Errorf("the schema lacks %s.%s", name, f.name)
			}
		}
	})
	for path, want := range map[string]string{
		"Server.listen":            "host:port of everything, unless moved by the next key",
		"Agent.kind":               "echo | openai | webhook",
		"Agent.id":                 "",
		"Pruning.mode":             "soft: shortened | hard: replaced, old messages deleted | cache_ttl: when the provider's cache is cold",
		"MCPServer.url":            "instead of command: streamable HTTP",
		"Limits.workers":           "concurrent turns; 0: 64 per CPU, at least 128",
		"FeishuChannel.encryptKey": "required in webhook mode",
	} {
		definition, key, _ := strings.Cut(path, ".")
		if got := schema.Defs[definition].Properties[key].Description; got != want {
			t.Errorf("description of %s = %q, want %q", path, got, want)
		}
	}
	for path, want := range map[string]any{
		"Server.listen": "127.0.0.1:8080", "Agent.timeout": "2m", "Agent.temperature": 0.7, "Limits.maxInboundBytes": 1048576.0,
		"FeishuChannel.mode": "websocket", "FeishuChannel.language": "auto", "Task.missed": "once", "Group.observe": true, "Agent.kind": nil,
	} {
		definition, key, _ := strings.Cut(path, ".")
		if got := schema.Defs[definition].Properties[key].Default; got != want {
			t.Errorf("default of %s = %v, want %v", path, got, want)
		}
	}
}
