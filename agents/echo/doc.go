// Package echo is the agent that answers with what it was told: for trying a
// gateway without a model, and for tests.
//
// It owns nothing but its pace. It must not know any provider.
package echo
