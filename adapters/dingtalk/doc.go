// Package dingtalk connects one DingTalk robot of an internal app.
//
// It owns everything about the platform: the stream connection and the webhook,
// decoding robot messages, session webhooks and the OpenAPI, AI cards, media, and
// what every error code means. Messages come in over a stream client of its own
// ([Adapter.Run]) or over HTTP ([Adapter.ServeWebhook]); answers go out through the
// session webhook that a message brought while it is valid, else through the
// OpenAPI.
//
// It must not know the gateway, sessions, storage, configuration files or other
// platforms.
package dingtalk
