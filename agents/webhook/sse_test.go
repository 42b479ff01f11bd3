package webhook

import (
	"errors"
	"io"
	"strings"
	"testing"
)

// endless is a body whose one event never ends.
type endless struct{ read int }

func (e *endless) Read(p []byte) (int, error) {
	n := copy(p, strings.Repeat("data: more and more\n", 1+len(p)/20))
	e.read += n
	if e.read > 1<<20 {
		return 0, io.ErrUnexpectedEOF
	}
	return n, nil
}

func TestEventsAreBounded(t *testing.T) {
	body := &endless{}
	if _, err := newEvents(body, 1000).next(); !errors.Is(err, errTooLarge) || body.read > 10_000 {
		t.Errorf("after %d bytes: %v", body.read, err)
	}
}
