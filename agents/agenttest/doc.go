// Package agenttest checks agents: [TestAgent] is the conformance suite that every
// implementation runs, and [Server] is a model provider at the wire that is as
// strict as the strictest real ones and fails on command.
//
// Server is a plain http.Handler and needs no test around it.
package agenttest
