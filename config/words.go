package config

import (
	"strings"

	"github.com/chatkeep/chatkeep/internal/wordlist"
)

// WordAction is what is done about the words of a list.
type WordAction string

// The actions.
const (
	WordsOff    WordAction = "off"
	WordsMask   WordAction = "mask"   // the words are masked
	WordsRefuse WordAction = "refuse" // the whole text is refused
)

func (WordAction) values() []string { return []string{"off", "mask", "refuse"} }

// WordList is a file of words, one a line, and what is done about them.
type WordList struct {
	File string `json:"file"`
	// In is for what people write, Out for what agents answer.
	In  WordAction `json:"in"`
	Out WordAction `json:"out"`
}

func (w *WordList) setDefaults() { *w = WordList{In: WordsMask, Out: WordsMask} }

// limits checks who is exempt, and reads the lists of words.
func (k *checker) limits() {
	l := k.config.Limits
	for i, who := range l.Exempt {
		if strings.Count(who, "/") < 2 && !strings.Contains(who, "*") {
			k.fail(at("limits.exempt", i), "needs channel/account/id such as feishu/main/ou_123, or a pattern such as api/*, not %q", clip(who))
		}
	}
	for i, list := range l.Words {
		path := at("limits.words", i)
		if !k.required(path+".file", list.File, "name a file with one word a line") {
			continue
		}
		if _, err := wordlist.Load(list.File); err != nil {
			k.fail(path+".file", "%s", err)
		}
		if list.In == WordsOff && list.Out == WordsOff {
			k.fail(path, "does nothing: set in or out to mask or refuse, or remove the entry")
		}
	}
}
