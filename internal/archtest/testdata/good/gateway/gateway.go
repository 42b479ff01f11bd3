// Package gateway stays within its layer.
package gateway

import (
	"time"

	_ "github.com/chatkeep/chatkeep/adapters"
	_ "github.com/chatkeep/chatkeep/agents"
	_ "github.com/chatkeep/chatkeep/internal/clock"
	_ "github.com/chatkeep/chatkeep/sessionmgr/key"
	_ "github.com/chatkeep/chatkeep/store"
)

const tick = time.Second

type clock struct{}

func (clock) Now() time.Time { return time.Time{} }

func now(c clock) time.Time { return c.Now() }
