package text

import (
	"fmt"
	"strings"
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
// empty, else the language of what the user wrote. The name of a command says nothing
// of that; where there are no words, names of people and chats may.
func Choose(setting, userText string, names ...string) Lang {
	switch Lang(setting) {
	case Chinese, English:
		return Lang(setting)
	}
	if strings.ContainsFunc(userText, han) {
		return Chinese
	}
	if strings.HasPrefix(userText, "/") {
		_, userText, _ = strings.Cut(userText, " ")
	}
	if strings.ContainsFunc(userText, unicode.IsLetter) {
		return English
	}
	for _, name := range names {
		if strings.ContainsFunc(name, han) {
			return Chinese
		}
	}
	return English
}

func han(r rune) bool { return unicode.Is(unicode.Han, r) }

type sentence struct{ en, zh string }
