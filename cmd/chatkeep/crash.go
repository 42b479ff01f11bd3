package main

import (
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/chatkeep/chatkeep/gateway"
)

// crashEnv names the crash point at which the process kills itself, the way a
// power cut would, and optionally at which passing of it ("mid_delivery:3"); for
// the crash tests only.
const crashEnv = "CHATKEEP_TEST_CRASH"

func crashPoint() gateway.CrashPoint {
	at, which, _ := strings.Cut(os.Getenv(crashEnv), ":")
	if at == "" {
		return nil
	}
	last, err := strconv.ParseInt(which, 10, 64)
	if err != nil {
		last = 1
	}
	var passed atomic.Int64
	return func(point string) {
		if point == at && passed.Add(1) >= last {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {} // not one step further
		}
	}
}
