package access

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

const (
	// Expiry is how long a request for access waits for an administrator.
	Expiry = 24 * time.Hour
	// MaxPending bounds the requests of an account that wait.
	MaxPending = 100
	// MaxTries bounds the codes that an administrator tries within [TriesWindow].
	MaxTries = 30
	// TriesWindow begins with the first try.
	TriesWindow = 10 * time.Minute

	codePrefix = "P-"
	codeLength = 6
)

// ErrTooManyTries means that somebody named too many codes that there are not.
var ErrTooManyTries = errors.New("access: too many wrong codes")

// NewCode returns a code for a request, such as P-7K3F9Q.
func NewCode() string { return codePrefix + models.NewCode(codeLength) }

// ReadCode is a code as somebody wrote it, in its own spelling.
func ReadCode(said string) string { return strings.ToUpper(strings.Trim(said, "` ")) }

// IsCode reports whether a text may be the code of a request.
func IsCode(text string) bool {
	letters, ok := strings.CutPrefix(text, codePrefix)
	return ok && len(letters) == codeLength && strings.Trim(letters, models.CodeLetters) == ""
}

// Subjects are all in whose name a person, known by any of the ids, may have been let
// into a chat. The last one is whom a request would be for: in a group that is the group.
func Subjects(channel, account string, direct bool, chatID string, userIDs ...string) []models.AccessSubject {
	var out []models.AccessSubject
	for _, id := range slices.Backward(userIDs) {
		if id != "" {
			out = append(out, models.AccessSubject{Channel: channel, Account: account, Kind: models.AccessUser, SubjectID: id})
		}
	}
	if !direct && chatID != "" {
		out = append(out, models.AccessSubject{Channel: channel, Account: account, Kind: models.AccessChat, SubjectID: chatID})
	}
	return out
}

// Decide carries out what an administrator decided with a command, in the command's
// transaction. [store.ErrNotFound] for a code that names no request of the account,
// [ErrTooManyTries] after too many of them: then not even a right one counts.
func Decide(tx store.AccessTx, d store.AccessDecision) (*models.AccessGrant, error) {
	tries, err := tx.CountTry("pair\x00"+d.By, d.Now, TriesWindow)
	if err != nil {
		return nil, err
	}
	if tries > MaxTries {
		return nil, ErrTooManyTries
	}
	return tx.DecideAccess(d)
}
