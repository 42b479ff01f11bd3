// Package durable keeps a Go program's sessions in the product's own store, so
// that what it adds is what chats, the admin API and the terminal see.
//
// It owns the translation between [sessionmgr.SessionStorage] and [store.Store].
// It must not know which database that is.
package durable
