// Package access decides who may talk to the bot.
//
// It owns the policies and nothing else: it must not know how a refusal is said.
package access
