package feishu

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
)

// signatureOf returns the signature of a webhook request: it covers the body as it
// was received and needs the encrypt key.
// https://open.feishu.cn/document/event-subscription-guide/event-subscriptions/event-subscription-configure-/encrypt-key-encryption-configuration-case
func signatureOf(timestamp, nonce, key string, rawBody []byte) string {
	h := sha256.New()
	h.Write([]byte(timestamp))
	h.Write([]byte(nonce))
	h.Write([]byte(key))
	h.Write(rawBody)
	return hex.EncodeToString(h.Sum(nil))
}

// equal compares in constant time; the length is no secret.
func equal(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

var errCipher = errors.New("the event cannot be decrypted")

// decrypt opens an event: AES-256-CBC with the SHA-256 of the key, the IV first.
// The SDK's function of this does not check the padding.
func decrypt(encrypted, key string) ([]byte, error) {
	data, err := base64.StdEncoding.DecodeString(encrypted)
	if err != nil || len(data) < 2*aes.BlockSize || len(data)%aes.BlockSize != 0 {
		return nil, errCipher
	}
	sum := sha256.Sum256([]byte(key))
	block, err := aes.NewCipher(sum[:])
	if err != nil {
		return nil, err
	}
	plain := data[aes.BlockSize:]
	cipher.NewCBCDecrypter(block, data[:aes.BlockSize]).CryptBlocks(plain, plain)
	pad := int(plain[len(plain)-1])
	if pad == 0 || pad > aes.BlockSize {
		return nil, errCipher
	}
	for _, b := range plain[len(plain)-pad:] {
		if int(b) != pad {
			return nil, errCipher
		}
	}
	return plain[:len(plain)-pad], nil
}
