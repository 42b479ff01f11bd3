package window

import (
	"fmt"
	"slices"
	"testing"
)

func BenchmarkBuild(b *testing.B) {
	for _, turns := range []int{25, 250} {
		in := Input{SystemPrompt: "be kind", User: user("and now?"), Limits: Limits{MaxMessages: 100, MaxTokens: 128000}}
		for i := range turns {
			id := fmt.Sprint("call", i)
			in.History = slices.Concat(in.History, list(user("what is the weather?"), assistant("", id), result(id, "sunny, 好天气"), assistant("It is sunny.")))
		}
		for _, m := range in.History {
			m.TokenCount = 12
		}
		b.Run(fmt.Sprint("messages=", 4*turns), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Build(in); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
