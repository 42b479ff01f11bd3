package toolloop

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

const (
	// schemaURL names a tool's schema inside the validator; nothing is fetched.
	schemaURL = "tool:///arguments"
	// maxViolations is how much a model reads about its mistakes, in bytes.
	maxViolations = 1 << 10
)

// noLoader keeps a schema from reading files or addresses that it refers to.
type noLoader struct{}

var errForeignSchema = errors.New("a schema may not refer to another document")

// Load refuses.
func (noLoader) Load(string) (any, error) { return nil, errForeignSchema }

// checkArguments holds arguments against a tool's schema. The error is written for
// the model. A schema that cannot be used, because it is broken or refers to
// another document, checks nothing: the tool itself has the last word.
func checkArguments(schema, arguments json.RawMessage) (err error) {
	if len(schema) == 0 {
		return nil
	}
	defer func() {
		if recover() != nil { // a schema that the validator was not made for
			err = nil
		}
	}()
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		return nil
	}
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(noLoader{})
	if compiler.AddResource(schemaURL, document) != nil {
		return nil
	}
	compiled, err := compiler.Compile(schemaURL)
	if err != nil {
		return nil
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(arguments))
	if err != nil {
		return fmt.Errorf("the arguments are not valid JSON (%w)", err)
	}
	var broken *jsonschema.ValidationError
	if !errors.As(compiled.Validate(value), &broken) || circular(broken) {
		return nil
	}
	// The first line names the schema, which is nothing to a model.
	_, violations, _ := strings.Cut(broken.Error(), "\n")
	return fmt.Errorf("the arguments do not fit the tool's schema:\n%s", capped(violations, maxViolations, origin{size: len(violations)}))
}

// circular reports whether the schema is at fault: it refers to itself only.
func circular(e *jsonschema.ValidationError) bool {
	if _, ok := e.ErrorKind.(*kind.RefCycle); ok {
		return true
	}
	return slices.ContainsFunc(e.Causes, circular)
}
