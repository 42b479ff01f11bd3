package dingtalk

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// The values of conversationType.
const (
	typeDirect = "1"
	typeGroup  = "2"
)

// ref is how to reply to a message; it is stored with the message.
type ref struct {
	ConversationID   string `json:"conversationId"`
	ConversationType string `json:"conversationType"`
	// SenderStaffID is empty for people outside of the robot's organisation.
	SenderStaffID string `json:"senderStaffId,omitempty"`
	RobotCode     string `json:"robotCode,omitempty"`
	// Webhook is the session webhook, sealed: whoever knows it can write to the chat.
	Webhook []byte `json:"webhook,omitempty"`
	// ExpiresAt is when the webhook ends, in ms since the epoch.
	ExpiresAt int64 `json:"expiresAt,omitempty"`
}

func (r ref) encode() []byte {
	b, err := json.Marshal(r)
	if err != nil {
		return nil // cannot be: strings, bytes and numbers only
	}
	return b
}

// parseRef returns the zero ref for a target without one.
func parseRef(b []byte) (ref, error) {
	var r ref
	if len(b) == 0 {
		return r, nil
	}
	if err := json.Unmarshal(b, &r); err != nil {
		return ref{}, fmt.Errorf("reply data: %w", err)
	}
	return r, nil
}

func (r ref) expires() time.Time { return time.UnixMilli(r.ExpiresAt) }

// sealer encrypts session webhooks with a key that every replica derives from the
// client secret.
type sealer struct{ aead cipher.AEAD }

func newSealer(clientID, clientSecret string) (*sealer, error) {
	key, err := hkdf.Key(sha256.New, []byte(clientSecret), []byte(clientID), "chatkeep dingtalk session webhook v1", 32)
	if err != nil {
		return nil, fmt.Errorf("derive key: %w", err)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("derive key: %w", err)
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, fmt.Errorf("derive key: %w", err)
	}
	return &sealer{aead}, nil
}

// seal encrypts a webhook for one conversation: in another it cannot be opened.
func (s *sealer) seal(webhook, conversationID string) []byte {
	// The cipher makes the nonce itself.
	return s.aead.Seal(nil, nil, []byte(webhook), []byte(conversationID)) //nolint:gosec // see above
}

var errSealed = errors.New("the session webhook cannot be decrypted (was the client secret changed?)")

func (s *sealer) open(sealed []byte, conversationID string) (string, error) {
	plain, err := s.aead.Open(nil, nil, sealed, []byte(conversationID))
	if err != nil {
		return "", errSealed
	}
	return string(plain), nil
}
