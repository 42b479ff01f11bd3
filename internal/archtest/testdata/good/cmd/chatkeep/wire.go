// Command chatkeep wires what may not know of each other.
package main

import (
	_ "github.com/spf13/cobra"

	_ "github.com/chatkeep/chatkeep/adapters/feishu"
	_ "github.com/chatkeep/chatkeep/config"
	_ "github.com/chatkeep/chatkeep/gateway"
	_ "github.com/chatkeep/chatkeep/store/gormstore"
)

func Decode() map[string]any { return nil }
