// Package transfer writes a session out as a document: JSONL that can be read
// back without loss, and Markdown and HTML for people.
//
// It owns the three formats and reads a session page by page, so that the length
// of a history does not matter. It must not know where the document goes, who may
// have it, or how sessions are stored.
package transfer
