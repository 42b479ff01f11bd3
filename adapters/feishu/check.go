package feishu

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	larkcore "github.com/larksuite/oapi-sdk-go/v3/core"
	larkws "github.com/larksuite/oapi-sdk-go/v3/ws"
)

// botEnabled is the status of a bot that is switched on.
const botEnabled = 2

// Check tries what can be tried without writing to anybody: the credentials, the
// bot, the long connection and the permissions that are needed for reading chats
// and for cards that grow.
func (a *Adapter) Check(ctx context.Context) ([]string, error) {
	bot, err := a.api.bot(ctx)
	if err != nil {
		var refused *apiError
		if errors.As(err, &refused) || errors.Is(err, errNoToken) {
			return []string{finding("credentials or bot", err)}, nil
		}
		return nil, err
	}
	findings := []string{fmt.Sprintf("ok: the bot is %q (%s)", bot.Name, bot.OpenID)}
	if bot.Status != 0 && bot.Status != botEnabled {
		findings = append(findings, "the bot is not switched on: publish a version of the app and have it approved")
	}
	if a.cfg.Mode == ModeWebsocket {
		findings = append(findings, finding("long connection", a.checkEndpoint(ctx)))
	}
	findings = append(findings, finding("reading chats (im:chat:readonly)", a.api.call(ctx, "list chats", a.get("/open-apis/im/v1/chats?page_size=1"))))
	if a.cfg.Chat.Streaming {
		_, err := a.api.createCard(ctx, finalCard("check"))
		findings = append(findings, finding("cards (cardkit:card:write)", err))
	}
	return findings, nil
}

func finding(what string, err error) string {
	if err != nil {
		return what + ": " + strings.ReplaceAll(clip(err.Error(), 300), "\n", " ")
	}
	return "ok: " + what
}

func (a *Adapter) get(path string) request {
	return func(ctx context.Context, auth larkcore.RequestOptionFunc) (answer, error) {
		resp, err := a.api.sdk.get(ctx, path, auth)
		if err != nil {
			return answer{}, err
		}
		var code larkcore.CodeError
		if err := json.Unmarshal(resp.RawBody, &code); err != nil {
			return answer{}, err
		}
		return answer{resp, code}, nil
	}
}

func (a *Adapter) checkEndpoint(ctx context.Context) error {
	body := encode(larkws.BootstrapRequest{AppID: a.cfg.AppID, AppSecret: a.cfg.AppSecret})
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.cfg.BaseURL+larkws.GenEndpointUri, strings.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := (&bootstrap{adapter: a}).ask(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	var endpoint larkws.EndpointResp
	if err := json.NewDecoder(resp.Body).Decode(&endpoint); err != nil {
		return errors.New("the answer cannot be read")
	}
	if endpoint.Code != larkws.OK {
		return fmt.Errorf("code %d: %s", endpoint.Code, clip(endpoint.Msg, 100))
	}
	return nil
}
