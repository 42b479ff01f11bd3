// Package tracing makes spans of what the program does and sends them to an
// OpenTelemetry collector.
//
// It owns the spans' transport, and how a trace travels with what is stored. It must
// not know what the spans are about. Spans hold ids, names, numbers and codes: no text
// that somebody wrote, and no error's text, which may quote some. A nil [*Tracer], and
// the zero [Span], do nothing and cost next to nothing.
package tracing
