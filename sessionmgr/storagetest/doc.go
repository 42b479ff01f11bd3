// Package storagetest is the conformance suite of sessionmgr.SessionStorage: a
// storage is done when it passes [Run].
//
// It owns what every storage must do, whatever it is built on. It must not know
// any particular storage.
package storagetest
