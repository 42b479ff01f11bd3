package main

import (
	"os"
	"syscall"

	"github.com/chatkeep/chatkeep/gateway"
)

// crashEnv names the crash point at which the process kills itself, the way a
// power cut would; for the crash tests only.
const crashEnv = "CHATKEEP_TEST_CRASH"

func crashPoint() gateway.CrashPoint {
	at := os.Getenv(crashEnv)
	if at == "" {
		return nil
	}
	return func(point string) {
		if point == at {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {} // not one step further
		}
	}
}
