package feishutest

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"
)

// pushed is an event and how its pushes went.
type pushed struct {
	id, messageID string
	payload       []byte
	callback      bool
	tries         int
	last          time.Time
	acks, nacks   int
	answer        chan []byte // of a callback
}

// answerWithin is how long the platform waits for the answer to an event.
const answerWithin = 3 * time.Second

// Envelope returns an event as the platform sends it.
func (s *Server) Envelope(eventType, eventID string, event any) []byte {
	payload, err := json.Marshal(map[string]any{
		"schema": "2.0",
		"header": map[string]any{
			"event_id": eventID, "event_type": eventType, "create_time": millis(s.clock.Now()),
			"token": s.opts.VerificationToken, "app_id": s.opts.AppID, "tenant_key": tenantKey,
		},
		"event": event,
	})
	if err != nil {
		panic(err) // maps of plain values
	}
	return payload
}

// Push pushes any event to the app.
func (s *Server) Push(eventType string, event any) { s.pushEvent(eventType, "", "", event) }

// pushEvent remembers an event and pushes it.
func (s *Server) pushEvent(eventType, eventID, messageID string, event any) {
	s.mu.Lock()
	if eventID == "" {
		eventID = s.id("ev")
	}
	p := &pushed{id: eventID, messageID: messageID, payload: s.Envelope(eventType, eventID, event)}
	s.remember(p)
	s.mu.Unlock()
	s.push(p)
}

// remember keeps an event; s.mu is held.
func (s *Server) remember(p *pushed) {
	if _, known := s.events[p.id]; !known {
		s.order = append(s.order, p.id)
	}
	s.events[p.id] = p
}

// PushRaw pushes a payload in place of an event: over the webhook encrypted and
// signed, over the long connection in a frame of its own.
func (s *Server) PushRaw(payload []byte) {
	s.mu.Lock()
	p := &pushed{id: s.id("raw"), payload: payload}
	s.remember(p)
	s.mu.Unlock()
	s.push(p)
}

// push makes one attempt in the background.
func (s *Server) push(p *pushed) {
	s.mu.Lock()
	url := s.opts.WebhookURL
	p.tries++
	p.last = s.clock.Now()
	s.mu.Unlock()
	if url == "" {
		s.pushWS(p)
		return
	}
	s.run(func() {
		status, answer, err := s.Post(p.payload)
		s.settle(p, err == nil && status == http.StatusOK, answer)
	})
}

// settle notes the answer to an event.
func (s *Server) settle(p *pushed, ok bool, answer []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ok {
		p.acks++
	} else {
		p.nacks++
	}
	if p.answer != nil {
		select {
		case p.answer <- answer:
		default:
		}
	}
	s.touchLocked()
}

// callback pushes an event that wants an answer and waits for it.
func (s *Server) callback(eventType string, event any) ([]byte, error) {
	s.mu.Lock()
	id := s.id("ev")
	p := &pushed{id: id, payload: s.Envelope(eventType, id, event), callback: true, answer: make(chan []byte, 1)}
	s.remember(p)
	s.mu.Unlock()
	s.push(p)
	t := s.clock.NewTimer(answerWithin)
	defer t.Stop()
	select {
	case answer := <-p.answer:
		return answer, nil
	case <-t.C:
		return nil, errors.New("feishutest: error 200340: no answer to the button within 3 s")
	case <-s.done:
		return nil, errClosed
	}
}

// Acks counts the positive acknowledgements of a message's events.
func (s *Server) Acks(messageID string) int {
	return s.count(messageID, func(p *pushed) int { return p.acks })
}

// Nacks counts the negative ones.
func (s *Server) Nacks(messageID string) int {
	return s.count(messageID, func(p *pushed) int { return p.nacks })
}

func (s *Server) count(messageID string, of func(*pushed) int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, p := range s.events {
		if p.messageID == messageID {
			n += of(p)
		}
	}
	return n
}

// Unacknowledged counts the events that the app never acknowledged.
func (s *Server) Unacknowledged() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, p := range s.events {
		if p.acks == 0 {
			n++
		}
	}
	return n
}

// redeliverLoop pushes again what was not acknowledged, on the configured schedule.
func (s *Server) redeliverLoop() {
	for {
		t := s.clock.NewTimer(time.Second)
		select {
		case <-t.C:
		case <-s.done:
			t.Stop()
			return
		}
		for _, p := range s.due() {
			s.push(p)
		}
	}
}

func (s *Server) due() []*pushed {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []*pushed
	now := s.clock.Now()
	for _, id := range s.order {
		p := s.events[id]
		if p.callback || p.acks > 0 || p.tries == 0 || p.tries > len(s.opts.Redeliver) {
			continue
		}
		if now.Sub(p.last) >= s.opts.Redeliver[p.tries-1] {
			out = append(out, p)
		}
	}
	return out
}

// Post sends a payload to the webhook, encrypted and signed if there is a key, and
// returns the answer.
func (s *Server) Post(payload []byte) (status int, answer []byte, err error) {
	body := payload
	if s.opts.EncryptKey != "" {
		body = Encrypt(payload, s.opts.EncryptKey)
	}
	return s.PostSigned(body, Sign(s.clock.Now(), "nonce", s.opts.EncryptKey, body))
}

// PostSigned sends a body as it is, with the given headers.
func (s *Server) PostSigned(body []byte, headers http.Header) (status int, answer []byte, err error) {
	s.mu.Lock()
	url := s.opts.WebhookURL
	s.mu.Unlock()
	req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	req.Header = headers.Clone()
	req.Header.Set("Content-Type", "application/json; charset=utf-8")
	resp, err := s.pusher.Do(req)
	if err != nil {
		return 0, nil, fmt.Errorf("feishutest: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err = io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	return resp.StatusCode, answer, err
}

// Encrypt wraps a payload as the platform does when an encrypt key is set.
func Encrypt(payload []byte, key string) []byte {
	sum := sha256.Sum256([]byte(key))
	block, err := aes.NewCipher(sum[:])
	if err != nil {
		panic(err) // the key has 32 bytes
	}
	pad := aes.BlockSize - len(payload)%aes.BlockSize
	plain := append(bytes.Clone(payload), bytes.Repeat([]byte{byte(pad)}, pad)...)
	out := make([]byte, aes.BlockSize+len(plain))
	_, _ = rand.Read(out[:aes.BlockSize]) // never fails
	cipher.NewCBCEncrypter(block, out[:aes.BlockSize]).CryptBlocks(out[aes.BlockSize:], plain)
	body, err := json.Marshal(map[string]string{"encrypt": base64.StdEncoding.EncodeToString(out)})
	if err != nil {
		panic(err) // a string
	}
	return body
}

// Sign returns the headers that prove a body to be the platform's.
func Sign(at time.Time, nonce, key string, body []byte) http.Header {
	timestamp := strconv.FormatInt(at.Unix(), 10)
	sum := sha256.Sum256(append([]byte(timestamp+nonce+key), body...))
	return http.Header{
		"X-Lark-Request-Timestamp": {timestamp},
		"X-Lark-Request-Nonce":     {nonce},
		"X-Lark-Signature":         {hex.EncodeToString(sum[:])},
	}
}
