// Package storetest is a conformance suite.
package storetest

import (
	_ "testing"

	_ "github.com/chatkeep/chatkeep/models"
	_ "github.com/chatkeep/chatkeep/store"
)
