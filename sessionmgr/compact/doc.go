// Package compact puts a summary in the place of the older part of a context.
//
// It owns which messages a summary may replace, what of them a model is shown,
// what a summary must hold, and the commit that is refused once the context has
// changed. A summary is made of a read context, without a lock; on any failure the
// history is as it was.
//
// It must not know agents, providers or chats. When a compaction is due is what
// [Due] says; who asks for one is its callers' business.
package compact
