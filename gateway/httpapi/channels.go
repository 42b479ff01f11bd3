package httpapi

import (
	"cmp"
	"net/http"
	"slices"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/chatkeep/chatkeep/sessionmgr/key"
)

type channelStatus struct {
	Channel     string     `json:"channel"`
	Account     string     `json:"account"`
	Mode        string     `json:"mode"`
	Connected   bool       `json:"connected"`
	ConnectedAt *time.Time `json:"connectedAt"`
	LastEventAt *time.Time `json:"lastEventAt"`
	Error       string     `json:"error"`
}

// channelStatuses lists every account, by channel and name.
func (s *Server) channelStatuses() []channelStatus {
	out := []channelStatus{}
	for _, a := range s.deps.Health.Adapters() {
		st := a.Status()
		out = append(out, channelStatus{
			Channel: a.Channel(), Account: a.Account(), Mode: st.Mode, Connected: st.Connected,
			ConnectedAt: when(st.ConnectedAt), LastEventAt: when(st.LastEventAt), Error: st.Error,
		})
	}
	for _, a := range s.cfg.Accounts {
		out = append(out, channelStatus{Channel: key.ChannelAPI, Account: a.Name, Mode: "http", Connected: true})
	}
	slices.SortFunc(out, func(a, b channelStatus) int {
		return cmp.Or(cmp.Compare(a.Channel, b.Channel), cmp.Compare(a.Account, b.Account))
	})
	return out
}

func when(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	utc := t.UTC()
	return &utc
}

func (s *Server) channels(c *gin.Context) {
	c.JSON(http.StatusOK, pageOf(s.channelStatuses(), ""))
}
