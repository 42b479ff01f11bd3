package feishu

import (
	_ "github.com/chatkeep/chatkeep/gateway" // want layer
)
