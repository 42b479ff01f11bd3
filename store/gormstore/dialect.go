package gormstore

import (
	"regexp"
	"strings"
	"sync"
)

// dialect holds the few differences between the databases. SQL is written once,
// with these marks:
//
//	{now}             the database's clock, in milliseconds since the epoch
//	{lock}            FOR UPDATE where rows are locked one by one
//	{upsert a, b}     what follows an INSERT to update the row with the same key (a, b)
//	{index name}      a hint to use this index where the optimizer may not
//	{new a}           in an upsert, the value that was to be inserted
//	{returned a}      in an upsert, the value that [tx.returned] gives back; it is
//	{returning b}     assigned to column b, which the text ends with
//	{part} {/part}    around a part of a UNION with an order and a limit of its own, which
//	                  MySQL puts in a temporary table if it is a table of its own
//	{nocase}          makes a comparison take letters of either case, of ASCII at least
type dialect struct {
	driver Driver
	// begin starts a transaction that will write; empty where connections are always in one.
	begin    string
	now      string
	lock     string
	upsert   string // with $1 for the key
	index    string // with $1 for the index
	fresh    string // with $1 for the column
	returned string // with $1 for the value
	ending   string // with $1 for the column
	nocase   string
	part     [2]string
	compiled sync.Map
}

func mysqlDialect() *dialect {
	return &dialect{
		driver: MySQL,
		now:    "CAST(UNIX_TIMESTAMP(NOW(3)) * 1000 AS SIGNED)",
		lock:   "FOR UPDATE",
		upsert: "ON DUPLICATE KEY UPDATE",
		index:  "FORCE INDEX ($1)",
		fresh:  "VALUES($1)", returned: "LAST_INSERT_ID($1)",
		nocase: "COLLATE utf8mb4_general_ci",
		part:   [2]string{"(", ")"},
	}
}

func sqliteDialect() *dialect {
	return &dialect{
		driver: SQLite,
		begin:  "BEGIN IMMEDIATE",
		now:    "CAST(unixepoch('subsec') * 1000 + 0.5 AS INTEGER)",
		upsert: "ON CONFLICT ($1) DO UPDATE SET",
		index:  "INDEXED BY $1",
		fresh:  "excluded.$1", returned: "$1", ending: "RETURNING $1",
		part: [2]string{"SELECT * FROM (", ")"},
	}
}

var (
	markUpsert = regexp.MustCompile(`\{upsert ([^}]*)\}`)
	markIndex  = regexp.MustCompile(`\{index ([^}]*)\}`)
	markNew    = regexp.MustCompile(`\{new ([^}]*)\}`)
	markResult = regexp.MustCompile(`\{returned ([^}]*)\}`)
	markEnding = regexp.MustCompile(`\{returning ([^}]*)\}`)
)

// sql replaces the marks of a text. Texts are few: what comes out is kept.
func (d *dialect) sql(text string) string {
	if !strings.Contains(text, "{") {
		return text
	}
	if kept, _ := d.compiled.Load(text); kept != nil {
		if out, ok := kept.(string); ok {
			return out
		}
	}
	out := strings.NewReplacer("{now}", d.now, "{lock}", d.lock, "{nocase}", d.nocase,
		"{part}", d.part[0], "{/part}", d.part[1]).Replace(text)
	out = markUpsert.ReplaceAllString(out, d.upsert)
	out = markIndex.ReplaceAllString(out, d.index)
	out = markNew.ReplaceAllString(out, d.fresh)
	out = markResult.ReplaceAllString(out, d.returned)
	out = markEnding.ReplaceAllString(out, d.ending)
	d.compiled.Store(text, out)
	return out
}

// values is the VALUES list of n rows of width columns.
func values(n, width int) string {
	row := "(" + strings.TrimSuffix(strings.Repeat("?,", width), ",") + ")"
	return strings.TrimSuffix(strings.Repeat(row+",", n), ",")
}

// pairs is the right side of (a, b) IN (…) for n pairs.
func (d *dialect) pairs(n int) string {
	if d.driver == SQLite {
		return "VALUES " + values(n, 2)
	}
	return values(n, 2)
}
