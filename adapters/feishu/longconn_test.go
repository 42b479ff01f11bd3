package feishu

import (
	"testing"

	larkws "github.com/larksuite/oapi-sdk-go/v3/ws"
)

func TestIntervals(t *testing.T) {
	full := larkws.ClientConfig{ReconnectCount: -1, ReconnectInterval: maxReconnect, ReconnectNonce: maxReconnectSkew, PingInterval: maxPing}
	for name, c := range map[string]struct {
		given *larkws.ClientConfig
		want  larkws.ClientConfig
	}{
		"nothing":        {nil, full},
		"zeros":          {&larkws.ClientConfig{}, full},
		"the platform's": {&larkws.ClientConfig{ReconnectCount: -1, ReconnectInterval: 120, ReconnectNonce: 30, PingInterval: 120}, full},
		"shorter": {
			&larkws.ClientConfig{ReconnectCount: 3, ReconnectInterval: 1, ReconnectNonce: 1, PingInterval: 5},
			larkws.ClientConfig{ReconnectCount: -1, ReconnectInterval: 1, ReconnectNonce: 1, PingInterval: 5},
		},
	} {
		if got := intervals(c.given); *got != c.want {
			t.Errorf("%s: %+v, want %+v", name, *got, c.want)
		}
	}
}
