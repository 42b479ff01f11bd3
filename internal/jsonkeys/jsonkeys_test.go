package jsonkeys_test

import (
	"encoding/json"
	"testing"

	"github.com/chatkeep/chatkeep/internal/jsonkeys"
)

func TestCheck(t *testing.T) {
	type part struct {
		Name string          `json:"name"`
		Raw  json.RawMessage `json:"raw"`
	}
	type document struct {
		part
		Parts map[string]*part `json:"parts"`
	}
	for text, good := range map[string]bool{
		`{"name":"a","parts":{"a":{"name":"b"},"A":{"name":"b"}},"raw":{"Name":1,"name":2}}`: true,
		`{"name":"a","name":"a"}`:            false,
		`{"name":"a","na\u006de":"a"}`:       false,
		`{"Name":"a"}`:                       false,
		`{"parts":{"a":{},"a":{}}}`:          false,
		`{"parts":{"a":{"NAME":"b"}}}`:       false,
		`{"raw":[{"a":{"b":1,"b":1}}]}`:      false,
		`{"raw":[{"a":1},{"a":1}],"more":1}`: true,
	} {
		if err := jsonkeys.Check([]byte(text), &document{}); (err == nil) != good {
			t.Errorf("%s: %v", text, err)
		}
	}
}
