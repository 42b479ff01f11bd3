package feishu

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"

	"github.com/chatkeep/chatkeep/internal/clock"
)

// Channel is the name of the platform in session keys.
const Channel = "feishu"

// The base URLs of the two platforms.
const (
	FeishuBaseURL = "https://open.feishu.cn"
	LarkBaseURL   = "https://open.larksuite.com"
)

// Mode is how events come in.
type Mode string

// The modes.
const (
	ModeWebsocket Mode = "websocket" // the long connection
	ModeWebhook   Mode = "webhook"   // POST to our URL
)

// ReplyInThread says whether answers open a thread.
type ReplyInThread string

// The choices.
const (
	ThreadAuto   ReplyInThread = "auto"   // only where the message is in a thread or topic
	ThreadAlways ReplyInThread = "always" // in every group
	ThreadNever  ReplyInThread = "never"  // but an answer to a message in a thread stays in it
)

// Config is one app.
type Config struct {
	Account   string
	Mode      Mode // empty: ModeWebsocket
	AppID     string
	AppSecret string
	// VerificationToken is compared with every webhook event unless it is empty.
	VerificationToken string
	// EncryptKey is required in webhook mode: without it nothing proves where an event is from.
	EncryptKey string
	BaseURL    string // empty: FeishuBaseURL

	// Chat is what holds for chats that Overrides says nothing about.
	Chat ChatConfig
	// Overrides returns the settings of a chat; nil: Chat holds for all.
	Overrides func(chatID string) ChatConfig
}

// ChatConfig is what may differ from chat to chat.
type ChatConfig struct {
	ReplyInThread ReplyInThread // empty: ThreadAuto
	Streaming     bool          // show answers while they grow
	WorkingSign   bool          // react to a message while its answer is made
	Mention       bool          // mention the asker in groups
}

// Deps are what the adapter needs from the program. Nil fields get defaults.
type Deps struct {
	Clock  clock.Clock
	Logger *slog.Logger
	// HTTP makes all requests. Its transport bounds connecting; each request has a deadline of its own.
	HTTP *http.Client
	// Fetch gets files of answers that are given as URLs; it must be guarded against
	// private addresses. Nil: such a file is sent as its URL.
	Fetch *http.Client
}

func (c Config) withDefaults() Config {
	if c.Mode == "" {
		c.Mode = ModeWebsocket
	}
	if c.BaseURL == "" {
		c.BaseURL = FeishuBaseURL
	}
	c.BaseURL = strings.TrimRight(c.BaseURL, "/")
	if c.Chat.ReplyInThread == "" {
		c.Chat.ReplyInThread = ThreadAuto
	}
	return c
}

func (c Config) validate() error {
	var problems []error
	require := func(ok bool, format string, args ...any) {
		if !ok {
			problems = append(problems, fmt.Errorf(format, args...))
		}
	}
	require(c.Account != "", "account is empty")
	require(c.AppID != "", "appId is empty")
	require(c.AppSecret != "", "appSecret is empty")
	require(c.Mode == ModeWebsocket || c.Mode == ModeWebhook, "mode %q is neither websocket nor webhook", c.Mode)
	require(c.Mode != ModeWebhook || c.EncryptKey != "",
		"webhook mode needs encryptKey: without it anybody could send events (developer console, Events & Callbacks, Encryption Strategy)")
	base, err := url.Parse(c.BaseURL)
	require(err == nil && (base.Scheme == "https" || base.Scheme == "http") && base.Host != "", "baseUrl %q is not an http(s) URL", c.BaseURL)
	switch c.Chat.ReplyInThread {
	case ThreadAuto, ThreadAlways, ThreadNever:
	default:
		require(false, "replyInThread %q is none of auto, always, never", c.Chat.ReplyInThread)
	}
	return errors.Join(problems...)
}

// chat returns the settings of a chat.
func (c Config) chat(id string) ChatConfig {
	if c.Overrides == nil {
		return c.Chat
	}
	chat := c.Overrides(id)
	if chat.ReplyInThread == "" {
		chat.ReplyInThread = c.Chat.ReplyInThread
	}
	return chat
}
