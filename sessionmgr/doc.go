// Package sessionmgr gives every chat its own durable memory.
//
// It owns the [SessionManager] over a [SessionStorage] that anybody may write,
// the session layer of a context, and helpers for tool calls. Subpackages own the
// session key (key), the request to a model (window), the layers of a running
// turn (chatctx) and the conformance suite of storages (storagetest). It must not
// know platforms, transport, the configuration file or a database.
package sessionmgr
