package dingtalk

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/chatkeep/chatkeep/internal/clock"
)

// Channel is the name of the platform in session keys.
const Channel = "dingtalk"

// The platform's own addresses.
const (
	DefaultBaseURL     = "https://api.dingtalk.com"
	DefaultOAPIBaseURL = "https://oapi.dingtalk.com"
)

// Mode is how messages come in. The console of the robot fixes it.
type Mode string

// The modes.
const (
	ModeStream  Mode = "stream"  // a WebSocket connection that we open
	ModeWebhook Mode = "webhook" // POST to our URL
)

// Config is one robot.
type Config struct {
	Account string
	Mode    Mode // empty: ModeStream
	// ClientID and ClientSecret are the app's credentials (AppKey and AppSecret).
	ClientID, ClientSecret string
	// RobotCode names the robot in OpenAPI calls; empty: ClientID, which is what it
	// is for robots of internal apps.
	RobotCode string
	// BaseURL is the OpenAPI and OAPIBaseURL the older API, without a trailing
	// slash; empty: the platform's own. Session webhooks are called only on scheme,
	// host and port of these two.
	BaseURL, OAPIBaseURL string
	// CardTemplateID is the published AI card template; empty: no streaming.
	CardTemplateID string
	// CardContentKey is the template's streaming Markdown variable; empty: "content".
	CardContentKey string
	// NoStreaming turns AI cards off although there is a template.
	NoStreaming bool
	// WorkingSign shows the thinking emotion on a message while its answer is made.
	WorkingSign bool
	// Timing are the waits of the connections; zero fields get the defaults.
	Timing Timing
}

// Timing are the waits of the connections.
type Timing struct {
	// Ping is how often a stream connection is pinged; zero: 25 s.
	Ping time.Duration
	// Silence ends a stream connection on which nothing came, pongs included, for
	// so long; zero: 90 s. Less than 60 s takes quiet connections for dead ones.
	Silence time.Duration
	// ReconnectMin and ReconnectMax bound the jittered wait between attempts to
	// connect, which doubles from one to the other; zero: 1 s and 60 s.
	ReconnectMin, ReconnectMax time.Duration
	// Retire is how long a replaced stream connection is still read, for what was
	// under way on it; zero: 10 s, after which the platform closes it.
	Retire time.Duration
	// Request bounds one HTTP request, uploads excepted; zero: 10 s.
	Request time.Duration
	// Transfer bounds one upload or download; zero: 60 s.
	Transfer time.Duration
	// Accept bounds one call of the sink; zero: 10 s.
	Accept time.Duration
	// CardPace is the least time between two updates of a card; zero: 1 s.
	CardPace time.Duration
}

// Deps are what the adapter needs from the program. Nil fields get defaults.
type Deps struct {
	Clock  clock.Clock
	Logger *slog.Logger
	// API makes requests to the platform itself. Redirects are never followed.
	API *http.Client
	// Downloads fetches addresses that the platform or an agent names; it should
	// refuse private ones.
	Downloads *http.Client
}

func (c Config) withDefaults() Config {
	orDefault(&c.Mode, ModeStream)
	orDefault(&c.RobotCode, c.ClientID)
	orDefault(&c.BaseURL, DefaultBaseURL)
	orDefault(&c.OAPIBaseURL, DefaultOAPIBaseURL)
	c.BaseURL = strings.TrimRight(c.BaseURL, "/")
	c.OAPIBaseURL = strings.TrimRight(c.OAPIBaseURL, "/")
	orDefault(&c.CardContentKey, "content")
	t := &c.Timing
	orDefault(&t.Ping, 25*time.Second)
	orDefault(&t.Silence, 90*time.Second)
	orDefault(&t.ReconnectMin, time.Second)
	orDefault(&t.ReconnectMax, max(60*time.Second, t.ReconnectMin))
	orDefault(&t.Retire, 10*time.Second)
	orDefault(&t.Request, 10*time.Second)
	orDefault(&t.Transfer, 60*time.Second)
	orDefault(&t.Accept, 10*time.Second)
	orDefault(&t.CardPace, time.Second)
	return c
}

func orDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

func (c Config) validate() error {
	var problems []error
	problem := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }
	if c.Account == "" {
		problem("account is empty")
	}
	if c.Mode != ModeStream && c.Mode != ModeWebhook {
		problem("mode %q is neither %s nor %s", c.Mode, ModeStream, ModeWebhook)
	}
	if c.ClientID == "" {
		problem("clientId is empty")
	}
	if c.ClientSecret == "" {
		problem("clientSecret is empty")
	}
	for name, address := range map[string]string{"baseUrl": c.BaseURL, "oapiBaseUrl": c.OAPIBaseURL} {
		if u, err := url.Parse(address); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			problem("%s is not an http or https URL", name)
		}
	}
	if c.Timing.ReconnectMax < c.Timing.ReconnectMin {
		problem("the longest wait between attempts to connect is below the shortest")
	}
	if len(problems) == 0 {
		return nil
	}
	return fmt.Errorf("dingtalk: account %s: %w", c.Account, errors.Join(problems...))
}

// streams reports whether answers are shown in AI cards.
func (c Config) streams() bool { return c.CardTemplateID != "" && !c.NoStreaming }
