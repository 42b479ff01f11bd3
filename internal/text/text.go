package text

import (
	"fmt"
	"unicode"
)

// Lang is a language that users are spoken to in.
type Lang string

// The languages.
const (
	Chinese Lang = "zh"
	English Lang = "en"
)

// ID names a sentence.
type ID string

// Say returns the sentence in the language, English for an unknown one. Arguments
// are those that the sentence's verbs ask for.
func Say(l Lang, id ID, args ...any) string {
	s := sentences[id]
	format := s.en
	if l == Chinese {
		format = s.zh
	}
	if len(args) == 0 {
		return format
	}
	return fmt.Sprintf(format, args...)
}

// Choose returns the language to answer in: the setting unless that is "auto" or
// empty, else the language of what the user wrote.
func Choose(setting, userText string) Lang {
	switch Lang(setting) {
	case Chinese, English:
		return Lang(setting)
	}
	for _, r := range userText {
		if unicode.Is(unicode.Han, r) {
			return Chinese
		}
	}
	return English
}

type sentence struct{ en, zh string }
