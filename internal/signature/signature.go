package signature

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strconv"
	"time"
)

// The headers of a request. The timestamp is in Unix seconds.
const (
	TimestampHeader = "X-Chatkeep-Timestamp"
	Header          = "X-Chatkeep-Signature"
)

// Set sets the headers of a request with the body; without a secret, the timestamp alone.
func Set(h http.Header, secret string, now time.Time, body []byte) {
	timestamp := strconv.FormatInt(now.Unix(), 10)
	h.Set(TimestampHeader, timestamp)
	if secret != "" {
		h.Set(Header, Sign(secret, timestamp, body))
	}
}

// Sign returns the signature header of a request: HMAC-SHA256 of the timestamp, a
// dot and the body.
func Sign(secret, timestamp string, body []byte) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(timestamp + "."))
	mac.Write(body)
	return "sha256=" + hex.EncodeToString(mac.Sum(nil))
}
