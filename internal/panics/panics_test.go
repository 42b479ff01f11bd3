package panics

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

func TestOnlyTheRuntimeIsQuoted(t *testing.T) {
	const secret = "s3cret"
	for _, test := range []struct {
		name, want string
		fail       func()
	}{
		{"text", "string", func() { panic(secret) }},
		{"error", "*errors.errorString", func() { panic(errors.New(secret)) }},
		{"wrapped", "*fmt.wrapError", func() { panic(fmt.Errorf("%s: %w", secret, runtimeError())) }},
		{"value", "panics.message", func() { panic(message{secret}) }},
		{"index", "runtime error: index out of range [1] with length 1", func() { _ = []string{secret}[len(secret)-5] }},
		{"type", "interface conversion: interface {} is string, not int", func() { _ = any(secret).(int) }},
		{"hash", "hash of unhashable type: []string", func() { _ = map[any]int{}[any([]string{secret})] }},
	} {
		t.Run(test.name, func(t *testing.T) {
			var log strings.Builder
			defer func() {
				v := recover()
				slog.New(slog.NewTextHandler(&log, nil)).Error("panicked", "panic", Value(v))
				if got := Error(v).Error(); got != "panic: "+test.want {
					t.Errorf("error %q", got)
				}
				for _, want := range []string{"panic.value=", test.want, "panic.stack=", "panics_test.go"} {
					if !strings.Contains(log.String(), want) {
						t.Errorf("no %q in %s", want, log.String())
					}
				}
				if strings.Contains(log.String(), secret) {
					t.Errorf("the value is logged: %s", log.String())
				}
			}()
			test.fail()
		})
	}
}

type message struct{ content string }

func runtimeError() (err error) {
	defer func() { err, _ = recover().(error) }()
	_ = any("text").(int)
	return nil
}
