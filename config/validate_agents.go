package config

import (
	"fmt"
	"slices"
	"strings"
)

func (k *checker) agents() {
	if len(k.config.Agents) == 0 {
		k.fail("agents", "needs at least one agent: add one, or remove the key to keep the built-in echo agent")
	}
	seen := names{}
	for i, a := range k.config.Agents {
		path := at("agents", i)
		k.name(seen, path+".id", a.ID)
		k.agentKind(path, a)
		if a.ContextWindow == 0 {
			k.fail(path+".contextWindow", "must be the model's window in tokens, such as 128000")
		}
		for _, name := range sortedNames(a.Headers) {
			if !isHeaderName(name) {
				k.fail(path+".headers", "%q is no HTTP header name: use letters, digits and hyphens", clip(name))
			}
		}
		k.tools(path+".tools", a.Tools)
		for j, chat := range a.SendTo {
			k.chat(at(path+".sendTo", j), chat)
		}
		k.patterns(func(i int) string { return at(path+".approve", i) }, a.Approve)
		k.modelNames(func(i int) string { return at(path+".models", i) }, a.Models)
		for j, id := range a.Fallbacks {
			k.agent(at(path+".fallbacks", j), id)
		}
	}
	k.fallbackCycles()
}

// agentKind checks the keys that a kind needs, and that none of another kind
// is there, where it would do nothing.
func (k *checker) agentKind(path string, a Agent) {
	foreign := func(key string, given bool, owner AgentKind, hint string) {
		if given && a.Kind != owner && slices.Contains(a.Kind.values(), string(a.Kind)) {
			k.fail(path+"."+key, "belongs to agents of kind %s: %s", owner, hint)
		}
	}
	foreign("url", a.URL != "", AgentWebhook, "use baseUrl, or remove it")
	foreign("secret", a.Secret != "", AgentWebhook, "use apiKey, or remove it")
	foreign("delay", a.Delay != 0, AgentEcho, "remove it")
	foreign("chunkSize", a.ChunkSize != 0, AgentEcho, "remove it")
	switch a.Kind {
	case AgentOpenAI:
		k.url(path+".baseUrl", a.BaseURL, "write the provider's address, such as https://api.deepseek.com/v1")
		k.required(path+".model", a.Model, "name the model, such as deepseek-chat")
	case AgentWebhook:
		k.url(path+".url", a.URL, "write the address of your service")
	}
}

// isHeaderName follows the token of RFC 9110 section 5.6.2.
func isHeaderName(name string) bool {
	for _, r := range name {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		if !letter && !strings.ContainsRune("!#$%&'*+-.^_`|~", r) {
			return false
		}
	}
	return name != ""
}

func (k *checker) tools(path string, tools []string) {
	known := BuiltinTools()
	for _, s := range k.config.MCPServers {
		known = append(known, s.Name)
	}
	for i, tool := range tools {
		if !slices.Contains(known, tool) {
			k.fail(at(path, i), "no tool or MCP server %q: %s", clip(tool), didYouMean(tool, known))
		}
	}
}

// chat checks the name of a chat: channel/account/chatId.
func (k *checker) chat(path, name string) {
	parts := strings.SplitN(name, "/", 3)
	if len(parts) != 3 || parts[2] == "" {
		k.fail(path, "must be channel/account/chatId, such as feishu/main/oc_abc, not %q", clip(name))
		return
	}
	k.foreignID(path, parts[2])
	switch found, accounts := k.config.account(parts[0], parts[1]); {
	case !slices.Contains(channelNames(), parts[0]):
		k.fail(path, "%s", wrongWord(parts[0], channelNames()))
	case !found:
		k.fail(path, "%s has no account %q: %s", parts[0], clip(parts[1]), didYouMean(parts[1], accounts))
	}
}

// fallbackCycles reports each circle of fallbacks once, at its first agent.
func (k *checker) fallbackCycles() {
	fallbacks := map[string][]string{}
	for _, a := range k.config.Agents {
		fallbacks[a.ID] = a.Fallbacks
	}
	done := map[string]bool{}
	var trail []string
	var visit func(id string)
	visit = func(id string) {
		if i := slices.Index(trail, id); i >= 0 {
			circle := append(slices.Clone(trail[i:]), id)
			first := slices.IndexFunc(k.config.Agents, func(a Agent) bool { return a.ID == id })
			k.fail(fmt.Sprintf("agents[%d].fallbacks", first), "go in a circle (%s): remove one of them", strings.Join(circle, " → "))
			return
		}
		if done[id] {
			return
		}
		trail = append(trail, id)
		for _, next := range fallbacks[id] {
			visit(next)
		}
		trail = trail[:len(trail)-1]
		done[id] = true
	}
	for _, a := range k.config.Agents {
		visit(a.ID)
	}
}

func (k *checker) mcpServers() {
	seen := names{}
	for i, s := range k.config.MCPServers {
		path := at("mcpServers", i)
		k.name(seen, path+".name", s.Name)
		if slices.Contains(BuiltinTools(), s.Name) {
			k.fail(path+".name", "%q is a built-in tool: choose another name", s.Name)
		}
		for _, name := range sortedNames(s.Headers) {
			if !isHeaderName(name) {
				k.fail(path+".headers", "%q is no HTTP header name: use letters, digits and hyphens", clip(name))
			}
		}
		for _, name := range sortedNames(s.Env) {
			if name == "" || strings.ContainsAny(name, "= \x00") {
				k.fail(path+".env", "%q is no name of a variable", clip(name))
			}
		}
		if s.Timeout == 0 {
			k.fail(path+".timeout", "must not be 0: a tool may hang")
		}
		switch command := len(s.Command) > 0; {
		case command && s.URL != "":
			k.fail(path, "has both command and url: keep one")
		case command:
			k.required(at(path+".command", 0), s.Command[0], "name the program")
			if len(s.Headers) > 0 {
				k.fail(path+".headers", "belong to a url: use env, or remove them")
			}
		case s.URL != "":
			k.url(path+".url", s.URL, "")
			if len(s.Env) > 0 {
				k.fail(path+".env", "belongs to a command: use headers, or remove it")
			}
		default:
			k.fail(path, "needs command (a list) or url")
		}
	}
}
