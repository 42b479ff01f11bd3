package prune

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/chatkeep/chatkeep/internal/tokens"
	"github.com/chatkeep/chatkeep/models"
)

type planner struct {
	in     Input
	groups []group
	forms  []Form // of each message; Not: as it is
	why    []Why  // of decisions that are new
}

// group is a message with tool calls and its results: messages[call:end].
type group struct{ call, end int }

func newPlanner(in Input) *planner {
	p := &planner{in: in, forms: make([]Form, len(in.Messages)), why: make([]Why, len(in.Messages))}
	for i, m := range in.Messages {
		if m == nil {
			continue
		}
		if m.Seq > 0 {
			p.forms[i] = in.Forms[m.Seq]
		}
		if m.Role != models.RoleAssistant || len(m.ToolCalls) == 0 {
			continue
		}
		g := group{i, i + 1}
		for g.end < len(in.Messages) && in.Messages[g.end] != nil && in.Messages[g.end].Role == models.RoleTool {
			g.end++
		}
		p.groups = append(p.groups, g)
	}
	return p
}

// decides reports whether this is the time to decide: on results and arguments, or
// on which groups are sent at all.
func (p *planner) decides(results bool) bool {
	s := p.in.Settings
	switch {
	case !p.in.Ahead && !s.Enabled:
		return false
	case s.Mode == ModeCacheTTL:
		return p.in.Cold
	}
	return p.in.Ahead || s.Mode == ModeSoft || !results
}

func (p *planner) decide(i int, f Form, why Why) { p.forms[i], p.why[i] = f, why }

func (p *planner) omitted(g group) bool { return p.forms[g.call].Pruned == Omitted }

// limitGroups leaves out all but the newest groups.
func (p *planner) limitGroups() {
	keep, why := p.in.Settings.groups(), WhyToolCalls
	if keep == 0 {
		why = WhyToolCallsUnset
	}
	for _, g := range slices.Backward(p.groups) {
		switch {
		case p.omitted(g):
		case keep > 0:
			keep--
		default:
			p.decide(g.call, Form{Pruned: Omitted}, why)
		}
	}
}

// recent is the place of the first message that is not old.
func (p *planner) recent() int {
	i, n := len(p.in.Messages), 0
	for ; i > 0 && n < p.in.Settings.KeepRecent; i-- {
		if m := p.in.Messages[i-1]; m != nil && m.Role != models.RoleSystem {
			n++
		}
	}
	return i
}

// old yields the places of old messages that are sent and not yet decided on.
func (p *planner) old(yield func(i int)) {
	recent := p.recent()
	for _, g := range p.groups {
		if p.omitted(g) {
			continue
		}
		for i := g.call; i < min(g.end, recent); i++ {
			if p.forms[i].Pruned == Not || p.why[i] != "" {
				yield(i)
			}
		}
	}
}

// shorten shortens arguments, and shortens or clears results.
func (p *planner) shorten() {
	limit := p.in.Settings.MaxResultSize
	p.old(func(i int) {
		m := p.in.Messages[i]
		switch {
		case m.Role == models.RoleAssistant:
			if f, ok := softArguments(m, limit); ok {
				p.decide(i, f, WhyLongArguments)
			}
		case p.in.Settings.Mode == ModeHard:
			if f, ok := hardResult(m); ok {
				p.decide(i, f, WhyOldResult)
			}
		default:
			if f, ok := softResult(m, limit); ok {
				p.decide(i, f, WhyLongResult)
			}
		}
	})
}

// clear clears results, the oldest first, while there is too much of everything.
func (p *planner) clear() {
	if p.in.Room <= 0 {
		return
	}
	total := 0
	for _, s := range p.plan().Shown {
		total += p.size(s)
	}
	p.old(func(i int) {
		m := p.in.Messages[i]
		if total <= p.in.Room || m.Role != models.RoleTool {
			return
		}
		f, ok := hardResult(m)
		saved := p.size(p.shown(i)) - p.size(show(m, f))
		if ok && saved > 0 {
			p.decide(i, f, WhyHalfWindow)
			total -= saved
		}
	})
}

func (p *planner) size(s Shown) int {
	if s.Pruned == Not && s.Stored.TokenCount > 0 {
		return s.Stored.TokenCount
	}
	return tokens.Message(s.Message, p.in.Count)
}

func (p *planner) shown(i int) Shown { return show(p.in.Messages[i], p.forms[i]) }

func show(m *models.SessionMessage, f Form) Shown {
	s := Shown{Stored: m, Message: m.Clone(), Pruned: f.Pruned}
	if f.Pruned == Not {
		return s
	}
	f.Apply(s.Message)
	if f.Pruned == Omitted {
		s.Pruned = Hard // what is left of it
	}
	return s
}

// plan puts together what was decided.
func (p *planner) plan() (out Plan) {
	next := 0 // the next group
	for i := 0; i < len(p.in.Messages); i++ {
		m := p.in.Messages[i]
		if m == nil {
			continue
		}
		if p.why[i] != "" && m.Seq > 0 {
			out.Fresh = append(out.Fresh, p.decision(i))
		}
		if next == len(p.groups) || p.groups[next].call != i {
			out.Shown = append(out.Shown, p.shown(i))
			continue
		}
		g := p.groups[next]
		next++
		if !p.omitted(g) {
			out.Shown = append(out.Shown, p.shown(i))
			continue
		}
		if strings.TrimSpace(m.Content) != "" {
			out.Shown = append(out.Shown, p.shown(i))
		} else {
			out.Left = append(out.Left, m)
		}
		out.Left = append(out.Left, p.in.Messages[g.call+1:g.end]...)
		i = g.end - 1
	}
	return out
}

func (p *planner) decision(i int) Decision {
	m, f := p.in.Messages[i], p.forms[i]
	d := Decision{Seq: m.Seq, Role: m.Role, Form: f, Why: p.why[i]}
	after := p.shown(i).Message
	if m.Role == models.RoleTool {
		d.Size, d.Now = utf8.RuneCountInString(m.Content), utf8.RuneCountInString(after.Content)
		return d
	}
	for _, call := range m.ToolCalls {
		d.Size += utf8.RuneCountInString(call.Arguments)
	}
	for _, call := range after.ToolCalls {
		d.Now += utf8.RuneCountInString(call.Arguments)
	}
	return d
}
