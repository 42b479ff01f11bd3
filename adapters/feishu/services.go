package feishu

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"

	larkcore "github.com/larksuite/oapi-sdk-go/v3/core"
	larkcardkit "github.com/larksuite/oapi-sdk-go/v3/service/cardkit/v1"
	larkcontact "github.com/larksuite/oapi-sdk-go/v3/service/contact/v3"
	larkim "github.com/larksuite/oapi-sdk-go/v3/service/im/v1"
)

// services are the parts of the SDK that the adapter calls. The SDK's own client
// holds all of its services, some 12 MB more of program.
type services struct {
	config  *larkcore.Config
	im      *larkim.V1
	cardkit *larkcardkit.V1
	contact *larkcontact.V3
}

func newServices(cfg Config, client larkcore.HttpClient, log *slog.Logger) *services {
	config := &larkcore.Config{
		BaseUrl: cfg.BaseURL, AppId: cfg.AppID, AppSecret: cfg.AppSecret, AppType: larkcore.AppTypeSelfBuilt,
		HttpClient: client, Logger: sdkLog{log}, LogLevel: larkcore.LogLevelWarn,
		EnableTokenCache: false, // see tokenSource
	}
	larkcore.NewLogger(config)
	larkcore.NewCache(config)
	larkcore.NewSerialization(config)
	larkcore.NewHttpClient(config)
	return &services{config: config, im: larkim.New(config), cardkit: larkcardkit.New(config), contact: larkcontact.New(config)}
}

// get makes a call that the SDK has no type for.
func (s *services) get(ctx context.Context, path string, auth larkcore.RequestOptionFunc) (*larkcore.ApiResp, error) {
	return larkcore.Request(ctx, &larkcore.ApiReq{
		HttpMethod: http.MethodGet, ApiPath: path, SupportedAccessTokenTypes: []larkcore.AccessTokenType{larkcore.AccessTokenTypeTenant},
	}, s.config, auth)
}

// token asks for an access token of the app.
func (s *services) token(ctx context.Context, appID, appSecret string) (*larkcore.TenantAccessTokenResp, error) {
	raw, err := larkcore.Request(ctx, &larkcore.ApiReq{
		HttpMethod: http.MethodPost, ApiPath: larkcore.TenantAccessTokenInternalUrlPath,
		Body:                      &larkcore.SelfBuiltTenantAccessTokenReq{AppID: appID, AppSecret: appSecret},
		SupportedAccessTokenTypes: []larkcore.AccessTokenType{larkcore.AccessTokenTypeNone},
	}, s.config)
	if err != nil {
		return nil, err
	}
	resp := &larkcore.TenantAccessTokenResp{ApiResp: raw}
	return resp, json.Unmarshal(raw.RawBody, resp)
}
