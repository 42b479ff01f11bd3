package main

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/chatkeep/chatkeep/adapters"
	"github.com/chatkeep/chatkeep/adapters/dingtalk"
	"github.com/chatkeep/chatkeep/adapters/feishu"
	"github.com/chatkeep/chatkeep/config"
	"github.com/chatkeep/chatkeep/internal/clock"
	"github.com/chatkeep/chatkeep/internal/dial"
)

// Bounds on requests to the platforms; single calls have shorter deadlines of their own.
const (
	platformTimeout = 2 * time.Minute
	fetchTimeout    = 2 * time.Minute
)

// buildAdapters makes the configured accounts of the platforms.
func buildAdapters(cfg *config.Config, c clock.Clock, log *slog.Logger) ([]adapters.Adapter, error) {
	var named []string
	for _, f := range cfg.Channels.Feishu {
		named = append(named, hostPort(f.BaseURL.Reveal()))
	}
	for _, d := range cfg.Channels.DingTalk {
		named = append(named, hostPort(d.BaseURL.Reveal()), hostPort(d.OAPIBaseURL.Reveal()))
	}
	policy, err := dial.ParsePolicy(cfg.Egress.AllowPrivate, named)
	if err != nil {
		return nil, err
	}
	fetch := dial.New(policy).HTTPClient(fetchTimeout)
	platform := &http.Client{Timeout: platformTimeout}

	var out []adapters.Adapter
	for _, f := range cfg.Channels.Feishu {
		a, err := feishu.New(feishuConfig(f), feishu.Deps{Clock: c, Logger: log, HTTP: platform, Fetch: fetch})
		if err != nil {
			return nil, err
		}
		out = append(out, a)
	}
	for _, d := range cfg.Channels.DingTalk {
		a, err := dingtalk.New(dingtalkConfig(d), dingtalk.Deps{Clock: c, Logger: log, API: platform, Downloads: fetch})
		if err != nil {
			return nil, err
		}
		out = append(out, a)
	}
	return out, nil
}

func feishuConfig(f config.FeishuChannel) feishu.Config {
	perChat := func(chatID string) feishu.ChatConfig {
		s := f.For(chatID)
		return feishu.ChatConfig{
			ReplyInThread: feishu.ReplyInThread(s.Group.ReplyInThread),
			Streaming:     s.Reply.Streaming != config.StreamingOff,
			WorkingSign:   s.Reply.WorkingSign,
			Mention:       s.Reply.Mention,
		}
	}
	return feishu.Config{
		Account: f.Account, Mode: feishu.Mode(f.Mode), AppID: f.AppID, AppSecret: f.AppSecret.Reveal(),
		VerificationToken: f.VerificationToken.Reveal(), EncryptKey: f.EncryptKey.Reveal(), BaseURL: f.BaseURL.Reveal(),
		Chat: perChat(""), Overrides: perChat,
	}
}

func dingtalkConfig(d config.DingTalkChannel) dingtalk.Config {
	return dingtalk.Config{
		Account: d.Account, Mode: dingtalk.Mode(d.Mode), ClientID: d.ClientID, ClientSecret: d.ClientSecret.Reveal(),
		RobotCode: d.RobotCode, BaseURL: d.BaseURL.Reveal(), OAPIBaseURL: d.OAPIBaseURL.Reveal(),
		CardTemplateID: d.CardTemplateID, WorkingSign: true, // the gateway decides per chat whether to use them
	}
}
