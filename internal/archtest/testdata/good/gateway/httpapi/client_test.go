package httpapi

import _ "github.com/openai/openai-go/v3"
