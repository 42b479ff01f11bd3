package httpapi

import (
	"net/url"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/sessionmgr/key"
)

const sessionKeyName = "sessionKey"

// sessionKey reads the key from the path, or, where a proxy decodes paths, from
// ?key= behind "-".
func (s *Server) sessionKey(c *gin.Context) {
	escaped := c.Param("key")
	if escaped == "-" {
		escaped = rawQuery(c, "key")
	}
	raw, err := url.PathUnescape(escaped)
	if err != nil {
		s.fail(c, invalid("the session key is not URL-escaped"))
		return
	}
	k, err := key.Parse(raw)
	if err != nil {
		s.fail(c, err)
		return
	}
	c.Set(sessionKeyName, k.String())
}

// rawQuery returns a query parameter as it was sent: in a key, + is a plus.
func rawQuery(c *gin.Context, name string) string {
	for pair := range strings.SplitSeq(c.Request.URL.RawQuery, "&") {
		if k, v, _ := strings.Cut(pair, "="); k == name {
			return v
		}
	}
	return ""
}

func keyOf(c *gin.Context) string { return c.GetString(sessionKeyName) }

// idOf is the id of our own making in the path. What can be none is not found.
func idOf(c *gin.Context) (string, error) { return nameIn(c, "id") }

// nameIn is idOf for another step of the path.
func nameIn(c *gin.Context, step string) (string, error) {
	id, err := url.PathUnescape(c.Param(step))
	if err != nil || !models.ValidName(id) {
		return "", notFound("there is no such id")
	}
	return id, nil
}

// maxQuery bounds a query parameter, in bytes. Cursors hold an id and a time.
const maxQuery = 1024

// queries reads query parameters and refuses what cannot be stored, and so cannot
// be found.
func queries(c *gin.Context, names ...string) (map[string]string, error) {
	values := make(map[string]string, len(names))
	for _, name := range names {
		values[name] = c.Query(name)
		if err := checkTexts(text{name, values[name], maxQuery}); err != nil {
			return nil, err
		}
	}
	return values, nil
}
