// Package fallback is the agent that puts others in a row: when the first one's
// provider fails, the next one answers.
//
// It owns the order and the decision to leave a dead one out. It must not know
// what the agents are.
package fallback
