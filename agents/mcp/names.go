package mcp

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"
)

const (
	// separator stands between a server's name and its tool's.
	separator = "__"
	// maxName is the longest function name that every provider takes.
	maxName = 64
	// hashLength is how many hex digits tell names apart that look the same.
	hashLength = 8
)

var (
	unsafe = regexp.MustCompile(`[^A-Za-z0-9_-]`)
	hashed = regexp.MustCompile(`_[0-9a-f]{8}$`)
)

// safe replaces what providers refuse in a function's name.
func safe(name string) string { return unsafe.ReplaceAllString(name, "_") }

// toolName is what models call a tool by: server__tool where that is valid and
// stands for nothing else, and with a hash of both names where it is not. It
// depends on nothing but the two names, so that a name in an old conversation
// still means the same tool.
func toolName(server, tool string) string {
	name := safe(server) + separator + safe(tool)
	plain := name == server+separator+tool && len(name) <= maxName &&
		!strings.Contains(server, separator) && !strings.HasSuffix(server, "_") && // one way to split it
		!hashed.MatchString(name)
	if plain {
		return name
	}
	sum := sha256.Sum256([]byte(server + "\x00" + tool))
	return name[:min(len(name), maxName-1-hashLength)] + "_" + hex.EncodeToString(sum[:])[:hashLength]
}
