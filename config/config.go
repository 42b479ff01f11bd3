package config

// Config is the whole configuration file. Keys are the json tags.
type Config struct {
	// Timezone is an IANA name, UTC or Local: the days of budgets, the default
	// zone of tasks and the zone of log times.
	Timezone   string              `json:"timezone"`
	Server     Server              `json:"server"`
	Storage    Storage             `json:"storage"`
	Agents     []Agent             `json:"agents"`
	MCPServers []MCPServer         `json:"mcpServers"`
	Approvals  Approvals           `json:"approvals"`
	Commands   Commands            `json:"commands"`
	Roles      Roles               `json:"roles"`
	Channels   Channels            `json:"channels"`
	Identities map[string][]string `json:"identities"`
	Session    Session             `json:"session"`
	Lifecycle  Lifecycle           `json:"lifecycle"`
	Tasks      []Task              `json:"tasks"`
	Limits     Limits              `json:"limits"`
	Retention  Retention           `json:"retention"`
	Egress     Egress              `json:"egress"`
	Log        Log                 `json:"log"`
	Tracing    Tracing             `json:"tracing"`
}

// Names of the parts that exist without a file, and of the agent an account
// takes when it names none.
const (
	BuiltinAgent   = "assistant"
	BuiltinAccount = "default"
)

// Default returns what runs without any file: an echo agent, one API account,
// SQLite, everything on loopback. It is valid as it is.
func Default() *Config {
	agent := DefaultAgent()
	agent.ID, agent.Kind = BuiltinAgent, AgentEcho
	api := DefaultAPIAccount()
	api.Account = BuiltinAccount

	c := &Config{
		Timezone:   "Local",
		Server:     defaultServer(),
		Storage:    defaultStorage(),
		Agents:     []Agent{agent},
		MCPServers: []MCPServer{},
		Approvals:  defaultApprovals(),
		Channels:   Channels{Feishu: []FeishuChannel{}, DingTalk: []DingTalkChannel{}, API: []APIAccount{api}},
		Identities: map[string][]string{},
		Session:    defaultSession(),
		Lifecycle:  defaultLifecycle(),
		Tasks:      []Task{},
		Limits:     defaultLimits(),
		Retention:  defaultRetention(),
		Egress:     Egress{AllowPrivate: []string{}},
		Tracing:    Tracing{PassTo: []string{}},
		Log:        Log{Level: LogInfo, Format: LogText},
	}
	c.fill()
	return c
}

// fill sets the values that follow from others, after all layers are in.
func (c *Config) fill() {
	c.Storage.fill()
	agent := c.implicitAgent()
	for i := range c.Channels.Feishu {
		setIfEmpty(&c.Channels.Feishu[i].Agent, agent)
	}
	for i := range c.Channels.DingTalk {
		setIfEmpty(&c.Channels.DingTalk[i].Agent, agent)
		setIfEmpty(&c.Channels.DingTalk[i].RobotCode, c.Channels.DingTalk[i].ClientID)
	}
	for i := range c.Channels.API {
		setIfEmpty(&c.Channels.API[i].Agent, agent)
	}
	for i := range c.Session.Slots {
		setIfEmpty(&c.Session.Slots[i].Agent, agent)
	}
	for i := range c.Tasks {
		setIfEmpty(&c.Tasks[i].Agent, agent)
		setIfEmpty(&c.Tasks[i].Timezone, c.Timezone)
	}
}

// implicitAgent is the agent of whatever names none: the one with the built-in
// name, else the first.
func (c *Config) implicitAgent() string {
	for _, a := range c.Agents {
		if a.ID == BuiltinAgent {
			return a.ID
		}
	}
	if len(c.Agents) > 0 {
		return c.Agents[0].ID
	}
	return BuiltinAgent
}

func setIfEmpty(dst *string, value string) {
	if *dst == "" {
		*dst = value
	}
}
