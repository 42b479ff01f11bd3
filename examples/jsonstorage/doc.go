// Command jsonstorage keeps sessions in a storage of its own: one JSON file per
// session, in a directory.
//
// It shows what a third party has to write so that sessionmgr works on it: the seven
// methods of [sessionmgr.SessionStorage] in storage.go, and a test that runs the
// conformance suite on them. Slots, counts, tokens, keys and limits are the manager's.
//
//	go run ./examples/jsonstorage ./notes lin "Buy milk."
//	go run ./examples/jsonstorage ./notes lin "And tea."
package main
