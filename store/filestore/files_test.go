package filestore

import (
	"path/filepath"

	"github.com/chatkeep/chatkeep/store"
)

func readSlot(dir, slot string) (out []*store.MessageRecord, err error) {
	r := &slotReader{path: filepath.Join(dir, slotFile(slot))}
	if err := r.scan(); err != nil {
		return nil, err
	}
	return out, r.messages(func(page []*store.MessageRecord) error {
		out = append(out, page...)
		return nil
	})
}
