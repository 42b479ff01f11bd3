package feishu

import (
	"bytes"
	"encoding/base64"
	"testing"

	larkevent "github.com/larksuite/oapi-sdk-go/v3/event"

	"github.com/chatkeep/chatkeep/adapters/feishu/feishutest"
)

func encrypted(t *testing.T, payload, key string) string {
	t.Helper()
	text := fields[struct{ Encrypt string }](feishutest.Encrypt([]byte(payload), key)).Encrypt
	if text == "" {
		t.Fatal("nothing is encrypted")
	}
	return text
}

// The official SDK is the judge of both our side and the fake.
func TestCryptoAgreesWithTheSDK(t *testing.T) {
	for _, payload := range []string{`{}`, `{"a":"汉字 😀"}`, `{"sixteen bytes":1}`} {
		text := encrypted(t, payload, testKey)
		theirs, err := larkevent.EventDecrypt(text, testKey)
		if err != nil || string(theirs) != payload {
			t.Errorf("SDK: %q, %v", theirs, err)
		}
		ours, err := decrypt(text, testKey)
		if err != nil || string(ours) != payload {
			t.Errorf("ours: %q, %v", ours, err)
		}
		want := larkevent.Signature("1800000000", "nonce", testKey, text)
		if got := signatureOf("1800000000", "nonce", testKey, []byte(text)); got != want {
			t.Errorf("signature %s, want %s", got, want)
		}
	}
}

func TestDecryptRefusesWhatIsNotWhole(t *testing.T) {
	text := encrypted(t, `{"a":1}`, testKey)
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	changed := bytes.Clone(data)
	changed[15] ^= 1 // of the IV: flips the same bit of the padding
	for name, bad := range map[string]string{
		"empty": "", "no base64": "!", "short": base64.StdEncoding.EncodeToString(data[:16]),
		"half a block": base64.StdEncoding.EncodeToString(data[:len(data)-1]),
		"changed":      base64.StdEncoding.EncodeToString(changed),
	} {
		if plain, err := decrypt(bad, testKey); err == nil {
			t.Errorf("%s: %q", name, plain)
		}
	}
	if plain, err := decrypt(text, "other"); err == nil && string(plain) == `{"a":1}` {
		t.Error("decrypted with another key")
	}
}
