package config

import (
	"fmt"
	"log/slog"
	"net/url"
	"strings"
)

// Hidden stands in for a secret wherever one would be shown.
const Hidden = "[redacted]"

// hiddenPart is Hidden where brackets would be escaped.
const hiddenPart = "redacted"

// Secret is a value that hides itself when printed, marshalled or logged.
type Secret string

// Reveal returns the secret itself.
func (s Secret) Reveal() string { return string(s) }

func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return Hidden
}

// DSN is a data source name; only the password in it is hidden.
type DSN string

// Reveal returns the DSN with its password.
func (d DSN) Reveal() string { return string(d) }

// String hides what stands between the first colon and the last @ of
// user:password@network(address)/database, found the way the MySQL driver
// finds it.
func (d DSN) String() string {
	s := string(d)
	head := s
	if slash := strings.LastIndexByte(s, '/'); slash >= 0 {
		head = s[:slash]
	}
	at := strings.LastIndexByte(head, '@')
	if at < 0 {
		// No usable credentials part: a path, or a mistyped MySQL DSN whose
		// password may hold the slash.
		if at = strings.LastIndexByte(s, '@'); at < 0 {
			return s
		}
	}
	colon := strings.IndexByte(s[:at], ':')
	if colon < 0 {
		return s
	}
	return s[:colon+1] + Hidden + s[at:]
}

// URL is an address that may carry credentials; a password in it and query
// parameters with a secret's name are hidden.
type URL string

// Reveal returns the URL with its credentials.
func (u URL) Reveal() string { return string(u) }

func (u URL) String() string {
	if !strings.ContainsAny(string(u), "@?") {
		return string(u)
	}
	parsed, err := url.Parse(string(u))
	if err != nil {
		return Hidden
	}
	changed := false
	if parsed.User != nil {
		parsed.User, changed = url.User(hiddenPart), true
	}
	if query := parsed.Query(); parsed.RawQuery != "" {
		for name := range query {
			if secretName(name) {
				query.Set(name, hiddenPart)
				changed = true
			}
		}
		parsed.RawQuery = query.Encode()
	}
	if !changed {
		return string(u)
	}
	return parsed.String()
}

// GoString keeps %#v from showing the content.
func (s Secret) GoString() string { return fmt.Sprintf("config.Secret(%q)", s.String()) }

// GoString keeps %#v from showing the password.
func (d DSN) GoString() string { return fmt.Sprintf("config.DSN(%q)", d.String()) }

// GoString keeps %#v from showing credentials.
func (u URL) GoString() string { return fmt.Sprintf("config.URL(%q)", u.String()) }

// MarshalText implements encoding.TextMarshaler with the hidden form.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// MarshalText implements encoding.TextMarshaler with the hidden form.
func (d DSN) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// MarshalText implements encoding.TextMarshaler with the hidden form.
func (u URL) MarshalText() ([]byte, error) { return []byte(u.String()), nil }

// LogValue implements slog.LogValuer with the hidden form.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// LogValue implements slog.LogValuer with the hidden form.
func (d DSN) LogValue() slog.Value { return slog.StringValue(d.String()) }

// LogValue implements slog.LogValuer with the hidden form.
func (u URL) LogValue() slog.Value { return slog.StringValue(u.String()) }

// secretName tells whether a value under this name is a secret by the look of
// it: apiKey, access_token, X-Signature, encryptKey.
func secretName(name string) bool {
	n := strings.ToLower(strings.NewReplacer("-", "", "_", "", ".", "").Replace(name))
	for _, part := range []string{"secret", "token", "password", "passwd", "credential", "authorization", "signature", "apikey", "accesskey"} {
		if strings.Contains(n, part) {
			return true
		}
	}
	switch n {
	case "sig", "sign", "pwd", "pass", "auth", "cookie":
		return true
	}
	return strings.HasSuffix(n, "key")
}
