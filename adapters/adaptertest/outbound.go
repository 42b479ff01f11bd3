package adaptertest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/chatkeep/chatkeep/adapters"
	"github.com/chatkeep/chatkeep/models"
)

// send sends one piece with the suite's patience.
func (b *bench) send(d *models.Delivery) (adapters.Sent, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return b.Adapter.Send(ctx, d)
}

// words returns n numbered words, so that a lost one is noticed.
func words(prefix string, n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("%s%05d", prefix, i)
	}
	return list
}

func piecesAreSendable(t *testing.T, b *bench) {
	code := words("code", 4000)
	family := "👨‍👩‍👧"
	table := "| a | b |\n|---|---|\n| tableword | x |\n"
	texts := []struct {
		name, text string
		keep       []string
	}{
		{"short", "hello **world**", []string{"hello", "world"}},
		{"chinese", strings.Repeat("汉字不可断", 6000) + " 结尾", []string{"结尾"}},
		{"words", strings.Join(words("word", 8000), " "), words("word", 8000)},
		{"one line of code", "```go\n" + strings.Join(code, " ") + "\n```\nafterwards", append(slices.Clone(code), "afterwards")},
		{"lines of code", "intro\n\n```go\n" + strings.Join(code, "\n") + "\n```\n", append(slices.Clone(code), "intro")},
		{"emoji", strings.Repeat(family, 3000), nil},
		{"escapes", strings.Repeat(`"\<>&`+"\t", 4000) + "endword", []string{"endword"}},
		{"tables", strings.Repeat(table+"\n", 12) + "endword", []string{"tableword", "endword"}},
		{"control characters", "a\x00b\x1bc\u2028d", []string{"d"}},
	}
	for i, text := range texts {
		m := b.received(Message{
			ID: fmt.Sprintf("om_render_%d", i), ChatID: fmt.Sprintf("oc_render_%d", i), SenderID: "ou_person_1", Text: "?", Direct: true,
		})
		pieces := b.Adapter.Render(adapters.Answer{Text: text.text, Target: Target(m), Kind: models.DeliveryAnswer})
		if len(pieces) == 0 {
			t.Errorf("%s: no pieces", text.name)
		}
		var all strings.Builder
		shown := len(b.Platform.Shown())
		for n, piece := range pieces {
			if !utf8.ValidString(piece) {
				t.Errorf("%s: piece %d is not valid UTF-8", text.name, n+1)
			}
			if strings.HasPrefix(piece, "\u200d") || strings.HasSuffix(piece, "\u200d") {
				t.Errorf("%s: piece %d cuts a grapheme", text.name, n+1)
			}
			if strings.Count(piece, "```")%2 != 0 {
				t.Errorf("%s: piece %d leaves a fence open", text.name, n+1)
			}
			d := Delivery(m, fmt.Sprintf("dlv_render_%d_%d", i, n), piece)
			d.Part, d.Parts = n+1, len(pieces)
			if _, err := b.send(d); err != nil {
				t.Fatalf("%s: piece %d of %d: %v", text.name, n+1, len(pieces), err)
			}
			all.WriteString(piece)
			all.WriteByte('\n')
		}
		if got := len(b.Platform.Shown()) - shown; got != len(pieces) {
			t.Errorf("%s: %d pieces, but %d messages are shown", text.name, len(pieces), got)
		}
		joined := all.String()
		// A long line of code may be cut anywhere, and Chinese between any two characters.
		uncut := strings.NewReplacer("```go\n", "", "\n```", "", "\n", "").Replace(joined)
		lost := 0
		for _, word := range text.keep {
			if !strings.Contains(joined, word) && !strings.Contains(uncut, word) {
				lost++
			}
		}
		if lost > 0 {
			t.Errorf("%s: %d of %d words are lost", text.name, lost, len(text.keep))
		}
		if text.name == "chinese" && strings.Count(uncut, "汉字") != 6000 {
			t.Errorf("chinese: %d of 6000 words are left", strings.Count(uncut, "汉字"))
		}
		if text.name == "emoji" && strings.Count(joined, family) != 3000 {
			t.Errorf("emoji: %d of 3000 are whole", strings.Count(joined, family))
		}
	}
}

func emptyAnswer(t *testing.T, b *bench) {
	for _, text := range []string{"", " \n\t"} {
		if pieces := b.Adapter.Render(adapters.Answer{Text: text}); len(pieces) != 0 {
			t.Errorf("Render(%q) = %q, want no pieces", text, pieces)
		}
	}
}

func renderIsPure(t *testing.T, b *bench) {
	answer := adapters.Answer{Text: strings.Repeat("| a |\n|---|\n| 汉字 |\n\ntext\n\n", 2000), MentionID: "ou_person_1"}
	if !slices.Equal(b.Adapter.Render(answer), b.Adapter.Render(answer)) {
		t.Error("the same answer is rendered in two ways")
	}
}

func sendErrors(t *testing.T, b *bench) {
	expected := []struct {
		fault Fault
		kinds []adapters.SendErrorKind
	}{
		{FaultRateLimited, []adapters.SendErrorKind{adapters.RateLimited}},
		{FaultRefused, []adapters.SendErrorKind{adapters.Refused}},
		{FaultTargetGone, []adapters.SendErrorKind{adapters.TargetGone}},
		{FaultServerError, []adapters.SendErrorKind{adapters.Unknown, adapters.Retry}},
		{FaultLost, []adapters.SendErrorKind{adapters.Unknown}},
		// Last: an adapter may stop sending for a while after it.
		{FaultUnavailable, []adapters.SendErrorKind{adapters.Unavailable}},
	}
	for i, want := range expected {
		m := b.received(Message{
			ID: fmt.Sprintf("om_fault_%d", i), ChatID: fmt.Sprintf("oc_fault_%d", i), SenderID: "ou_person_1", Text: "?", Direct: true,
		})
		if !b.Platform.Fail(want.fault) {
			continue
		}
		_, err := b.send(Delivery(m, fmt.Sprintf("dlv_fault_%d", i), "secret words"))
		var sendError *adapters.SendError
		if !errors.As(err, &sendError) {
			t.Errorf("%s: Send returned %v, want a *SendError", want.fault, err)
			continue
		}
		if !slices.Contains(want.kinds, sendError.Kind) {
			t.Errorf("%s: kind %q (%v), want one of %q", want.fault, sendError.Kind, err, want.kinds)
		}
		if want.fault == FaultRateLimited && sendError.RetryAfter <= 0 {
			t.Errorf("%s: the platform's wait is not passed on", want.fault)
		}
		if strings.Contains(err.Error(), "secret words") {
			t.Errorf("%s: the error holds the message's text: %v", want.fault, err)
		}
	}
}

func repeatedSend(t *testing.T, b *bench) {
	m := b.received(message("om_repeat"))
	d := Delivery(m, "dlv_repeat", "once")
	if b.Platform.Fail(FaultLost) {
		if _, err := b.send(d); err == nil {
			t.Fatal("the answer was lost, but Send reports no error")
		}
	}
	sent, err := b.send(d)
	if err != nil {
		t.Fatal(err)
	}
	if sent.PlatformMessageID == "" {
		t.Error("a sent message has no id")
	}
	if b.Adapter.Traits().IdempotencyWindow == 0 {
		return
	}
	again, err := b.send(d)
	if err != nil {
		t.Fatal(err)
	}
	if again != sent {
		t.Errorf("repeated: %+v, want %+v", again, sent)
	}
	if n := len(b.Platform.Shown()); n != 1 {
		t.Errorf("%d messages are shown, want 1", n)
	}
}
