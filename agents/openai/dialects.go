package openai

// How providers say the same thing. All texts are in lower case. They are kept
// narrow enough not to match a rate limit that speaks of tokens.
var (
	overflowCodes = map[string]bool{
		"context_length_exceeded":       true, // OpenAI, DeepSeek, OpenRouter
		"context_window_exceeded":       true,
		"exceed_context_size_error":     true, // llama.cpp
		"model_context_window_exceeded": true, // GLM
		"1261":                          true, // GLM: prompt too long
	}
	overflowTexts = []string{
		"maximum context length",                       // OpenAI, DeepSeek, vLLM, Mistral
		"exceeds the context window",                   // OpenAI
		"context_length_exceeded",                      // code inside a text
		"range of input length should be",              // Qwen
		"input length exceed",                          // Qwen, vLLM
		"exceeded model token limit",                   // Moonshot
		"prompt exceeds max length",                    // GLM
		"prompt 超长",                                    // GLM
		"超出最大长度",                                       // GLM, Baidu
		"maximum model length",                         // vLLM
		"exceeds the maximum model length",             // vLLM
		"reduce the length of the messages",            // vLLM
		"exceeds the context length",                   // Ollama
		"exceeded max context length",                  // Ollama
		"exceeds the available context size",           // llama.cpp
		"exceeds the maximum number of tokens allowed", // Gemini
		"prompt is too long",                           // Anthropic
		"exceed context limit",                         // Anthropic
		"exceed max message tokens",                    // Volcengine
		"must be less than max_seq_len",                // SiliconFlow
		"context window exceeds limit",                 // MiniMax
		"maximum prompt length",                        // xAI
		"prompt tokens too long",                       // Baidu
		"context length exceeded",
	}

	accountCodes = map[string]bool{
		"invalid_api_key":              true, // OpenAI
		"insufficient_quota":           true, // OpenAI, with 429
		"billing_hard_limit_reached":   true, // OpenAI
		"exceeded_current_quota_error": true, // Moonshot, with 429
		"invalid_authentication_error": true, // Moonshot
		"authentication_error":         true, // DeepSeek, Anthropic
		"permission_error":             true, // Anthropic
		"arrearage":                    true, // Qwen, with 400
		"1113":                         true, // GLM: account in arrears, with 429
	}
	accountTexts = []string{
		"insufficient balance",        // DeepSeek
		"account is in good standing", // Qwen
		"api key not valid",           // Gemini, with 400
		"余额不足",
		"欠费",
	}

	badRequestKinds = map[string]bool{
		"invalid_request_error": true,
		"not_found_error":       true,
		"bad_request":           true,
		"badrequesterror":       true, // vLLM
	}
)
