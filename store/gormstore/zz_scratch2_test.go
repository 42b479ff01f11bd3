package gormstore_test

import (
	"fmt"
	"testing"
	"os"
	"runtime/pprof"

	"github.com/chatkeep/chatkeep/internal/clock"
)

func TestScratchProfile(t *testing.T) {
	db := newMySQL(t)
	s, _ := counted(t, db.config())
	makeSessions(t, s, benchSessions)
	raw := newRawInsert(t, db)
	for name, do := range map[string]func(int) error{
		"raw": func(i int) error { return raw.append(t.Context(), i%benchSessions, turnMessages(clock.Real().Now())) },
		"append": func(i int) error { return s.AppendMessages(t.Context(), benchKey(i%benchSessions), turnMessages(clock.Real().Now())) },
		"idle": func(i int) error { turnMessages(clock.Real().Now()); return nil },
	} {
		f, _ := os.Create("/tmp/perf/" + name + ".prof")
		writers(8, 1000, func(_, i int) { do(i) })
		_ = pprof.StartCPUProfile(f)
		c0 := clientCPU()
		writers(8, 4000, func(_, i int) { do(i) })
		fmt.Println(name, (clientCPU()-c0)/4000)
		pprof.StopCPUProfile()
		f.Close()
	}
}
