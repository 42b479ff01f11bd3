package httpapi

import (
	"github.com/chatkeep/chatkeep/internal/telemetry"
	"github.com/chatkeep/chatkeep/sessionmgr/transfer"
)

// Deps is what the server asks of the rest of the program. Each interface stands
// in the file that uses it.
type Deps struct {
	Chats        Chats
	Stateless    Stateless
	Sessions     SessionReader
	Control      SessionControl
	Contexts     ContextPreview
	Exports      transfer.Reader
	Slots        SlotControl
	Notebooks    Notebooks
	Queues       Queues
	QueueControl QueueControl
	Tasks        Tasks
	TaskControl  TaskControl
	Health       Health
	// Metrics counts requests and is what GET /metrics shows; nil: neither.
	Metrics *telemetry.Metrics
}
