package httpapi

import "github.com/chatkeep/chatkeep/models"

// chatResponse is the body of a 200, and of GET /v1/inbound/{id}.
type chatResponse struct {
	SessionKey   string              `json:"sessionKey"`
	Slot         string              `json:"slot"`
	InboundID    string              `json:"inboundId"`
	State        models.InboundState `json:"state"`
	Reply        *models.Reply       `json:"reply,omitempty"`
	FinishReason string              `json:"finishReason,omitempty"`
	MergedInto   string              `json:"mergedInto,omitempty"`
	Error        string              `json:"error"`
}

// acceptedResponse is the body of a 202 and of the first stream event.
type acceptedResponse struct {
	InboundID  string `json:"inboundId"`
	SessionKey string `json:"sessionKey"`
}

// observedResponse tells that a message is kept as background.
type observedResponse struct {
	acceptedResponse

	State models.InboundState `json:"state"`
}

// bodyOf is what a client is told of a message.
func bodyOf(in *models.Inbound) chatResponse {
	body := chatResponse{
		SessionKey: in.SessionKey, Slot: in.Slot, InboundID: in.ID, State: in.State,
		Reply: in.Reply, FinishReason: in.FinishReason, MergedInto: in.MergedInto,
	}
	if p := outcomeProblem(in); p != nil {
		body.Error = p.message
	}
	return body
}

const sendAgain = "; it can be sent again under the same messageId"

// refusal is outcomeProblem with the time that a limit makes the client wait.
func (s *Server) refusal(in *models.Inbound) error {
	p := outcomeProblem(in)
	if p == nil {
		return nil
	}
	if p.code == models.CodeRateLimited || p.code == models.CodeBudgetExceeded {
		p.retryAfter = s.deps.Usage.RetryAfter(p.code, in.ReceivedAt)
	}
	return p
}

// outcomeProblem is the error that a waiting client gets, or nil.
func outcomeProblem(in *models.Inbound) *problem {
	switch in.State {
	case models.InboundSuperseded:
		return outcome(in, models.CodeSuperseded, "the message was replaced before it was answered")
	case models.InboundCancelled:
		return outcome(in, models.CodeCancelled, "the message was cancelled before it was answered"+sendAgain)
	case models.InboundIgnored:
		return outcome(in, models.CodeForbidden, "the sender may not use this bot, or the message is of a kind it does not take")
	case models.InboundDead:
		return outcome(in, models.CodeAgentFailed, "the message could not be handled"+sendAgain)
	case models.InboundFailed:
		return outcome(in, models.CodeAgentFailed, failure(in))
	}
	return nil
}

// outcome prefers the code that was stored with the message.
func outcome(in *models.Inbound, code models.ErrorCode, message string) *problem {
	if _, known := statuses[in.Code]; known {
		code = in.Code
	}
	return &problem{code: code, message: message}
}

// failure is what may be told of a failed message; an agent's own error is for the
// operator.
func failure(in *models.Inbound) string {
	switch in.Code {
	case models.CodeTooLarge:
		return "the message does not fit the agent's window"
	case models.CodeSlotReadonly, models.CodeSlotNotFound, models.CodeRateLimited, models.CodeBudgetExceeded, models.CodeForbidden:
		return in.Error
	case models.CodeAgentTimeout:
		return "the agent took too long" + sendAgain
	}
	return "the agent could not answer" + sendAgain
}
