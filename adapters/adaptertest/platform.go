package adaptertest

import (
	"testing"

	"github.com/chatkeep/chatkeep/adapters"
)

// Setup makes an adapter that is not running yet and the platform that it talks
// to, fresh for every test.
type Setup func(t *testing.T) Harness

// Harness is one adapter with its platform.
type Harness struct {
	Adapter  adapters.Adapter
	Platform Platform
	// Close ends the platform and the adapter's idle connections, so that no
	// goroutine of the harness is left.
	Close func()
}

// Message is what a person writes to the bot.
type Message struct {
	ID       string
	ChatID   string
	SenderID string
	Text     string
	// Direct is set for a direct chat. In a group the bot is mentioned.
	Direct bool
}

// Shown is a message of the bot that the platform shows to people.
type Shown struct {
	// ID is the platform's id of it.
	ID     string
	ChatID string
	// Text is what is readable in it.
	Text string
}

// Fault is how the platform treats the next message that the bot sends, once.
type Fault string

// The faults. The suite skips those that [Platform.Fail] does not know.
const (
	// FaultRateLimited refuses it for now and asks to wait.
	FaultRateLimited Fault = "rate_limited"
	// FaultRefused refuses the message for good, whatever its form.
	FaultRefused Fault = "refused"
	// FaultTargetGone refuses it because the bot cannot write there any more.
	FaultTargetGone Fault = "target_gone"
	// FaultUnavailable refuses it because of the account: a quota, a permission, a credential.
	FaultUnavailable Fault = "unavailable"
	// FaultServerError answers 5xx and shows nothing.
	FaultServerError Fault = "server_error"
	// FaultLost shows the message and breaks the connection before the answer.
	FaultLost Fault = "lost"
)

// Platform is the fake as the suite drives it. Pushes do not wait for the bot;
// every method is safe for concurrent use.
type Platform interface {
	// Push delivers a message to the bot.
	Push(m Message)
	// Redeliver delivers it again as the platform does when the acknowledgement is
	// missing: the message's id stays, the delivery's id may change.
	Redeliver(m Message)
	// PushGarbage delivers payload, authenticated, where an event belongs.
	PushGarbage(payload []byte)
	// Acks counts the positive acknowledgements of a message's deliveries.
	Acks(messageID string) int
	// Shown lists what people see of the bot, oldest first.
	Shown() []Shown
	// Fail scripts the next send of the bot. It reports false for a fault that the
	// platform cannot have.
	Fail(f Fault) bool
}

// Forger is implemented by platforms whose transport authenticates each delivery.
type Forger interface {
	// PushForged delivers a message with a wrong proof of origin, in the variant-th
	// way (bad signature, missing signature, wrong token, plain instead of
	// encrypted …), and returns the HTTP status of the refusal. It reports false
	// when there is no such variant.
	PushForged(m Message, variant int) (status int, ok bool)
}
