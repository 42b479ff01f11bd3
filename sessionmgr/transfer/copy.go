package transfer

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"golang.org/x/sync/errgroup"

	"github.com/chatkeep/chatkeep/store"
)

// Sentinels of [Copy].
var (
	// ErrDiffers means that the session is there already, and is not the same.
	ErrDiffers = errors.New("transfer: another session is there under the same key")
	// ErrCorrupt means that what was stored is not what was read.
	ErrCorrupt = errors.New("transfer: the copy differs from the original")
	// ErrInUse means that what was copied changed meanwhile.
	ErrInUse = errors.New("transfer: it is in use")
)

// errChanged means that the session changed while it was copied.
var errChanged = errors.New("the session changed meanwhile")

// copyTries is how often a session is copied that changes meanwhile.
const copyTries = 3

// Target is where sessions are copied to.
type Target interface {
	Reader
	Writer
}

// Copy copies a session with all that is stored of it, or finds that it is there
// already as it is: copied is then false. Both sides are compared by a hash of all of
// their contents.
func Copy(ctx context.Context, from Reader, to Target, key string) (copied bool, err error) {
	for range copyTries {
		copied, err = copyOnce(ctx, from, to, key)
		if !errors.Is(err, errChanged) {
			return copied, err
		}
	}
	return false, fmt.Errorf("copy: %w", ErrInUse)
}

func copyOnce(ctx context.Context, from Reader, to Target, key string) (copied bool, err error) {
	before, err := fingerprint(ctx, from, key)
	if err != nil {
		return false, fmt.Errorf("copy: %w", err)
	}
	sent, err := pipe(ctx, from, to, key, func(ctx context.Context) error {
		after, err := fingerprint(ctx, from, key)
		if err == nil && !bytes.Equal(before, after) {
			err = errChanged
		}
		return err
	})
	present, fault := errors.Is(err, store.ErrExists), ErrCorrupt
	if present {
		fault = ErrDiffers
		sent, err = Hash(ctx, from, key)
	}
	if err != nil {
		return false, fmt.Errorf("copy: %w", err)
	}
	stored, err := Hash(ctx, to, key)
	if err == nil && !bytes.Equal(sent, stored) {
		err = fault
	}
	if err != nil {
		return false, fmt.Errorf("copy: %w", err)
	}
	return !present, nil
}

// pipe sends a session as a document from one store to another and returns its hash.
func pipe(ctx context.Context, from Reader, to Writer, key string, check func(ctx context.Context) error) ([]byte, error) {
	r, w := io.Pipe()
	sum := sha256.New()
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		err := Export(ctx, from, key, Options{Format: JSONL, Whole: true}, io.MultiWriter(w, sum))
		_ = w.CloseWithError(err) // never fails; nil ends the document
		if errors.Is(err, io.ErrClosedPipe) {
			return nil // the other side says why
		}
		return err
	})
	group.Go(func() error {
		_, err := (&importer{to: to}).run(ctx, r, check)
		_ = r.Close() // never fails
		return err
	})
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return sum.Sum(nil), nil
}

// fingerprint changes with the session, but for what was pruned of it.
func fingerprint(ctx context.Context, from Reader, key string) ([]byte, error) {
	r, err := from.SessionRecord(ctx, key)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(text)
	return sum[:], nil
}

// Hash is the hash of all that is stored of a session, the same in every store.
func Hash(ctx context.Context, r Reader, key string) ([]byte, error) {
	sum := sha256.New()
	if err := Export(ctx, r, key, Options{Format: JSONL, Whole: true}, sum); err != nil {
		return nil, fmt.Errorf("hash: %w", err)
	}
	return sum.Sum(nil), nil
}
