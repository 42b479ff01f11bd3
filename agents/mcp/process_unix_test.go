//go:build unix

package mcp

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Nothing of a server outlives the manager, also not what it started, also not when
// it ignores every request to end.
func TestCloseEndsTheProcessGroup(t *testing.T) {
	pids := t.TempDir() + "/pids"
	script := `trap '' TERM HUP; sleep 600 & echo $! $$ > "$0"; exec 3<&0; while :; do sleep 600; done`
	m, _ := manage(t, Server{Name: "stubborn", Command: []string{"sh", "-c", script, pids}})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, _ = m.Toolset([]string{"stubborn"}).Tools(ctx)
	var text []byte
	eventually(t, "the start", func() bool {
		text, _ = os.ReadFile(pids)
		return strings.HasSuffix(string(text), "\n")
	})
	m.Close()
	for field := range strings.FieldsSeq(string(text)) {
		pid, err := strconv.Atoi(field)
		if err != nil {
			t.Fatal(err)
		}
		eventually(t, "the end of "+field, func() bool { return gone(pid) })
	}
}

// gone also counts a process that has ended and that nobody has asked about yet.
func gone(pid int) bool {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return true
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && strings.Contains(string(stat), ") Z ")
}
