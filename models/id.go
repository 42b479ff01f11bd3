package models

import (
	"crypto/rand"
	"fmt"
	"math/big"
	"regexp"
	"time"

	"github.com/google/uuid"
)

// DefaultSlot is the context slot that every session has.
const DefaultSlot = "default"

// Limits on what is stored. They are far below what the databases accept
// (InnoDB: 3072 bytes of index key; the default max_allowed_packet is 16 MiB).
const (
	// MaxForeignID is the longest id of a platform or caller, in bytes.
	MaxForeignID = 256
	// MaxName is the longest name of our own (agent, account, slot, task), in bytes.
	MaxName = 64
	// MaxKey is the longest session key, in bytes: three fully escaped foreign ids and names.
	MaxKey = 3*3*MaxForeignID + 4*MaxName + 128
	// MaxContent is the largest content of one stored message, in bytes.
	MaxContent = 8 << 20
	// MaxTitle is the longest session title, in bytes.
	MaxTitle = 512
	// MaxError is the longest error text stored with a row, in bytes.
	MaxError = 1000
)

var name = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

// ValidName reports whether s may name an agent, account, slot or task.
func ValidName(s string) bool { return name.MatchString(s) }

// NewID returns a fresh id with the given prefix, e.g. "inb_0198…". Ids of one
// process sort roughly by creation (UUID version 7).
func NewID(prefix string) string { return prefix + "_" + uuid.Must(uuid.NewV7()).String() }

// NewMessageID returns a message id of the form msg_{uuid}_{nanos}.
func NewMessageID(now time.Time) string {
	return fmt.Sprintf("msg_%s_%d", uuid.New(), now.UnixNano())
}

// CodeLetters are what codes are made of: letters and figures that are told apart easily.
const CodeLetters = "23456789ABCDEFGHJKMNPQRSTVWXYZ"

// NewCode returns a random code of so many [CodeLetters], for people to type.
func NewCode(length int) string {
	code := make([]byte, length)
	for i := range code {
		n, err := rand.Int(rand.Reader, big.NewInt(int64(len(CodeLetters))))
		if err != nil {
			panic(err) // the system has no randomness
		}
		code[i] = CodeLetters[n.Int64()]
	}
	return string(code)
}
