// Package feishu connects a self-built Feishu or Lark app.
//
// Messages come in over the platform's long connection or over its webhook; both
// end in one decoder and are acknowledged after the sink stored them. Answers go
// out as replies: cards with Markdown, rich text where a card is refused, plain
// text where that is refused too, and as cards that grow while the agent writes.
//
// It owns everything of the platform: transports, signatures, tokens, ids, message
// formats, limits, error codes. It must not know the gateway, sessions, storage,
// configuration files or other adapters.
package feishu
