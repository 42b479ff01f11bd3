package mcp

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"log/slog"
	"strings"
	"time"

	"github.com/chatkeep/chatkeep/internal/clock"
)

const (
	// maxLine is how much of a line of a server's own output is logged, in bytes.
	maxLine = 1 << 10
	// maxLines is how many lines are logged in linePeriod; the rest is counted.
	maxLines   = 50
	linePeriod = 10 * time.Second
)

// lineLog writes text to the log line by line, bounded in length and number. It is
// for one writer at a time.
type lineLog struct {
	clock clock.Clock
	log   *slog.Logger

	line    []byte // what has come of the current line, cut
	since   time.Time
	lines   int
	dropped int
}

// Write takes any piece of text.
func (l *lineLog) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		piece, after, ends := bytes.Cut(rest, []byte{'\n'})
		l.line = append(l.line, piece[:min(len(piece), maxLine-len(l.line))]...)
		if ends {
			l.flush()
		}
		rest = after
	}
	return len(p), nil
}

func (l *lineLog) flush() {
	text := strings.TrimSpace(clean(string(l.line)))
	l.line = l.line[:0]
	if text == "" {
		return
	}
	if now := l.clock.Now(); now.Sub(l.since) >= linePeriod {
		if l.dropped > 0 {
			l.log.Info("MCP server wrote more than is logged", "lines", l.dropped)
		}
		l.since, l.lines, l.dropped = now, 0, 0
	}
	if l.lines++; l.lines > maxLines {
		l.dropped++
		return
	}
	l.log.Info("MCP server wrote", "line", text)
}

// messages passes on the lines that can be messages. Many servers greet on their
// standard output, which would end the connection.
type messages struct {
	io.Closer

	from  io.Reader
	noise io.Writer

	lines   *bufio.Reader
	rest    []byte // of the piece that is being passed on
	midLine bool   // the piece does not begin a line
	skip    bool   // the line is no message
}

// Read passes on what it can.
func (m *messages) Read(p []byte) (int, error) {
	if m.lines == nil {
		m.lines = bufio.NewReaderSize(m.from, 64<<10)
	}
	for len(m.rest) == 0 {
		piece, err := m.lines.ReadSlice('\n')
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) && len(piece) == 0 {
			return 0, err
		}
		if !m.midLine {
			head := bytes.TrimLeft(piece, " \t\r")
			m.skip = len(head) == 0 || head[0] != '{' && head[0] != '['
		}
		m.midLine = !bytes.HasSuffix(piece, []byte{'\n'})
		if m.skip {
			_, _ = m.noise.Write(piece)
			continue
		}
		m.rest = piece
	}
	n := copy(p, m.rest)
	m.rest = m.rest[n:]
	return n, nil
}
