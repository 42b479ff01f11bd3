// Package toolloop runs a turn of a model that may call tools: it asks the model,
// runs what the model calls, gives the results back, and asks again until there is
// an answer or the rounds are used up.
//
// It owns rounds, calls and their results. It must not know how a model is
// reached, nor what a tool does.
package toolloop
