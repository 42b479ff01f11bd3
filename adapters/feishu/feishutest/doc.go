// Package feishutest is the Feishu platform at the wire, as the official SDK sees
// it: the OpenAPI, the long connection, the webhook pusher, with the platform's
// limits, idempotency and error codes, and with faults on demand.
//
// The adapter's tests use it, and so does the simulator, where a person types as a
// member of a chat: therefore it does not import testing. It owns what the
// platform would show; it must not know the adapter.
package feishutest
