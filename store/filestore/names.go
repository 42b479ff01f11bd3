package filestore

import (
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/chatkeep/chatkeep/models"
)

// Names within a session's directory.
const (
	metaFile     = "meta.json"
	messagesFile = "messages.jsonl"
	memoryFile   = "memory.jsonl"
	slotsDir     = "slots"
	planDir      = "plan"
	lineFile     = ".jsonl"
	// partFile is what a file is called until it is complete.
	partFile = ".part"
)

// Bounds on the parts of a directory's name, in bytes: with the hash they stay far
// below the 255 that file systems take.
const (
	maxSource  = 32
	maxAccount = 64
	maxID      = 96
	// hashDigits are 96 bits: no two of any number of sessions will ever share them.
	hashDigits = 24
)

// sessionDir names the directory of a session.
func sessionDir(key string) string {
	source, account, id := describe(key)
	return readable(source, maxSource) + "-" + readable(account, maxAccount) + "-" + readable(id, maxID) + "-" + digest(key, hashDigits)
}

// describe takes a key apart for the eye; one that is no session key is all id.
func describe(key string) (source, account, id string) {
	parts := strings.SplitN(key, ":", 7)
	if len(parts) < 7 || parts[0] != "agent" || parts[2] != "channel" || parts[4] != "scope" {
		return "other", "any", key
	}
	channel, scope, rest := parts[3], models.Scope(parts[5]), parts[6]
	ids := strings.Split(rest, "/")
	switch {
	case channel == "any" && len(ids) >= 3: // the scope names channel and account itself
		return ids[0], ids[1], strings.Join(ids[2:], ".")
	case len(ids) >= 2 && (channel == "cli" || scope == models.ScopePerAccountChannelPeer || scope == models.ScopeThread):
		return channel, ids[0], strings.Join(ids[1:], ".")
	default:
		return channel, "any", strings.Join(ids, ".")
	}
}

// readable keeps what every file system takes.
func readable(s string, most int) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '.', r == '_':
			return r
		case r >= 0x4E00 && r <= 0x9FFF: // Chinese characters, which no file system changes
			return r
		default:
			return '_'
		}
	}, s)
	if strings.HasPrefix(s, ".") { // hidden, or a directory that is not meant
		s = "_" + s[1:]
	}
	for len(s) > most {
		_, size := utf8.DecodeLastRuneInString(s)
		s = s[:len(s)-size]
	}
	return s
}

func digest(s string, digits int) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])[:digits]
}

// sessionName is what [sessionDir] makes.
var sessionName = regexp.MustCompile(`-[0-9a-f]{24}$`)

// named reports whether a directory may be where a session is written.
func named(dir string) bool { return sessionName.MatchString(dir) }

var (
	plainSlot = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]*$`)
	// reserved are names of devices on Windows, whatever follows their first dot.
	reserved = regexp.MustCompile(`^(con|prn|aux|nul|com[0-9]|lpt[0-9])$`)
)

// slotFile names the file of a slot's messages within the session's directory.
func slotFile(slot string) string {
	if slot == models.DefaultSlot {
		return messagesFile
	}
	if !plainSlot.MatchString(slot) || reserved.MatchString(slot) || len(slot) > models.MaxName {
		slot = readable(strings.ReplaceAll(slot, ".", "_"), models.MaxName) + "~" + digest(slot, hashDigits) // no plain name has a tilde
	}
	return filepath.Join(slotsDir, slot+lineFile)
}
