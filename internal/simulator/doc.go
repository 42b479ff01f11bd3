// Package simulator is a page and a prompt on which a person plays the members of
// a simulated chat platform, and sees what the platform would show of the bot.
//
// It owns the page and the prompt. Which platform it is stands behind [Platform];
// the package must not know any, nor the gateway that talks to it.
package simulator
