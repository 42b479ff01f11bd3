package key

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"

	"github.com/chatkeep/chatkeep/models"
)

// DefaultCLISession is the name of a terminal session that was given none.
const DefaultCLISession = "default"

// CLI returns the key of a terminal session: one per working directory and name.
// An empty name is [DefaultCLISession].
func CLI(agentID, workdirHash, name string) (Key, error) {
	if name == "" {
		name = DefaultCLISession
	}
	if !isWorkdirHash(workdirHash) {
		return Key{}, invalid("workdir hash is not 12 lower-case hex digits")
	}
	if err := checkID("session name", name); err != nil {
		return Key{}, err
	}
	return newKey(agentID, ChannelCLI, models.ScopePerChannelPeer, workdirHash, name)
}

// workdirHashLen is the length of a workdir hash in hex digits.
const workdirHashLen = 12

// WorkdirHash returns the first 12 hex digits of the SHA-256 of the working
// directory, made absolute, with symlinks resolved, and prefixed by namespace
// (the value of CHATKEEP_CLI_NAMESPACE; may be empty).
func WorkdirHash(workdir, namespace string) (string, error) {
	abs, err := filepath.Abs(workdir)
	if err != nil {
		return "", fmt.Errorf("hash workdir: %w", err)
	}
	resolved, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return "", fmt.Errorf("hash workdir: %w", err)
	}
	sum := sha256.Sum256([]byte(namespace + resolved))
	return hex.EncodeToString(sum[:])[:workdirHashLen], nil
}

func isWorkdirHash(s string) bool {
	if len(s) != workdirHashLen {
		return false
	}
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// Task returns the key of a task's session. channel is where the task delivers
// to, or empty; an empty runID is the persistent session of all runs, else the
// run has one of its own.
func Task(agentID, channel, taskID, runID string) (Key, error) {
	if channel == "" {
		channel = ChannelTask
	}
	if err := checkName("task", taskID); err != nil {
		return Key{}, err
	}
	if runID == "" {
		return newKey(agentID, channel, models.ScopeTask, taskID)
	}
	return newKey(agentID, channel, models.ScopeTask, taskID, runID)
}
