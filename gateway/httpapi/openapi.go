package httpapi

import (
	_ "embed" // the API's description
	"net/http"

	"github.com/gin-gonic/gin"
)

//go:embed openapi.yaml
var openAPI []byte

// description serves the API's description.
func (s *Server) description(c *gin.Context) {
	c.Data(http.StatusOK, "application/yaml; charset=utf-8", openAPI)
}
