// Package dingtalktest is DingTalk at the wire: the stream gateway with tickets
// and rotation, the webhook pusher, session webhooks, the OpenAPI, AI cards, media
// and the thinking emotion, on one loopback address, for tests and for
// `chatkeep simulate dingtalk`.
//
// It owns what a client can see of the platform, its limits and its faults, and a
// journal of everything received. It must not know the adapter.
package dingtalktest
