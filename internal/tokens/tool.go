package tokens

// Tool returns what the description of a tool costs that a model may call. A nil
// count is [Estimate].
func Tool(name, description string, parameters []byte, count Count) int {
	if count == nil {
		count = Estimate
	}
	return ToolCallOverhead + count(name) + count(description) + count(string(parameters))
}
