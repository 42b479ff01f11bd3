package config

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"testing"
)

// eachStruct visits every struct type of the schema.
func eachStruct(visit func(name string, fields []field)) {
	seen := map[reflect.Type]bool{}
	var walkType func(t reflect.Type)
	walkType = func(t reflect.Type) {
		if isLeaf(t) || seen[t] {
			return
		}
		seen[t] = true
		if t.Kind() != reflect.Struct {
			walkType(t.Elem())
			return
		}
		visit(t.Name(), fieldsOf(t))
		for _, f := range fieldsOf(t) {
			walkType(f.typ)
		}
	}
	walkType(reflect.TypeFor[Config]())
}

// A key that looks like a secret must have a type that hides itself. Numbers
// (maxTokens) and names of files (apiKeyFile) hold none.
func TestWhatLooksLikeASecretIsOne(t *testing.T) {
	checked := 0
	eachStruct(func(name string, fields []field) {
		for _, f := range fields {
			text := f.typ
			if text.Kind() == reflect.Slice || text.Kind() == reflect.Map || text.Kind() == reflect.Pointer {
				text = text.Elem()
			}
			looksSecret := secretName(f.name) || f.name == "dsn" || f.name == "headers" || f.name == "url" || strings.HasSuffix(f.name, "Url")
			if !looksSecret || text.Kind() != reflect.String || strings.HasSuffix(f.name, fileSuffix) {
				continue
			}
			checked++
			if !isSecret(text) {
				t.Errorf("%s.%s is a %s: make it a Secret, URL or DSN", name, f.name, f.typ)
			}
		}
	})
	if checked < 10 {
		t.Errorf("only %d keys looked like secrets", checked)
	}
}

const canary = "c4n4ry"

// full builds a value with one member in every list and map, and the canary in
// all that is secret.
func full(t reflect.Type) reflect.Value {
	v := reflect.New(t).Elem()
	switch {
	case t == reflect.TypeFor[Secret]():
		v.SetString(canary)
	case t == reflect.TypeFor[DSN]():
		v.SetString("root:" + canary + "@tcp(h)/db")
	case t == reflect.TypeFor[URL]():
		v.SetString("https://u:" + canary + "@h/x?access_token=" + canary + "&key=" + canary)
	case t == rawJSON:
		v.SetBytes([]byte(`{"apiKey":"` + canary + `","list":[{"token":["` + canary + `"]}],"n":1e400}`))
	case isLeaf(t):
	case t.Kind() == reflect.Pointer:
		v.Set(reflect.New(t.Elem()))
		v.Elem().Set(full(t.Elem()))
	case t.Kind() == reflect.Struct:
		for _, f := range fieldsOf(t) {
			v.FieldByIndex(f.index).Set(full(f.typ))
			if f.name == "command" {
				v.FieldByIndex(f.index).Set(reflect.ValueOf([]string{"srv", "--api-key", canary, "--token=" + canary, "SECRET=" + canary, "http://u:" + canary + "@h"}))
			}
		}
	case t.Kind() == reflect.Slice:
		v.Set(reflect.Append(v, full(t.Elem())))
	case t.Kind() == reflect.Map:
		v.Set(reflect.MakeMap(t))
		v.SetMapIndex(reflect.ValueOf("password"), full(t.Elem()))
	}
	return v
}

func TestNoSecretIsShown(t *testing.T) {
	c := full(reflect.TypeFor[Config]()).Addr().Interface().(*Config)
	c.Agents[0].ExtraBody["api_key"] = RawJSON(`"` + canary + `"`)

	document, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	yamlDocument, err := c.YAML()
	if err != nil {
		t.Fatal(err)
	}
	var logged bytes.Buffer
	slog.New(slog.NewJSONHandler(&logged, nil)).Info("x", "config", c, "token", c.Server.AdminToken, "dsn", c.Storage.DSN)
	slog.New(slog.NewTextHandler(&logged, nil)).Info("x", "token", c.Server.AdminToken, "dsn", c.Storage.DSN, "url", c.Agents[0].URL)

	redacted := *c.Redacted()
	revealed := fmt.Sprint(redacted.Server.AdminToken.Reveal(), redacted.Storage.DSN.Reveal(), redacted.Agents[0].URL.Reveal(),
		string(redacted.Agents[0].ExtraBody["password"]), redacted.MCPServers[0].Command)

	// Single parts are printed too, but commands only in the redacted form.
	parts := fmt.Sprintf("%v %+v %#v %v %+v", c.Server, c.Storage, c.Server, c.Agents[0], c.Channels)

	for name, text := range map[string]string{
		"JSON": string(document), "YAML": string(yamlDocument), "log": logged.String(), "Redacted": revealed, "fmt": parts,
	} {
		if strings.Contains(text, canary) {
			t.Errorf("%s shows a secret:\n%s", name, text)
		}
		if !strings.Contains(text, "redacted") {
			t.Errorf("%s shows nothing of the secrets:\n%s", name, text)
		}
	}
	if !strings.Contains(c.Storage.DSN.Reveal(), canary) || !strings.Contains(string(c.Agents[0].ExtraBody["password"]), canary) {
		t.Error("Redacted changed the original")
	}
}

func TestEmptySecretsStayEmpty(t *testing.T) {
	c := Default()
	if strings.Contains(asJSON(t, c), "redacted") {
		t.Error("a secret that is not set looks set")
	}
}
