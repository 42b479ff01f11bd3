package feishu

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
)

// maxWebhookBody is far above what the platform sends.
const maxWebhookBody = 1 << 20

// ServeWebhook answers one request of the platform: 200 after the event was stored,
// 401 for whatever is not proven to be the platform's, 503 when it could not be
// stored, so that it comes again.
func (a *Adapter) ServeWebhook(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "POST only", http.StatusMethodNotAllowed)
		return
	}
	if a.cfg.Mode != ModeWebhook {
		http.Error(w, "this account uses the long connection", http.StatusNotFound)
		return
	}
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxWebhookBody))
	if err != nil {
		status := http.StatusBadRequest
		if tooLarge := new(http.MaxBytesError); errors.As(err, &tooLarge) {
			status = http.StatusRequestEntityTooLarge
		}
		http.Error(w, http.StatusText(status), status)
		return
	}
	payload, challenge, ok := a.authenticate(r.Header, raw)
	switch {
	case !ok:
		a.log.WarnContext(r.Context(), "a webhook request is refused: its signature or token is wrong", "peer", r.RemoteAddr)
		http.Error(w, "signature or token is wrong", http.StatusUnauthorized)
	case challenge != nil:
		answerJSON(w, challenge)
	default:
		reply, err := a.handle(r.Context(), payload)
		if err != nil {
			http.Error(w, "not stored, please send it again", http.StatusServiceUnavailable)
			return
		}
		if reply == nil {
			answerJSON(w, struct{}{})
			return
		}
		answerJSON(w, reply)
	}
}

// challengeAnswer proves to the developer console that the URL is ours.
type challengeAnswer struct {
	Challenge string `json:"challenge"`
}

// authenticate checks where a request is from. It returns the decrypted event, or
// the answer to a URL check. A URL check carries no signature, so it is answered
// if its token is right and nothing else is ever taken without one.
func (a *Adapter) authenticate(h http.Header, raw []byte) (payload []byte, challenge *challengeAnswer, ok bool) {
	outer := fields[struct {
		Encrypt string `json:"encrypt"`
	}](raw)
	if outer.Encrypt == "" {
		challenge := a.urlCheck(raw, false)
		return nil, challenge, challenge != nil
	}
	plain, err := decrypt(outer.Encrypt, a.cfg.EncryptKey)
	if err != nil {
		return nil, nil, false
	}
	want := signatureOf(h.Get("X-Lark-Request-Timestamp"), h.Get("X-Lark-Request-Nonce"), a.cfg.EncryptKey, raw)
	signed := equal(want, h.Get("X-Lark-Signature"))
	if challenge := a.urlCheck(plain, true); challenge != nil {
		return nil, challenge, true
	}
	if !signed {
		return nil, nil, false
	}
	e, err := parseEnvelope(plain)
	if err != nil {
		return plain, nil, true // ours, but unreadable: the intake says so and drops it
	}
	if a.cfg.VerificationToken != "" && !equal(e.token(), a.cfg.VerificationToken) {
		return nil, nil, false
	}
	if e.Header.AppID != "" && e.Header.AppID != a.cfg.AppID {
		return nil, nil, false
	}
	return plain, nil, true
}

// urlCheck returns the answer to a URL check whose token is right, nil for
// anything else. Without a configured token only an encrypted one proves anything.
func (a *Adapter) urlCheck(payload []byte, encrypted bool) *challengeAnswer {
	e, err := parseEnvelope(payload)
	if err != nil || e.Type != "url_verification" {
		return nil
	}
	if a.cfg.VerificationToken == "" && !encrypted {
		return nil
	}
	if a.cfg.VerificationToken != "" && !equal(e.token(), a.cfg.VerificationToken) {
		return nil
	}
	return &challengeAnswer{e.Challenge}
}

func answerJSON(w http.ResponseWriter, v any) {
	data, err := json.Marshal(v)
	if err != nil {
		http.Error(w, "internal error", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	_, _ = w.Write(data) // the platform is gone or not; there is nobody to tell
}
