// Package filestore keeps sessions where a person can read them and back them up:
// one directory per session, with text files in it.
//
//	<dir>/queue.db                     the database: everything that must be atomic
//	<dir>/sessions/<source>-<account or workdir>-<id>-<hash of the key>/
//	    meta.json                      key, settings, slots, variables
//	    messages.jsonl                 the default slot: one message per line
//	    slots/<slot>.jsonl             the other slots
//	    memory.jsonl                   notes, oldest first
//	    plan/PLAN.md, plan/TODO.md
//
// # How the files stay true
//
// Transactions span sessions, inbox and outbox, so one database decides: the
// relational store on queue.db, whole, with all of its semantics. The directories
// follow it. Triggers note in the same transaction what a change touched
// ([gormstore.Journal]); after the commit, before the call returns, the files are
// brought up to date and synced, then the note is removed. A process that dies in
// between leaves the note, and the next one that commits or opens the directory does
// what is left: a turn that is only half in its file, or there twice, is found by the
// file's last line, and the file is written anew. Nothing but the database says
// what a session is while there is one.
//
// The other way round the directories are enough: if queue.db is gone, as after
// restoring a backup of sessions/ alone, it is made again from them when the
// directory is opened. So they may be copied at any time, even file by file under a
// running server; what is lost then is only what waits in the queue, tasks, and what
// resets set aside.
//
// The files are written, never read, while there is a database: edits are not seen.
//
// # Processes
//
// One server has the directory (a lock that ends with it). Commands beside it use the
// same database, and whichever process gets the lock of the files writes them.
//
// # Names
//
// Ids differ by case, are longer than a file name may be, or are names that some
// system reserves. What a directory is called is therefore for the eye; the hash at
// its end makes it one session's. A slot is called by its name if that is plain, else
// with a hash too.
//
// The package must not hold any semantics of a store, nor know what a message means.
package filestore
