package gormstore

import (
	"slices"
	"strconv"
	"strings"
)

const (
	// heavyMeta is the size of a message's meta, in bytes, from which it is read apart:
	// it then holds pictures.
	heavyMeta = 64 << 10
	// maxHeavy bounds what is read of these for one context, in bytes: room for the six
	// megabytes of pictures that one turn may bring, as data URLs.
	maxHeavy = 9 << 20
)

var lightColumns = `seq, turn_seq, id, role, content, CASE WHEN LENGTH(meta) > ` + strconv.Itoa(heavyMeta) + ` THEN NULL ELSE meta END AS meta,
	tokens, compacted, created_at, COALESCE(LENGTH(meta), 0) AS meta_size`

// plainColumns are those of a message of which what may be large is not shown.
var plainColumns = strings.Replace(lightColumns, "THEN NULL", "THEN JSON_REMOVE(meta, '$.images', '$.toolCalls', '$.reasoning')", 1)

// lightRow is a message whose meta was not read if it is heavy.
type lightRow struct {
	Message  messageRow `gorm:"embedded"`
	MetaSize int64
	Part     contextPart
}

// loadHeavy reads the heavy metas of messages, oldest first: those of the newest whole,
// of the others all but the pictures. It returns the places of messages without theirs.
func loadHeavy(t *tx, contextID []byte, rows []lightRow) (omitted map[int64]bool, err error) {
	var whole, rest []any
	at, left := map[int64]int{}, int64(maxHeavy)
	for i, row := range slices.Backward(rows) {
		size := row.MetaSize
		if size <= heavyMeta {
			continue
		}
		at[row.Message.Seq] = i
		if left -= size; left >= 0 {
			whole = append(whole, row.Message.Seq)
		} else {
			rest = append(rest, row.Message.Seq)
		}
	}
	omitted = map[int64]bool{}
	read := func(columns string, seqs []any) error {
		if len(seqs) == 0 {
			return nil
		}
		var heavy []struct {
			Seq     int64
			Meta    string
			Omitted int
		}
		if _, err := t.find(&heavy, "SELECT seq, "+columns+" FROM messages WHERE context_id = ? AND seq IN "+values(1, len(seqs)),
			append([]any{contextID}, seqs...)...); err != nil {
			return err
		}
		for _, h := range heavy {
			meta := &rows[at[h.Seq]].Message.Meta
			meta.String, meta.Valid = h.Meta, true
			omitted[h.Seq] = h.Omitted != 0
		}
		return nil
	}
	if err := read("meta, 0 AS omitted", whole); err != nil {
		return nil, err
	}
	return omitted, read(`JSON_REMOVE(meta, '$.images') AS meta, CASE WHEN meta LIKE '{"images":%' THEN 1 ELSE 0 END AS omitted`, rest)
}
