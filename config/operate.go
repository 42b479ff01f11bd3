package config

import "time"

// Limits bounds use; 0 is unlimited everywhere.
type Limits struct {
	MessagesPerMinutePerUser int `json:"messagesPerMinutePerUser"`
	// TurnsPerUser bounds the turns of one person that run at once; others wait.
	TurnsPerUser int `json:"turnsPerUser"`
	// Tokens of a day in [Config].Timezone, prompts and answers together.
	TokensPerDayPerUser    int64 `json:"tokensPerDayPerUser"`
	TokensPerDayPerSession int64 `json:"tokensPerDayPerSession"`
	TokensPerDayPerChat    int64 `json:"tokensPerDayPerChat"`
	TokensPerDayPerAgent   int64 `json:"tokensPerDayPerAgent"`
	TokensPerDayPerTask    int64 `json:"tokensPerDayPerTask"`
	// Exempt are people whom no limit stops: channel/account/id, * for anything.
	Exempt []string `json:"exempt"`
	// Words are lists of words that are masked or refused.
	Words           []WordList `json:"words"`
	MaxInboundBytes int64      `json:"maxInboundBytes"`
	// MaxInboundAge: an older message is context only, not answered.
	MaxInboundAge Duration `json:"maxInboundAge"`
	// MaxDeliveryAge: an older answer is reported to the operator, not sent.
	MaxDeliveryAge Duration `json:"maxDeliveryAge"`
	// Workers bounds concurrent turns; 0: 64 per CPU, at least 128.
	Workers int `json:"workers"`
}

func defaultLimits() Limits {
	return Limits{
		Exempt: []string{}, Words: []WordList{},
		MaxInboundBytes: 1 << 20,
		MaxInboundAge:   Duration(10 * time.Minute),
		MaxDeliveryAge:  Duration(2 * time.Hour),
	}
}

// Retention is how long finished things are kept; 0s keeps them for ever.
type Retention struct {
	Inbound       Duration `json:"inbound"`
	Deliveries    Duration `json:"deliveries"`
	Deduplication Duration `json:"deduplication"`
	Resets        Duration `json:"resets"`
	// Usage is how long the totals of a day are kept.
	Usage Duration `json:"usage"`
}

func defaultRetention() Retention {
	return Retention{
		Inbound:       Duration(168 * time.Hour),
		Deliveries:    Duration(168 * time.Hour),
		Deduplication: Duration(24 * time.Hour),
		Resets:        Duration(168 * time.Hour),
		Usage:         Duration(2160 * time.Hour),
	}
}

// Egress lists what fetched URLs may reach though it is private.
type Egress struct {
	AllowPrivate []string `json:"allowPrivate"` // hosts, addresses or CIDRs
}

// LogLevel is the least level that is logged.
type LogLevel string

// The log levels.
const (
	LogDebug LogLevel = "debug"
	LogInfo  LogLevel = "info"
	LogWarn  LogLevel = "warn"
	LogError LogLevel = "error"
)

func (LogLevel) values() []string { return []string{"debug", "info", "warn", "error"} }

// LogFormat is the form of log lines.
type LogFormat string

// The log formats.
const (
	LogText LogFormat = "text"
	LogJSON LogFormat = "json"
)

func (LogFormat) values() []string { return []string{"text", "json"} }

// Log is the program's own log.
type Log struct {
	Level  LogLevel  `json:"level"`
	Format LogFormat `json:"format"`
}

// Tracing sends OpenTelemetry traces.
type Tracing struct {
	Endpoint URL      `json:"endpoint"` // of an OTLP/HTTP receiver; empty: off
	PassTo   []string `json:"passTo"`   // hosts of models and tools' servers that continue a trace
}
