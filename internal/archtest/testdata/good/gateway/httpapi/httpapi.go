// Package httpapi is where gin lives.
package httpapi

import _ "github.com/gin-gonic/gin"

type reply map[string]any

func (reply) Exported() map[string]any { return nil }

func decode() map[string]any { return nil }
