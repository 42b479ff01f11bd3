// Package transfer carries sessions: out as a document (JSONL that can be read back
// without loss, Markdown and HTML for people), in from such JSONL, and from one store
// to another.
//
// It owns the formats and reads and writes a session page by page, so that the length
// of a history does not matter. It must not know where a document comes from or goes,
// who may have it, or how sessions are stored.
package transfer
