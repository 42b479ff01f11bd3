// Package console is the operators' pages over the admin API: plain HTML, CSS and ES
// modules below static, embedded and served as they are.
//
// It owns the files and the headers that keep them harmless. It must not know the API:
// the pages call it as any client does, with the token that was typed in.
package console
