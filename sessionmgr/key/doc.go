// Package key derives, writes and reads session keys.
//
//	agent:{agentId}:channel:{channel}:scope:{scopeType}:{scopeId}
//
// It owns which messages share a memory: scopes, peers, linked identities and
// the escaping that keeps two different ids from ever meeting in one key. It is
// pure, except for [WorkdirHash], which resolves symlinks. It must not know
// sessions, storage, configuration files or platforms.
package key
