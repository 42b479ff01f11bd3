// Package feishutest is served by the program, so it must not bring testing with it.
package feishutest

import (
	_ "net/http"
	_ "testing"          // want testing
	_ "testing/synctest" // want testing
)
