package toolloop

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// required names the argument without which two well-known tools cannot run.
var required = map[string]string{"bash": "command", "skill": "skill"}

// parseArguments returns the arguments in canonical form: one JSON object with
// sorted keys and no blanks. Nothing at all counts as no arguments. The error is
// written for the model.
func parseArguments(tool, text string) (json.RawMessage, error) {
	if strings.TrimSpace(text) == "" {
		text = "{}"
	}
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, fmt.Errorf("the arguments are not valid JSON (%w)", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("the arguments are not valid JSON (text after the object)")
	}
	object, ok := value.(map[string]any)
	if !ok {
		return nil, errors.New("the arguments must be a JSON object")
	}
	if field, ok := required[tool]; ok {
		if s, _ := object[field].(string); strings.TrimSpace(s) == "" {
			return nil, fmt.Errorf("the argument %q is missing", field)
		}
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(object); err != nil {
		return nil, fmt.Errorf("the arguments cannot be encoded (%w)", err)
	}
	return bytes.TrimSpace(out.Bytes()), nil
}
