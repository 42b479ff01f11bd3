package transfer

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/chatkeep/chatkeep/internal/jsonkeys"
)

// maxLine is the longest line, in bytes: the largest message, every byte of it escaped.
const maxLine = 64 << 20

// lines reads lines of bounded length. Blank ones are passed over.
type lines struct {
	r *bufio.Reader
	// n counts the lines that were read.
	n int
}

func newLines(r io.Reader) *lines { return &lines{r: bufio.NewReaderSize(r, 64<<10)} }

// next returns the next line, or [io.EOF].
func (l *lines) next() ([]byte, error) {
	for {
		line, err := l.read()
		if len(line) > 0 || !errors.Is(err, io.EOF) {
			l.n++
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			if err != nil && !errors.Is(err, io.EOF) {
				return nil, err
			}
			return line, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

func (l *lines) read() (line []byte, err error) {
	for {
		part, err := l.r.ReadSlice('\n')
		if len(line)+len(part) > maxLine {
			return nil, &faultError{text: fmt.Sprintf("it has more than %d bytes", maxLine), large: true}
		}
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// decodeStrict takes one document without fields that are not known: what they say
// would be lost; nor with a key that is there twice.
func decodeStrict(text []byte, v any) error {
	if !utf8.Valid(text) {
		return errors.New("it is not valid UTF-8")
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("it holds more than one document")
	}
	return jsonkeys.Check(text, v)
}
