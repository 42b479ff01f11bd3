package httpapi

import "github.com/chatkeep/chatkeep/internal/telemetry"

// Deps is what the server asks of the rest of the program. Each interface stands
// in the file that uses it.
type Deps struct {
	Chats        Chats
	Stateless    Stateless
	Sessions     SessionReader
	Control      SessionControl
	Contexts     ContextPreview
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
