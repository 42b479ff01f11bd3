package signature_test

import (
	"testing"

	"github.com/chatkeep/chatkeep/internal/signature"
)

// The vector was made with: printf '1700000000.{"a":1}' | openssl dgst -sha256 -hmac key.
func TestSign(t *testing.T) {
	const want = "sha256=a438e398bfafc57e4396bb7fc2304422f0f768e965d073ca313cb52e22e6ad03"
	if got := signature.Sign("key", "1700000000", []byte(`{"a":1}`)); got != want {
		t.Errorf("signature %s, want %s", got, want)
	}
}
