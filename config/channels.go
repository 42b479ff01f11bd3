package config

// Channels holds the accounts of every platform.
type Channels struct {
	Feishu   []FeishuChannel   `json:"feishu"`
	DingTalk []DingTalkChannel `json:"dingtalk"`
	API      []APIAccount      `json:"api"`
}

// Names of the channels, as in session keys.
const (
	ChannelFeishu   = "feishu"
	ChannelDingTalk = "dingtalk"
	ChannelAPI      = "api"
)

// FeishuMode is how events of Feishu arrive.
type FeishuMode string

// The modes of Feishu.
const (
	FeishuWebsocket FeishuMode = "websocket"
	FeishuWebhook   FeishuMode = "webhook" // POST /webhooks/feishu/{account}
)

func (FeishuMode) values() []string { return []string{"websocket", "webhook"} }

// FeishuChannel is one Feishu or Lark app.
type FeishuChannel struct {
	Account               string     `json:"account"`
	Mode                  FeishuMode `json:"mode"`
	AppID                 string     `json:"appId"`
	AppSecret             Secret     `json:"appSecret"`
	AppSecretFile         string     `json:"appSecretFile,omitzero"`
	VerificationToken     Secret     `json:"verificationToken"`
	VerificationTokenFile string     `json:"verificationTokenFile,omitzero"`
	EncryptKey            Secret     `json:"encryptKey"` // required in webhook mode
	EncryptKeyFile        string     `json:"encryptKeyFile,omitzero"`
	BaseURL               URL        `json:"baseUrl"`
	ChatSettings
	// Overrides by chat id; For resolves them.
	Overrides map[string]ChatOverride `json:"overrides"`
}

// DefaultFeishu returns an app without account and credentials.
func DefaultFeishu() FeishuChannel {
	return FeishuChannel{
		Mode:         FeishuWebsocket,
		BaseURL:      "https://open.feishu.cn",
		ChatSettings: DefaultChatSettings(),
		Overrides:    map[string]ChatOverride{},
	}
}

func (f *FeishuChannel) setDefaults() { *f = DefaultFeishu() }

// For returns the settings that hold in a chat.
func (f FeishuChannel) For(chatID string) ChatSettings {
	return f.ChatSettings.with(f.Overrides[chatID])
}

// DingTalkMode is how events of DingTalk arrive.
type DingTalkMode string

// The modes of DingTalk.
const (
	DingTalkStream  DingTalkMode = "stream"
	DingTalkWebhook DingTalkMode = "webhook" // POST /webhooks/dingtalk/{account}
)

func (DingTalkMode) values() []string { return []string{"stream", "webhook"} }

// DingTalkChannel is one DingTalk app.
type DingTalkChannel struct {
	Account          string       `json:"account"`
	Mode             DingTalkMode `json:"mode"`
	ClientID         string       `json:"clientId"`
	ClientSecret     Secret       `json:"clientSecret"`
	ClientSecretFile string       `json:"clientSecretFile,omitzero"`
	RobotCode        string       `json:"robotCode"` // filled with ClientID if empty
	BaseURL          URL          `json:"baseUrl"`
	// OAPIBaseURL and BaseURL are the only places whose session webhooks are called.
	OAPIBaseURL    URL    `json:"oapiBaseUrl"`
	CardTemplateID string `json:"cardTemplateId"` // set: AI card streaming
	ChatSettings
	// Overrides by conversation id; For resolves them.
	Overrides map[string]ChatOverride `json:"overrides"`
}

// DefaultDingTalk returns an app without account and credentials.
func DefaultDingTalk() DingTalkChannel {
	return DingTalkChannel{
		Mode:         DingTalkStream,
		BaseURL:      "https://api.dingtalk.com",
		OAPIBaseURL:  "https://oapi.dingtalk.com",
		ChatSettings: DefaultChatSettings(),
		Overrides:    map[string]ChatOverride{},
	}
}

func (d *DingTalkChannel) setDefaults() { *d = DefaultDingTalk() }

// For returns the settings that hold in a chat.
func (d DingTalkChannel) For(chatID string) ChatSettings {
	return d.ChatSettings.with(d.Overrides[chatID])
}

// APIAccount is one client of the HTTP API, with a namespace of ids of its own.
type APIAccount struct {
	Account string `json:"account"`
	// Tokens are bearer tokens; none: loopback only.
	Tokens     []Secret `json:"tokens"`
	TokensFile string   `json:"tokensFile,omitzero"` // one token per line
	Agent      string   `json:"agent"`
	Scope      Scope    `json:"scope"`
	// AllowScopes are the joining scopes (main, per_channel_peer) that a
	// caller of this account may ask for.
	AllowScopes []ScopeType `json:"allowScopes"`
}

// DefaultAPIAccount returns an account without name and tokens.
func DefaultAPIAccount() APIAccount {
	return APIAccount{Tokens: []Secret{}, Scope: defaultScope(), AllowScopes: []ScopeType{}}
}

func (a *APIAccount) setDefaults() { *a = DefaultAPIAccount() }
