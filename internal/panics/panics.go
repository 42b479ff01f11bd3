package panics

import (
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"runtime/debug"
)

// Value describes what recover returned in a log, for the deferred function that called
// it: under "value" and "stack".
func Value(v any) slog.Value {
	return slog.GroupValue(slog.String("value", text(v)), slog.String("stack", string(debug.Stack())))
}

// Error returns what recover returned as an error.
func Error(v any) error { return errors.New("panic: " + text(v)) }

// text is the runtime's own message, or else the type: any other value may be made of
// what was being worked on.
func text(v any) string {
	if err, ok := v.(runtime.Error); ok {
		return err.Error()
	}
	return fmt.Sprintf("%T", v)
}
