// Package chatctx carries the layers of a running turn in a context.Context: the
// request, the session's key and the agent.
//
// It owns what a request, a session and an agent tell to tools, agents and log
// lines, and the registry of what is active ([ContextManager]). It is a leaf: it
// must not know how sessions are stored, who calls, or what an agent does.
package chatctx
