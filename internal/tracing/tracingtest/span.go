package tracingtest

import (
	"encoding/hex"
	"slices"
	"strconv"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
)

func spanOf(s *tracepb.Span, service string) Span {
	out := Span{
		Name: s.GetName(), Trace: hex.EncodeToString(s.GetTraceId()), ID: hex.EncodeToString(s.GetSpanId()),
		Parent: hex.EncodeToString(s.GetParentSpanId()), Kind: s.GetKind(), Attributes: map[string]string{},
		Failed: s.GetStatus().GetCode() == tracepb.Status_STATUS_CODE_ERROR, Status: s.GetStatus().GetMessage(), Service: service,
	}
	for _, a := range s.GetAttributes() {
		out.Attributes[a.GetKey()] = valueOf(a.GetValue())
	}
	return out
}

func valueOf(v *commonpb.AnyValue) string {
	if n, ok := v.GetValue().(*commonpb.AnyValue_IntValue); ok {
		return strconv.FormatInt(n.IntValue, 10)
	}
	return v.GetStringValue()
}

// Find returns the received spans of a name.
func (r *Receiver) Find(name string) []Span {
	return slices.DeleteFunc(r.Spans(), func(s Span) bool { return s.Name != name })
}
