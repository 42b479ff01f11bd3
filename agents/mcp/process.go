package mcp

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chatkeep/chatkeep/internal/clock"
)

// drainTime is how long the output of a process that has ended is still read,
// where something that it left behind holds it open.
const drainTime = time.Second

// process carries a connection over the standard input and output of a child.
type process struct {
	*mcp.IOTransport

	cmd  *exec.Cmd
	pipe *pipe
	gone chan struct{} // closed when the child has ended
}

// startProcess runs a server's command in a process group of its own. Its standard
// error goes to log, line by line.
func startProcess(s Server, c clock.Clock, log *slog.Logger) (*process, error) {
	cmd := exec.Command(s.Command[0], s.Command[1:]...) //nolint:noctx // its life is the connection's, see kill
	cmd.Env = environment(os.Environ(), s.Env)
	cmd.SysProcAttr = ownGroup()
	cmd.WaitDelay = drainTime
	cmd.Stderr = &lineLog{clock: c, log: log.With("stream", "stderr")}

	input, toChild, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start: %w", err)
	}
	fromChild, output, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start: %w", err), input.Close(), toChild.Close())
	}
	cmd.Stdin, cmd.Stdout = input, output
	err = cmd.Start()
	_, _ = input.Close(), output.Close() // the child has its own
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start: %w", err), toChild.Close(), fromChild.Close())
	}

	p := &process{cmd: cmd, gone: make(chan struct{}), pipe: &pipe{in: toChild, out: fromChild}}
	noise := &lineLog{clock: c, log: log.With("stream", "stdout")}
	p.IOTransport = &mcp.IOTransport{
		Reader: &messages{from: fromChild, noise: noise, Closer: p.pipe}, Writer: p.pipe, MaxLineLength: maxMessage,
	}
	go func() {
		defer close(p.gone)
		_ = cmd.Wait()
		killGroup(cmd.Process.Pid) // what it left behind
	}()
	return p, nil
}

// kill ends the process with all that it started, and waits until it is gone.
func (p *process) kill() {
	killGroup(p.cmd.Process.Pid)
	_ = p.pipe.Close()
	<-p.gone
}

// pipe is our ends of the child's input and output. Closing it tells the child to end.
type pipe struct {
	in, out *os.File
	once    sync.Once
	err     error
}

// Write writes to the child's input.
func (p *pipe) Write(b []byte) (int, error) { return p.in.Write(b) }

// Close closes both ends.
func (p *pipe) Close() error {
	p.once.Do(func() { p.err = errors.Join(p.in.Close(), p.out.Close()) })
	return p.err
}
