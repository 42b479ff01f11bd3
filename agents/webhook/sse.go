package webhook

import (
	"bufio"
	"io"
	"strings"
)

// event is one server-sent event.
type event struct {
	name string
	data string
}

// events reads server-sent events (HTML standard, section 9.2) as far as a service
// needs them: names, data over several lines, comments; no ids.
type events struct {
	lines *bufio.Scanner
	most  int
}

// newEvents reads from body. A line, and the data of an event, may have so many bytes.
func newEvents(body io.Reader, most int) *events {
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, most)
	return &events{lines: lines, most: most}
}

// next returns the next event with data, and io.EOF at the end. An event that the
// end cuts off does not count.
func (e *events) next() (event, error) {
	var ev event
	var data []string
	size := 0
	for e.lines.Scan() {
		line := e.lines.Text()
		if line == "" {
			if len(data) > 0 {
				ev.data = strings.Join(data, "\n")
				return ev, nil
			}
			ev = event{}
			continue
		}
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch field {
		case "event":
			ev.name = value
		case "data":
			if size += len(value) + 1; size > e.most {
				return event{}, errTooLarge
			}
			data = append(data, value)
		}
	}
	if err := e.lines.Err(); err != nil {
		return event{}, err
	}
	return event{}, io.EOF
}
