package filestore

import (
	"path/filepath"
	"testing"
)

// For tests of the package from outside.
var (
	SessionDir = sessionDir
	SlotFile   = slotFile
	ReadDir    = readRecord
)

// ReadSlot reads the messages of a slot's file, with their marks.
var ReadSlot = readSlot

// HoldFiles keeps every process from writing the files of a store until unlock is called.
func HoldFiles(tb testing.TB, dir string) (unlock func()) {
	tb.Helper()
	unlock, held, err := tryLock(filepath.Join(dir, filesLock))
	if err != nil || !held {
		tb.Fatal("the files are being written: ", err)
	}
	return unlock
}
