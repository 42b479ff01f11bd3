package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gin-gonic/gin"

	"github.com/chatkeep/chatkeep/internal/jsonkeys"
	"github.com/chatkeep/chatkeep/models"
)

// readBody returns the body, within the server's limit. The server's read timeout
// counts for the body alone: a client may then wait for its answer as long as it likes.
func readBody(c *gin.Context) ([]byte, error) {
	body, err := io.ReadAll(c.Request.Body)
	if tooLarge, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, &problem{code: models.CodeTooLarge, message: fmt.Sprintf("the body is larger than %d bytes", tooLarge.Limit)}
	}
	if err != nil {
		return nil, invalid("the body could not be read")
	}
	// Without a connection below (in a test) there is no deadline to take back.
	_ = http.NewResponseController(c.Writer).SetReadDeadline(time.Time{})
	return body, nil
}

// decodeBody reads the request's body into v. Unknown fields are errors if strict.
func decodeBody(c *gin.Context, v any, strict bool) error {
	body, err := readBody(c)
	if err != nil {
		return err
	}
	return decodeJSON(body, v, strict)
}

// decodeJSON reads one JSON object into v. What cannot be stored as it is written
// is refused: ids that differ must not become the same.
func decodeJSON(body []byte, v any, strict bool) error {
	trimmed := bytes.TrimSpace(body)
	switch {
	case len(trimmed) == 0:
		return invalid("the body is empty; a JSON object is needed")
	case !utf8.Valid(body):
		return invalid("the body is not valid UTF-8")
	case trimmed[0] != '{' && json.Valid(trimmed):
		return invalid("the body must be a JSON object")
	}
	d := json.NewDecoder(bytes.NewReader(body))
	if strict {
		d.DisallowUnknownFields()
	}
	if err := d.Decode(v); err != nil {
		return invalid("the body is not what this route takes: " + jsonError(err))
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return invalid("there is something after the JSON object")
	}
	if err := jsonkeys.Check(body, v); err != nil {
		return invalid(err.Error())
	}
	if loneSurrogate(body) {
		return invalid(`a string holds half of a \u surrogate pair, which is no character`)
	}
	return nil
}

func jsonError(err error) string {
	var typed *json.UnmarshalTypeError
	switch {
	case errors.As(err, &typed) && typed.Field != "":
		return fmt.Sprintf("field %q cannot be a %s", typed.Field, typed.Value)
	case errors.As(err, &typed):
		return "it cannot be a " + typed.Value
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "it ends too early"
	}
	return strings.TrimPrefix(err.Error(), "json: ")
}

// loneSurrogate reports whether valid JSON holds an escaped surrogate without its
// other half, which encoding/json would replace.
func loneSurrogate(body []byte) bool {
	for i := 0; i < len(body); i++ {
		if body[i] != '\\' {
			continue
		}
		first, ok := escaped(body[i:])
		switch {
		case !ok:
			i++ // another escape: its letter says nothing
		case first >= 0xDC00 && first < 0xE000:
			return true
		case first >= 0xD800 && first < 0xDC00:
			second, ok := escaped(body[i+6:])
			if !ok || second < 0xDC00 || second >= 0xE000 {
				return true
			}
			i += 11
		default:
			i += 5
		}
	}
	return false
}

// escaped reads a \uXXXX at the start of b.
func escaped(b []byte) (uint64, bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(b[2:6]), 16, 16)
	return n, err == nil
}

// checkText refuses what cannot be stored.
func checkText(field, s string) error {
	switch {
	case !utf8.ValidString(s):
		return invalid(field + " is not valid UTF-8")
	case strings.ContainsRune(s, 0):
		return invalid(field + " holds a NUL byte")
	}
	return nil
}

// text is a named value with the most bytes that it may have.
type text struct {
	name, value string
	most        int
}

// checkTexts refuses what is too long or cannot be stored.
func checkTexts(all ...text) error {
	for _, t := range all {
		if t.most > 0 && len(t.value) > t.most {
			return invalid(fmt.Sprintf("%s is longer than %d bytes", t.name, t.most))
		}
		if err := checkText(t.name, t.value); err != nil {
			return err
		}
	}
	return nil
}

// foreignID is an id of a platform or caller.
func foreignID(name, value string) text { return text{name, value, models.MaxForeignID} }
