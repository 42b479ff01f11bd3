package dingtalk

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"
)

// Limits on a webhook request.
const (
	maxWebhookRequest = 64 << 10
	// maxAge and maxAhead bound how far the timestamp may be from our time; the
	// first is the platform's own rule.
	maxAge   = time.Hour
	maxAhead = 5 * time.Minute
)

// ServeWebhook takes one robot message over HTTP: 200 after it is stored, 401
// unless the headers prove that it is from the platform, 503 if it cannot be
// stored. The proof covers the time only, not the body, which is the platform's
// design: deduplication by message id stops what is replayed unchanged.
func (a *Adapter) ServeWebhook(w http.ResponseWriter, r *http.Request) {
	if a.cfg.Mode != ModeWebhook {
		http.Error(w, "this robot is in stream mode", http.StatusNotFound)
		return
	}
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "POST only", http.StatusMethodNotAllowed)
		return
	}
	if !a.genuine(r.Header.Get("Timestamp"), r.Header.Get("Sign")) {
		http.Error(w, "timestamp or sign is missing, stale or wrong", http.StatusUnauthorized)
		return
	}
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxWebhookRequest))
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		http.Error(w, "the body is too large", http.StatusRequestEntityTooLarge)
		return
	}
	if err != nil || !json.Valid(data) {
		http.Error(w, "the body is not JSON", http.StatusBadRequest)
		return
	}
	in := a.enter()
	if in == nil {
		http.Error(w, "not receiving", http.StatusServiceUnavailable)
		return
	}
	defer a.leave()
	if in.message(r.Context(), data, "") != nil {
		http.Error(w, "the message cannot be stored now", http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"msgtype":"empty"}`) // the answer comes later, by itself
}

// genuine checks sign = base64(HMAC-SHA256(secret, timestamp + "\n" + secret)).
func (a *Adapter) genuine(timestamp, sign string) bool {
	ms, err := strconv.ParseInt(timestamp, 10, 64)
	if err != nil || sign == "" {
		return false
	}
	age := a.clock.Now().Sub(time.UnixMilli(ms))
	if age > maxAge || age < -maxAhead {
		return false
	}
	return hmac.Equal([]byte(sign), []byte(Sign(timestamp, a.cfg.ClientSecret)))
}

// Sign returns the proof that the platform sends with a webhook request made at
// timestamp (ms since the epoch, decimal).
func Sign(timestamp, clientSecret string) string {
	mac := hmac.New(sha256.New, []byte(clientSecret))
	mac.Write([]byte(timestamp + "\n" + clientSecret))
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}
