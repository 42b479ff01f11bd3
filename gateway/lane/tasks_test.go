package lane_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
)

// Many tasks that are due do not keep people waiting: those come first, and half of the
// workers are theirs.
func TestPeopleComeBeforeTasks(t *testing.T) {
	b := newBench(t)
	b.cfg.Workers = 4
	gate := make(chan struct{})
	b.start(func(ctx context.Context, text string) error {
		if strings.HasPrefix(text, "task") {
			select {
			case <-gate:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return nil
	})
	var last string
	for i := range 20 {
		last = b.say(fmt.Sprintf("agent:a:channel:task:scope:task:t%d", i), fmt.Sprint("task ", i))
	}
	running := func() int {
		b.mu.Lock()
		defer b.mu.Unlock()
		return b.now[""]
	}
	b.until("tasks have their half", func() bool { return running() == 2 })
	for i := range 6 {
		id := b.say(session(i), fmt.Sprint("person ", i))
		b.until("a person is answered", b.done(id))
	}
	if n := running(); n != 2 {
		t.Errorf("%d tasks run", n)
	}
	close(gate)
	b.until("all tasks have run", b.done(last))
	b.until("nothing runs", func() bool { return running() == 0 && len(b.turns()) == 26 })
	for i, text := range b.turns()[:6] {
		if !strings.HasPrefix(text, "person") {
			t.Errorf("turn %d is %s", i, text)
		}
	}
}
