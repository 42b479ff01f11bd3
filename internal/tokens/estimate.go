package tokens

import (
	"unicode/utf8"

	"github.com/chatkeep/chatkeep/models"
)

// Flat costs that no text shows.
const (
	// MessageOverhead is what the role and the delimiters of a message cost
	// (OpenAI cookbook, "How to count tokens with tiktoken": 3, and 1 for a name).
	MessageOverhead = 4
	// ImageCost is what a picture costs: 1024×1024 in high detail is 85 + 4 tiles
	// of 170 (OpenAI, "Images and vision", cost of gpt-4o).
	ImageCost = 765
	// ToolCallOverhead is what the JSON around a call's id, name and arguments costs.
	ToolCallOverhead = 8
)

const bytesPerToken = 4

// Estimate returns at least one token per CJK character and one per four other
// bytes. It never fails and takes one pass over s.
func Estimate(s string) int {
	wide, other := 0, 0
	for i := 0; i < len(s); {
		if s[i] < utf8.RuneSelf {
			other++
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if size > 1 && cjk(r) {
			wide++
		} else {
			other += size
		}
		i += size
	}
	return wide + (other+bytesPerToken-1)/bytesPerToken
}

// cjk reports whether r is of a script without blanks between words: Hangul Jamo,
// CJK radicals up to the full-width forms, and the supplementary ideographs.
func cjk(r rune) bool {
	return r >= 0x1100 && r <= 0x11FF || r >= 0x2E80 && r <= 0xFFEF || r >= 0x20000 && r <= 0x3FFFF
}

// Count tells how many tokens a text has.
type Count func(string) int

// Message returns the tokens of a message: its texts, what stands around them,
// its images and its tool calls. A nil count is [Estimate].
func Message(m *models.SessionMessage, count Count) int {
	if count == nil {
		count = Estimate
	}
	n := MessageOverhead + count(m.Content) + ImageCost*len(m.Images)
	for _, call := range m.ToolCalls {
		n += ToolCallOverhead + count(call.ID) + count(call.Name) + count(call.Arguments)
	}
	if m.ToolCallID != "" {
		n += count(m.ToolCallID)
	}
	if m.Reasoning != nil {
		n += count(*m.Reasoning)
	}
	return n
}
