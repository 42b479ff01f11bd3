// Command consultation plays a consultation whose context branches two ways.
//
// A patient describes a complaint. Two slots are then derived from that talk, one
// per opinion: each goes on from the same beginning, and neither hears what is
// said in the other. At the end one of them is merged back.
//
// It talks to a running server over HTTP alone:
//
//	chatkeep serve &
//	go run ./examples/consultation
//
// CHATKEEP_URL, CHATKEEP_TOKEN and CHATKEEP_ADMIN_TOKEN say where and how, by
// default http://127.0.0.1:8080 without tokens.
package main
