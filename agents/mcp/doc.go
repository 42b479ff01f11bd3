// Package mcp offers the tools of MCP servers to agents: commands that are spoken
// to over their standard input and output, and URLs of streamable HTTP.
//
// It owns the servers' processes and connections, the names under which models see
// their tools, and how results become text. A server that is slow, dead or broken
// costs a turn its tools and nothing else. The package must not know which agent
// asks, nor what a session is.
package mcp
