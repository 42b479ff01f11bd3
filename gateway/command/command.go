package command

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/chatkeep/chatkeep/gateway/limit"
	"github.com/chatkeep/chatkeep/gateway/slot"
	"github.com/chatkeep/chatkeep/internal/text"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

// Command is one row of the table.
type Command struct {
	Name string
	// Usage shows the arguments, e.g. "[name]"; empty if there are none.
	Usage string
	// Aliases are its Chinese names.
	Aliases []string
	// Destroys keeps the bare alias from being taken for the command.
	Destroys bool
	// AdminIfShared keeps it for administrators where several people share a session.
	AdminIfShared bool
	// ReadsNotes asks for the session's notes in the [Call].
	ReadsNotes bool
	// ReadsHistory asks for what was said in the session.
	ReadsHistory bool
	// ReadsSummary asks for what a summary would stand for.
	ReadsSummary bool
	// Help is what /help says of it.
	Help text.ID

	run func(*Call) (string, error)
}

// Call is one run of a command, inside the transaction that stores its outcome.
// It may run more than once before it commits.
type Call struct {
	Args    string
	Tx      store.SessionTx
	Lang    text.Lang
	Now     time.Time
	Session models.Session // the identity of the session, for when it must be created
	// Place is the command's own in the order of the session: what was said later is none
	// of its business.
	Place int64
	// Background is the key of the session whose observed talk this one reads.
	Background string

	Channel  string
	Account  string
	ChatID   string
	ThreadID string
	SenderID string
	// SenderName is what people call the sender; may be empty.
	SenderName string
	// InboundID is the command's message.
	InboundID string
	// Operator is who says the command where that is the operator; else empty.
	Operator string
	// Decides is the code of the call that the sender may decide on.
	Decides string
	// Direct is set in a direct chat.
	Direct bool
	// Tasks makes scheduled tasks.
	Tasks Tasks
	// Models are those that the session may use, the agent's own first.
	Models []string
	// Roles are the prompts that it may use.
	Roles []Role
	// HelpText is what /help says instead of the list of commands, which {{commands}} in it
	// stands for; empty: that list.
	HelpText string
	// StaticSlots are those that the session has from the configuration.
	StaticSlots []slot.Static
	// Notes are the session's, newest first, as they were just before, for a command
	// that reads them.
	Notes []*models.Note
	// History is what was said in the session, for a command that reads it.
	History *History
	// Summary is what a summary would stand for, for a command that makes one; for the
	// others only whether one is being made.
	Summary Summary
	// Admin is set if the sender is an administrator of the chat, AccountAdmin if of the
	// whole account.
	Admin, AccountAdmin bool
	// Shared is set if several people share the session.
	Shared bool
	// Allowance is what the sender's messages count against.
	Allowance Allowance

	table []Command // what /help lists

	// Ended collects the messages that got their outcome, whose turns are to be cancelled.
	Ended []*models.Inbound
	// Requeued is set if a message waits again.
	Requeued string
	// Admitted is a request for access that was decided on: who asked is to be told.
	Admitted *models.AccessGrant
	// Decided is set if a call was decided on: the command's message becomes a turn.
	Decided *Decided
	// Compact is the slot that is to be summarised: the command is deferred until that is
	// done. OverBudget is set if a budget does not let it, StopSummary if no summary of the
	// session is to be made any more.
	Compact     string
	OverBudget  *limit.Standing
	StopSummary bool
	// Emptied is the slot that was emptied, the current one: what was said later begins
	// anew, and there is nothing to be summarised any more.
	Emptied string
}

// Run carries the command out and returns what it has to say.
func (c *Command) Run(call *Call) (string, error) {
	if c.AdminIfShared && call.Shared && !call.Admin {
		return text.Say(call.Lang, text.NeedsAdmin), nil
	}
	call.table = Table
	answer, err := c.run(call)
	if err != nil {
		return "", fmt.Errorf("command %s: %w", c.Name, err)
	}
	return answer, nil
}

// Table lists every command, in the order of /help. It is never changed.
var Table = []Command{
	{Name: "help", Aliases: []string{"帮助"}, Help: text.HelpHelp, run: func(c *Call) (string, error) { return c.help(), nil }},
	{Name: "new", Usage: "[name]", Aliases: []string{"新会话"}, Help: text.HelpNew, run: newSlot},
	{Name: "reset", Aliases: []string{"重置"}, Destroys: true, AdminIfShared: true, Help: text.HelpReset, run: reset},
	{Name: "stop", Aliases: []string{"停止"}, Help: text.HelpStop, run: stop},
	{Name: "retry", Aliases: []string{"重试"}, Help: text.HelpRetry, run: retry},
	{Name: "undo", Aliases: []string{"撤销"}, Destroys: true, Help: text.HelpUndo, run: undo},
	{Name: "status", Aliases: []string{"状态"}, Help: text.HelpStatus, run: status},
	{Name: "history", Usage: "[words]", Aliases: []string{"历史"}, ReadsHistory: true, Help: text.HelpHistory, run: history},
	{Name: "compact", Usage: "[instructions]", Aliases: []string{"压缩"}, Destroys: true, AdminIfShared: true, ReadsSummary: true, Help: text.HelpCompact, run: compact},
	{Name: "task", Usage: "add|list|pause|resume|delete", Aliases: []string{"任务"}, Help: text.HelpTask, run: task},
	{Name: "remember", Usage: "[key=]text", Aliases: []string{"记住"}, Help: text.HelpRemember, run: remember},
	{Name: "forget", Usage: "[id]", Aliases: []string{"忘记"}, Destroys: true, AdminIfShared: true, ReadsNotes: true, Help: text.HelpForget, run: forget},
	{Name: "memory", Aliases: []string{"记忆", "笔记"}, ReadsNotes: true, Help: text.HelpMemory, run: memory},
	{Name: "slot", Usage: "list|new|derive|switch|delete [name]", Aliases: []string{"上下文"}, Help: text.HelpSlot, run: slots},
	{Name: "model", Usage: "[name|default]", Aliases: []string{"模型"}, AdminIfShared: true, Help: text.HelpModel, run: model},
	{Name: "role", Usage: "list|show|use|default [role]", Aliases: []string{"角色"}, Help: text.HelpRole, run: role},
	{Name: approveName, Usage: "CODE [no]", Aliases: []string{"批准"}, Destroys: true, Help: text.HelpApprove, run: approve},
	{Name: denyName, Usage: "CODE", Aliases: []string{"拒绝"}, Destroys: true, Help: text.HelpDeny, run: deny},
	{Name: "pair", Usage: "[CODE [no]]", Aliases: []string{"配对"}, Help: text.HelpPair, run: pair},
	{Name: "limit", Usage: "[lift|add TOKENS] [user]", Aliases: []string{"额度"}, Help: text.HelpLimit, run: limits},
	{Name: "whoami", Aliases: []string{"我是谁"}, Help: text.HelpWhoAmI, run: whoami},
}

// commandsMark stands for the list of commands in a help text of the operator's.
const commandsMark = "{{commands}}"

func (c *Call) help() string {
	list := List(c.Lang, c.table)
	if c.HelpText != "" {
		return strings.ReplaceAll(c.HelpText, commandsMark, list)
	}
	return text.Say(c.Lang, text.HelpTitle) + "\n" + list
}

// List is a list of commands for people.
func List(l text.Lang, table []Command) string {
	lines := make([]string, len(table))
	for i := range table {
		cmd := &table[i]
		lines[i] = "- `/" + strings.TrimSpace(cmd.Name+" "+cmd.Usage) + "`"
		if l == text.Chinese {
			lines[i] += " (/" + strings.Join(cmd.Aliases, ", /") + ")"
		}
		lines[i] += ": " + text.Say(l, cmd.Help)
	}
	return strings.Join(lines, "\n")
}

// newSlot is /new [name]; any text is a name.
func newSlot(c *Call) (string, error) {
	if err := c.Tx.Create(&c.Session); err != nil {
		return "", err
	}
	slots, err := c.slots().All()
	if err != nil {
		return "", err
	}
	name := nameSlot(strings.Join(words(c.Args), " "), slots)
	if said, taken := c.taken(name, slots); taken {
		return said, nil
	}
	err = c.Tx.CreateSlot(&models.ContextSlot{
		ID: name.id, Title: name.title, Mode: models.SlotFull, Source: models.SlotSource{Kind: models.SlotNew}, Compact: true, CreatedAt: c.Now,
	})
	if err != nil {
		return "", err
	}
	if err := c.Tx.SwitchSlot(name.id); err != nil {
		return "", err
	}
	dropped, err := c.supersedeAll()
	if err != nil {
		return "", err
	}
	return withDropped(c.Lang, text.Say(c.Lang, text.NewSlot, name.shown()), dropped), nil
}

func reset(c *Call) (string, error) {
	slot := c.Tx.CurrentSlot()
	if err := c.Tx.Create(&c.Session); err != nil {
		return "", err
	}
	current, err := c.slots().Get(slot)
	if err != nil {
		return "", err
	}
	if current.Mode == models.SlotReadonly {
		return text.Say(c.Lang, text.SlotReadonly, slot), nil
	}
	dropped, err := c.supersedeAll()
	if err != nil {
		return "", err
	}
	observed := c.Place
	if c.Background != c.Session.Key {
		if observed, err = c.Tx.LastPlace(c.Background); err != nil {
			return "", err
		}
	}
	if err := c.Tx.Reset(slot, observed, c.Now); err != nil {
		return "", err
	}
	c.Emptied = slot
	return withDropped(c.Lang, text.Say(c.Lang, text.ResetDone, slot), dropped), nil
}

func withDropped(l text.Lang, answer string, dropped int) string {
	if dropped == 0 {
		return answer
	}
	return answer + "\n" + text.Say(l, text.ResetSuperseded, dropped)
}

// pending returns what was said before the command and has no outcome yet.
func (c *Call) pending() ([]*models.Inbound, error) {
	pending, err := c.Tx.Pending()
	return slices.DeleteFunc(pending, func(in *models.Inbound) bool { return in.Seq > c.Place }), err
}

// Ending is what ends of a session's messages when its current slot begins anew:
// everything but summaries of other slots.
func Ending(pending []*models.Inbound, current string) []*models.Inbound {
	return slices.DeleteFunc(pending, func(in *models.Inbound) bool { return in.Deferred && in.Slot != current })
}

// supersedeAll ends everything that runs or waits in the session, but for summaries of
// other slots.
func (c *Call) supersedeAll() (int, error) {
	pending, err := c.pending()
	pending = Ending(pending, c.Tx.CurrentSlot())
	if err != nil || len(pending) == 0 {
		return 0, err
	}
	return len(pending), c.end(pending, store.Outcome{State: models.InboundSuperseded, Code: models.CodeSuperseded})
}

func (c *Call) end(messages []*models.Inbound, o store.Outcome) error {
	ids := make([]string, len(messages))
	for i, in := range messages {
		ids[i] = in.ID
		in.State, in.Code, in.Error = o.State, o.Code, o.Error
	}
	c.Ended = messages
	return c.Tx.Finish(ids, o, c.Now)
}

// isSenders reports whether a message is the command's sender's. Ids of people mean
// something in their own account only.
func (c *Call) isSenders(in *models.Inbound) bool {
	return in.Channel == c.Channel && in.Account == c.Account && in.SenderID == c.SenderID
}

// stop ends what the sender has running and waiting; for an administrator, and for
// whom the session belongs to alone, all of it.
func stop(c *Call) (string, error) {
	pending, err := c.pending()
	if err != nil {
		return "", err
	}
	var mine []*models.Inbound
	for _, in := range pending {
		if c.Admin || !c.Shared || c.isSenders(in) {
			mine = append(mine, in)
		}
	}
	if c.StopSummary = c.Admin || !c.Shared; c.StopSummary {
		if err := c.Tx.StopSummaries(); err != nil { // also those that nobody asked for
			return "", err
		}
	}
	if len(mine) > 0 {
		if err := c.end(mine, store.Outcome{State: models.InboundCancelled, Code: models.CodeCancelled}); err != nil {
			return "", err
		}
	}
	switch summaries := slices.ContainsFunc(mine, func(in *models.Inbound) bool { return in.Deferred }); {
	case summaries && len(mine) == 1, len(mine) == 0 && c.StopSummary && c.Summary.Running:
		return text.Say(c.Lang, text.CompactStopped), nil
	case len(mine) == 0:
		return text.Say(c.Lang, text.NothingToStop), nil
	}
	return text.Say(c.Lang, text.Stopped, len(mine)), nil
}

func retry(c *Call) (string, error) {
	last, err := c.Tx.LastRetryable(c.Channel, c.Account, c.SenderID)
	if errors.Is(err, store.ErrNotFound) {
		return text.Say(c.Lang, text.NothingToRetry), nil
	}
	if err != nil {
		return "", err
	}
	if last.Code == models.CodeRateLimited && c.Now.Sub(last.ReceivedAt) < limit.Window && !c.Admin {
		return text.Say(c.Lang, text.RetryLater), nil // else the rate would be none
	}
	if err := c.Tx.Requeue(last.ID, c.Now); err != nil {
		return "", err
	}
	c.Requeued = last.ID
	return text.Say(c.Lang, text.RetryQueued), nil
}

// undo sets the last turn aside: the sender's own, for an administrator anybody's.
func undo(c *Call) (string, error) {
	slot := c.Tx.CurrentSlot()
	if c.Shared && !c.Admin {
		last, err := c.Tx.LastTurn(slot)
		switch {
		case errors.Is(err, store.ErrNotFound):
			return text.Say(c.Lang, text.NothingToUndo), nil
		case err != nil:
			return "", err
		case len(last) == 0 || slices.ContainsFunc(last, func(in *models.Inbound) bool { return !c.isSenders(in) }):
			return text.Say(c.Lang, text.NeedsAdmin), nil
		}
	}
	err := c.Tx.UndoTurn(slot, c.Now)
	if errors.Is(err, store.ErrNotFound) {
		return text.Say(c.Lang, text.NothingToUndo), nil
	}
	if err != nil {
		return "", err
	}
	return text.Say(c.Lang, text.UndoDone), nil
}

func status(c *Call) (string, error) {
	s, err := c.Tx.Session()
	if errors.Is(err, store.ErrNotFound) {
		return text.Say(c.Lang, text.StatusNoSession, c.Session.AgentID), nil
	}
	if err != nil {
		return "", err
	}
	pending, err := c.Tx.Pending()
	if err != nil {
		return "", err
	}
	running := 0
	for _, in := range pending {
		if in.State == models.InboundRunning {
			running++
		}
	}
	slots, err := c.slots().All()
	if err != nil {
		return "", err
	}
	current := &models.ContextSlot{ID: s.CurrentSlot}
	for _, one := range slots {
		if one.Current {
			current = one
		}
	}
	return text.Say(c.Lang, text.StatusText, s.AgentID, cmp.Or(s.Model, c.ownModel()), slotTitle(current), current.MessageCount, current.TotalTokens,
		running, len(pending)-running, stateName(c.Lang, s.State)), nil
}

// stateName is what people call a state of a session.
func stateName(l text.Lang, state models.SessionState) string {
	switch state {
	case models.SessionActive:
		return text.Say(l, text.StateActive)
	case models.SessionIdle:
		return text.Say(l, text.StateIdle)
	case models.SessionCompacted:
		return text.Say(l, text.StateCompacted)
	case models.SessionArchived:
		return text.Say(l, text.StateArchived)
	}
	return string(state)
}

func whoami(c *Call) (string, error) {
	role := text.RoleOfUser
	if c.Admin {
		role = text.RoleOfAdmin
	}
	return text.Say(c.Lang, text.WhoAmI, c.Channel, c.Account, c.SenderID, text.Say(c.Lang, role), c.ChatID, c.Session.Key), nil
}
