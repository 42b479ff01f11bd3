// Package archtest holds the rules of the code base that the compiler does not
// know, and checks them as a test: which package may import which, where a
// library may be used, and a few things that are banned outright.
//
// The rules are the tables of rules.go. It reads source text only and must not
// import any other package of the module.
package archtest
