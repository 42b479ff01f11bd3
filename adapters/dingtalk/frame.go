package dingtalk

import (
	"bytes"
	"encoding/json"
)

// Kinds and topics of frames.
const (
	frameSystem   = "SYSTEM"
	frameEvent    = "EVENT"
	frameCallback = "CALLBACK"

	topicMessage    = "/v1.0/im/bot/messages/get"
	topicCard       = "/v1.0/card/instances/callback"
	topicPing       = "ping"
	topicDisconnect = "disconnect"
)

// frame is what the platform sends. Header values are strings by contract, but
// have been numbers; data is the text of JSON, but has been JSON itself.
type frame struct {
	Type    str `json:"type"`
	Headers struct {
		MessageID str `json:"messageId"`
		Topic     str `json:"topic"`
	} `json:"headers"`
	Data json.RawMessage `json:"data"`
}

// payload returns the JSON in data.
func (f *frame) payload() []byte {
	data := bytes.TrimSpace(f.Data)
	var text string
	if len(data) > 0 && data[0] == '"' && json.Unmarshal(data, &text) == nil {
		return []byte(text)
	}
	return data
}

// ack answers a frame. Its texts are fixed: nothing internal leaves with it.
type ack struct {
	Code    int        `json:"code"`
	Headers ackHeaders `json:"headers"`
	Message string     `json:"message"`
	Data    string     `json:"data"`
}

type ackHeaders struct {
	ContentType string `json:"contentType"`
	MessageID   string `json:"messageId"`
}

func (f *frame) ack(code int, message, data string) ack {
	return ack{
		Code:    code,
		Headers: ackHeaders{ContentType: "application/json", MessageID: string(f.Headers.MessageID)},
		Message: message,
		Data:    data,
	}
}

// The answers to what is taken.
const (
	tookMessage = `{"response":null}`
	tookCard    = `{"response":{}}`
	tookEvent   = `{"status":"SUCCESS","message":"OK"}`
)
