package config

import (
	"reflect"
	"slices"
	"strings"
)

// reloadable lists the keys that a running server takes over; * is any one
// step, and what is below a listed key goes with it. Everything else needs a
// restart.
var reloadable = [...]string{
	"server.shutdownGrace",
	"agents.*.systemPrompt",
	"channels.*.*.scope",
	"channels.*.*.group",
	"channels.*.*.reply",
	"channels.*.*.access",
	"channels.*.*.language",
	"channels.*.*.systemPrompt",
	"channels.*.*.overrides.*.scope",
	"channels.*.*.overrides.*.group",
	"channels.*.*.overrides.*.reply",
	"channels.*.*.overrides.*.access",
	"channels.*.*.overrides.*.language",
	"channels.*.*.overrides.*.systemPrompt",
	"channels.api.*.allowScopes",
	"agents.*.models",
	"approvals",
	"commands",
	"roles",
	"identities",
	"session.maxMessages",
	"session.maxTokenCount",
	"session.ttl",
	"session.idleTimeout",
	"session.archiveAfter",
	"session.exportDir",
	"session.pruning",
	"session.compaction.enabled",
	"session.compaction.maxTokenCount",
	"session.compaction.triggerThreshold",
	"session.compaction.keepRecentCount",
	"session.compaction.minMessagesToCompact",
	"session.queue",
	"session.observed",
	"session.slots",
	"tasks",
	"lifecycle",
	"limits.messagesPerMinutePerUser",
	"limits.turnsPerUser",
	"limits.tokensPerDayPerUser",
	"limits.tokensPerDayPerSession",
	"limits.tokensPerDayPerChat",
	"limits.tokensPerDayPerAgent",
	"limits.tokensPerDayPerTask",
	"limits.exempt",
	"limits.words",
	"limits.maxInboundBytes",
	"limits.maxInboundAge",
	"limits.maxDeliveryAge",
	"retention",
	"log.level",
}

// Diff names the keys that differ between two configurations: those a running
// server can take over, and those that need a restart. Members of lists are
// named by their id, as in agents.assistant.systemPrompt; a member that came
// or went is named as a whole.
func Diff(running, next *Config) (safe, restart []string) {
	_, safe, restart = Merge(running, next)
	return safe, restart
}

// Merge is what a running server continues with after a reload: running with
// the safe changes of next. It modifies neither; see [Diff] for the names.
func Merge(running, next *Config) (merged *Config, safe, restart []string) {
	merged = copyOf(running, func(_ string, v reflect.Value) reflect.Value { return v })
	m := merger{}
	m.merge(nil, reflect.ValueOf(merged).Elem(), reflect.ValueOf(next).Elem())
	return merged, m.safe, m.restart
}

type merger struct{ safe, restart []string }

func (m *merger) merge(path []string, dst, src reflect.Value) {
	t := dst.Type()
	switch {
	case reflect.DeepEqual(dst.Interface(), src.Interface()):
	case isReloadable(path):
		m.safe = append(m.safe, strings.Join(path, "."))
		dst.Set(src)
	case t.Kind() == reflect.Struct && !isLeaf(t):
		for _, f := range fieldsOf(t) {
			m.merge(step(path, f.name), dst.FieldByIndex(f.index), src.FieldByIndex(f.index))
		}
	case t.Kind() == reflect.Slice && hasIdentity(t.Elem()):
		m.list(path, dst, src)
	case t == reflect.TypeFor[map[string]ChatOverride]():
		m.overrides(path, dst, src)
	default:
		m.restart = append(m.restart, strings.Join(path, "."))
	}
}

// list compares members of the same id.
func (m *merger) list(path []string, dst, src reflect.Value) {
	known := map[string]bool{}
	for i := range dst.Len() {
		id := identity(dst.Index(i))
		known[id] = true
		if j := indexOf(src, id); j >= 0 {
			m.merge(step(path, id), dst.Index(i), src.Index(j))
		} else {
			m.restart = append(m.restart, strings.Join(step(path, id), "."))
		}
	}
	for j := range src.Len() {
		if id := identity(src.Index(j)); !known[id] {
			m.restart = append(m.restart, strings.Join(step(path, id), "."))
		}
	}
}

// overrides compares the overrides of single chats; one that is not there is
// an empty one.
func (m *merger) overrides(path []string, dst, src reflect.Value) {
	old, _ := reflect.TypeAssert[map[string]ChatOverride](dst)
	fresh, _ := reflect.TypeAssert[map[string]ChatOverride](src)
	chats := map[string]bool{}
	for id := range old {
		chats[id] = true
	}
	for id := range fresh {
		chats[id] = true
	}
	merged := map[string]ChatOverride{}
	for _, id := range sortedNames(chats) {
		from, to := old[id], fresh[id]
		m.merge(step(path, id), reflect.ValueOf(&from).Elem(), reflect.ValueOf(&to).Elem())
		if from != (ChatOverride{}) {
			merged[id] = from
		}
	}
	dst.Set(reflect.ValueOf(merged))
}

func step(path []string, name string) []string { return append(slices.Clone(path), name) }

func isReloadable(path []string) bool {
	return slices.ContainsFunc(reloadable[:], func(pattern string) bool {
		steps := strings.Split(pattern, ".")
		if len(path) < len(steps) {
			return false
		}
		for i, s := range steps {
			if s != "*" && s != path[i] {
				return false
			}
		}
		return true
	})
}

// identity is what a list's members are told apart by.
func identity(v reflect.Value) string {
	for _, f := range fieldsOf(v.Type()) {
		if f.name == "id" || f.name == "account" || f.name == "name" {
			return v.FieldByIndex(f.index).String()
		}
	}
	return ""
}

func hasIdentity(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && slices.ContainsFunc(fieldsOf(t), func(f field) bool {
		return f.name == "id" || f.name == "account" || f.name == "name"
	})
}

func indexOf(list reflect.Value, id string) int {
	for i := range list.Len() {
		if identity(list.Index(i)) == id {
			return i
		}
	}
	return -1
}
