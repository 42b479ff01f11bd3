// Package markdown prepares the Markdown that models write for chat platforms:
// it splits long texts into pieces that fit, tells code from text, turns tables
// into lists and finds titles.
//
// It knows the few constructs that matter for that (fences, code spans, tables)
// and is no parser: whatever it is given, it returns something sensible. It must
// not know any platform.
package markdown
