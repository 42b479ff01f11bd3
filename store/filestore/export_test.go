package filestore

import (
	"path/filepath"
	"testing"

	"github.com/chatkeep/chatkeep/store"
)

// For tests of the package from outside.
var (
	SessionDir = sessionDir
	SlotFile   = slotFile
	ReadDir    = readRecord
)

// ReadSlot reads the messages of a slot's file, with their marks.
func ReadSlot(dir, slot string) (out []*store.MessageRecord, err error) {
	r := &slotReader{path: filepath.Join(dir, slotFile(slot))}
	if err := r.scan(); err != nil {
		return nil, err
	}
	return out, r.messages(func(page []*store.MessageRecord) error {
		out = append(out, page...)
		return nil
	})
}

// HoldFiles keeps every process from writing the files of a store until unlock is called.
func HoldFiles(tb testing.TB, dir string) (unlock func()) {
	tb.Helper()
	unlock, held, err := tryLock(filepath.Join(dir, filesLock))
	if err != nil || !held {
		tb.Fatal("the files are being written: ", err)
	}
	return unlock
}
