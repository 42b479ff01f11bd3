package httpapi

import "github.com/chatkeep/chatkeep/models"

// ChatBody is the body of a 200 of POST /v1/chat and of GET /v1/inbound/{id}; the
// terminal prints the same.
type ChatBody = chatResponse

// BodyOf is what a client is told of a message.
func BodyOf(in *models.Inbound) ChatBody { return bodyOf(in) }
