package command

import (
	"slices"
	"testing"
)

func TestWords(t *testing.T) {
	for args, want := range map[string][]string{
		"":                       nil,
		" a  b\tc ":              {"a", "b", "c"},
		`derive "my slot" x`:     {"derive", "my slot", "x"},
		"切换 “会议”　「x y」":          {"切换", "会议", "x y"},
		`switch ""`:              {"switch", ""},
		`"never closed`:          {"never closed"},
		`it's 'two words' don't`: {"it's", "two words", "don't"},
	} {
		if got := words(args); !slices.Equal(got, want) {
			t.Errorf("words(%q) = %q, want %q", args, got, want)
		}
	}
}
