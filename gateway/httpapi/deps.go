package httpapi

import (
	"github.com/chatkeep/chatkeep/internal/telemetry"
	"github.com/chatkeep/chatkeep/internal/tracing"
	"github.com/chatkeep/chatkeep/sessionmgr/transfer"
)

// Deps is what the server asks of the rest of the program. Each interface stands
// in the file that uses it.
type Deps struct {
	Chats           Chats
	Stateless       Stateless
	Sessions        SessionReader
	Control         SessionControl
	Contexts        ContextPreview
	Pruner          Pruner
	Search          Search
	Exports         transfer.Reader
	Imports         transfer.Writer
	Slots           SlotControl
	Compactor       Compactor
	Notebooks       Notebooks
	Results         Results
	Approvals       Approvals
	ApprovalControl ApprovalControl
	Queues          Queues
	QueueControl    QueueControl
	Tasks           Tasks
	TaskControl     TaskControl
	Jobs            Jobs
	Access          Access
	AccessControl   AccessControl
	Usage           Usage
	Health          Health
	Live            Live
	// Metrics counts requests and is what GET /metrics shows; nil: neither.
	Metrics *telemetry.Metrics
	// Tracer traces requests; nil: nothing does.
	Tracer *tracing.Tracer
}
