package httpapi

import (
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/chatkeep/chatkeep/models"
)

// bearer returns the request's bearer token, and whether the request names any
// credentials at all.
func bearer(c *gin.Context) (token string, given bool) {
	header := c.GetHeader("Authorization")
	scheme, token, _ := strings.Cut(header, " ")
	if !strings.EqualFold(scheme, "bearer") {
		return "", header != ""
	}
	return strings.TrimSpace(token), true
}

// sameToken compares in constant time, whatever the lengths.
func sameToken(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}

func (s *Server) isAdmin(token string) bool {
	return s.cfg.AdminToken != "" && token != "" && sameToken(token, s.cfg.AdminToken)
}

// requireAdmin lets in whoever has the admin token, or, where none is configured,
// whoever asks from this machine.
func (s *Server) requireAdmin(c *gin.Context) {
	token, given := bearer(c)
	if s.isAdmin(token) {
		return
	}
	if s.cfg.AdminToken != "" {
		s.fail(c, unauthorized("the admin token is needed"))
		return
	}
	if given {
		s.fail(c, unauthorized("no admin token is configured: leave it out on this machine, or set server.adminToken"))
		return
	}
	if why := notFromThisMachine(c); why != "" {
		s.fail(c, unauthorized("without an admin token only this machine is let in: "+why))
	}
}

// requireAdminOrLocal lets in this machine too, whether there is a token or not.
func (s *Server) requireAdminOrLocal(c *gin.Context) {
	if _, given := bearer(c); !given && notFromThisMachine(c) == "" {
		return
	}
	s.requireAdmin(c)
}

const accountKey = "account"

// requireAccount finds the API account that the request's token belongs to;
// without a token, the account that may be used from this machine.
func (s *Server) requireAccount(c *gin.Context) {
	token, given := bearer(c)
	if a := s.accountOf(token); a != nil {
		c.Set(accountKey, a.Name)
		return
	}
	open := s.openAccount()
	// A stock OpenAI client always sends some key: from this machine any will do
	// where no account has tokens, except one that opens another door.
	if open == nil || given && (token == "" || s.hasTokens() || s.isAdmin(token)) {
		s.fail(c, unauthorized("a bearer token of an API account is needed"))
		return
	}
	if why := notFromThisMachine(c); why != "" {
		s.fail(c, unauthorized("without a token only this machine is let in: "+why))
		return
	}
	c.Set(accountKey, open.Name)
}

func accountOf(c *gin.Context) string { return c.GetString(accountKey) }

// accountOf compares with every token, so that time tells nothing.
func (s *Server) accountOf(token string) (found *Account) {
	if token == "" {
		return nil
	}
	for i := range s.cfg.Accounts {
		for _, t := range s.cfg.Accounts[i].Tokens {
			if sameToken(token, t) && found == nil {
				found = &s.cfg.Accounts[i]
			}
		}
	}
	return found
}

// openAccount is the first account without tokens.
func (s *Server) openAccount() *Account {
	for i := range s.cfg.Accounts {
		if len(s.cfg.Accounts[i].Tokens) == 0 {
			return &s.cfg.Accounts[i]
		}
	}
	return nil
}

func (s *Server) hasTokens() bool {
	for i := range s.cfg.Accounts {
		if len(s.cfg.Accounts[i].Tokens) > 0 {
			return true
		}
	}
	return false
}

func unauthorized(message string) *problem {
	return &problem{code: models.CodeUnauthorized, message: message}
}

// notFromThisMachine says why a request without a token cannot be taken for one of
// a person or program on this machine: it may come from a web page, by a name that
// was rebound to this machine, or through a proxy. Empty: it can.
func notFromThisMachine(c *gin.Context) string {
	r := c.Request
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	switch {
	case err != nil || !peer.Addr().Unmap().IsLoopback():
		return "the request comes from elsewhere"
	case !loopbackHost(r.Host):
		return "the Host header names another machine"
	case forwarded(r.Header):
		return "the request came through a proxy"
	case foreignOrigin(r):
		return "the request comes from a web page of another origin"
	case hasBody(r) && !isJSON(c.ContentType()) && !takesAnyType(c): // a web page can post a form without asking, but not JSON
		return "the body needs Content-Type: application/json"
	}
	return ""
}

// takesAnyType reports whether the body is a document of whatever type: an export, where
// browsers name their page as they post it, or a plan file, which no page can put without
// asking.
func takesAnyType(c *gin.Context) bool {
	return c.FullPath() == importPath || c.FullPath() == filePath && c.Request.Method == http.MethodPut
}

func hasBody(r *http.Request) bool { return r.ContentLength != 0 }

// forwarded reports whether a proxy says that it passed the request on.
func forwarded(h http.Header) bool {
	for name := range h {
		if strings.HasPrefix(name, "X-Forwarded") {
			return true
		}
		switch name {
		case "Forwarded", "Via", "X-Real-Ip", "X-Client-Ip", "X-Cluster-Client-Ip", "True-Client-Ip", "Cf-Connecting-Ip", "Fastly-Client-Ip":
			return true
		}
	}
	return false
}

// foreignOrigin reports whether a browser says that another site's page asks.
func foreignOrigin(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "cross-site", "same-site":
		return true
	}
	origins, present := r.Header["Origin"]
	if !present {
		return false
	}
	if len(origins) != 1 {
		return true
	}
	u, err := url.Parse(origins[0])
	return err != nil || u.Host == "" || !strings.EqualFold(u.Host, r.Host)
}

func isJSON(contentType string) bool {
	contentType = strings.ToLower(contentType)
	return contentType == "application/json" || strings.HasPrefix(contentType, "application/") && strings.HasSuffix(contentType, "+json")
}

func loopbackHost(hostport string) bool {
	host := hostport
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		host = h
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}
