package config

import "encoding/json"

// RawJSON is one JSON value, passed through as it is.
type RawJSON []byte

// MarshalJSON implements json.Marshaler.
func (r RawJSON) MarshalJSON() ([]byte, error) { return json.RawMessage(r).MarshalJSON() }

// UnmarshalJSON implements json.Unmarshaler.
func (r *RawJSON) UnmarshalJSON(data []byte) error {
	*r = append((*r)[:0], data...)
	return nil
}

// String says that there is something, but not what: it may hold a secret whose
// name stands outside of it.
func (r RawJSON) String() string { return "[json]" }

// GoString keeps %#v from showing the content.
func (r RawJSON) GoString() string { return `config.RawJSON("[json]")` }
