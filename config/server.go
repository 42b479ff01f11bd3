package config

import "time"

// Server says where the gateway listens.
type Server struct {
	// Listen is the host:port of everything that is not moved by AdminListen.
	Listen string `json:"listen"`
	// AdminListen moves the admin API, console and metrics to a listener of
	// their own; empty keeps them on Listen.
	AdminListen string `json:"adminListen"`
	// AdminToken is the admin API's bearer token; empty: loopback only.
	AdminToken     Secret `json:"adminToken"`
	AdminTokenFile string `json:"adminTokenFile,omitzero"`
	// TrustedProxies are addresses or CIDRs whose forwarding headers count.
	TrustedProxies []string `json:"trustedProxies"`
	// ShutdownGrace is how long running turns may take to end after SIGTERM.
	ShutdownGrace Duration `json:"shutdownGrace"`
}

func defaultServer() Server {
	return Server{
		Listen:         "127.0.0.1:8080",
		TrustedProxies: []string{},
		ShutdownGrace:  Duration(30 * time.Second),
	}
}

// AdminAddress is the listener that serves the admin API.
func (s Server) AdminAddress() string {
	if s.AdminListen != "" {
		return s.AdminListen
	}
	return s.Listen
}
