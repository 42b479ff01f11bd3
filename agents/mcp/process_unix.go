//go:build unix

package mcp

import "syscall"

func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// killGroup ends a process and all that it started. A group that is gone is fine.
func killGroup(pid int) { _ = syscall.Kill(-pid, syscall.SIGKILL) }
