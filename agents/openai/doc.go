// Package openai is the agent that answers with a model behind any endpoint that
// speaks OpenAI's chat completions.
//
// It owns the request as providers accept it, the answer as they really send it,
// and what their errors mean. It must not know which messages a context should
// hold; it sends what it is given, in a form that strict providers take.
package openai
