// Package echo knows an agent of another kind.
package echo

import (
	_ "github.com/larksuite/oapi-sdk-go/v3" // want library
	_ "github.com/openai/openai-go/v3"      // want library

	_ "github.com/chatkeep/chatkeep/agents/openai" // want layer
)
