package tokens

import (
	"sync"
	"unicode/utf8"

	"github.com/tiktoken-go/tokenizer/codec"
)

const (
	// pieceSize is how much text the tokenizer sees at once. Its time grows with
	// the square of a run without blanks; a piece takes at most a few milliseconds.
	pieceSize = 2 << 10
	// maxExact is the longest text that is tokenized; a longer one is estimated
	// from its first maxExact bytes and [Estimate], whichever is more.
	maxExact = 64 << 10
)

// Counter counts with the o200k_base tokenizer. The vocabulary (13 MB resident)
// is loaded on first use, once. The zero value is ready; it is safe for
// concurrent use and must not be copied.
type Counter struct {
	once  sync.Once
	codec *codec.Codec
}

// Count returns the number of tokens of s, rounded up a little for long texts,
// which are cut into pieces. Where the tokenizer fails it is [Estimate].
func (c *Counter) Count(s string) int {
	if s == "" {
		return 0
	}
	// The one encoding by name: a choice would link the vocabularies of all.
	c.once.Do(func() { c.codec = codec.NewO200kBase() })
	exact := s
	if len(s) > maxExact {
		exact = s[:boundary(s, maxExact)]
	}
	n := 0
	for rest := exact; rest != ""; {
		end := boundary(rest, pieceSize)
		count, err := c.codec.Count(rest[:end])
		if err != nil {
			return Estimate(s)
		}
		n, rest = n+count, rest[end:]
	}
	if len(exact) == len(s) {
		return n
	}
	return max(Estimate(s), n*len(s)/len(exact))
}

// shortText is up to which size, in bytes, the tokenizer would not tell much more
// than [Estimate]: a process that only sees short texts never loads it.
const shortText = 512

// AtLeast returns the tokens of s by [Estimate] or, if that is more and s is not
// short, by the tokenizer: texts without words have more tokens than they look like.
func (c *Counter) AtLeast(s string) int {
	n := Estimate(s)
	if len(s) > shortText {
		n = max(n, c.Count(s))
	}
	return n
}

// boundary returns the largest cut of s at or below size that splits no rune.
func boundary(s string, size int) int {
	if len(s) <= size {
		return len(s)
	}
	for cut := size; cut > size-utf8.UTFMax; cut-- {
		if utf8.RuneStart(s[cut]) {
			return cut
		}
	}
	return size
}
