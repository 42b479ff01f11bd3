// Package feishu reaches for what an adapter must not know.
package feishu

import (
	_ "github.com/gin-gonic/gin" // want library
	_ "gorm.io/gorm"             // want library

	_ "github.com/chatkeep/chatkeep/adapters/dingtalk" // want layer
	_ "github.com/chatkeep/chatkeep/agents"            // want layer
	_ "github.com/chatkeep/chatkeep/config"            // want layer
	_ "github.com/chatkeep/chatkeep/gateway"           // want layer
	_ "github.com/chatkeep/chatkeep/gateway/command"   // want layer
	_ "github.com/chatkeep/chatkeep/store/gormstore"   // want layer
)
