package config

import (
	"strings"
	"testing"
)

func TestEnvironmentSetsKeys(t *testing.T) {
	tests := []struct {
		name string
		env  []string
		got  func(*Config) string
		want string
	}{
		{"a key", []string{"CHATKEEP_SERVER_LISTEN=127.0.0.1:1"}, func(c *Config) string { return c.Server.Listen }, "127.0.0.1:1"},
		{"top level", []string{"CHATKEEP_TIMEZONE=UTC"}, func(c *Config) string { return c.Timezone }, "UTC"},
		{"in one word", []string{"CHATKEEP_SERVER_ADMINTOKEN=t"}, func(c *Config) string { return c.Server.AdminToken.Reveal() }, "t"},
		{"in words", []string{"CHATKEEP_SERVER_ADMIN_TOKEN=t"}, func(c *Config) string { return c.Server.AdminToken.Reveal() }, "t"},
		{"both the same", []string{"CHATKEEP_SERVER_ADMIN_TOKEN=t", "CHATKEEP_SERVER_ADMINTOKEN=t"}, func(c *Config) string { return c.Server.AdminToken.Reveal() }, "t"},
		{"nested", []string{"CHATKEEP_SESSION_PRUNING_KEEP_RECENT_COUNT=7"}, func(c *Config) string { return strings.Repeat("x", c.Session.Pruning.KeepRecentCount) }, "xxxxxxx"},
		{"a duration", []string{"CHATKEEP_STORAGE_LEASE=2s"}, func(c *Config) string { return c.Storage.Lease.String() }, "2s"},
		{"a list", []string{"CHATKEEP_SERVER_TRUSTED_PROXIES=10.0.0.0/8, ::1,"}, func(c *Config) string { return strings.Join(c.Server.TrustedProxies, "|") }, "10.0.0.0/8|::1"},
		{"taken as it is", []string{"CHATKEEP_SERVER_ADMIN_TOKEN=${HOME}"}, func(c *Config) string { return c.Server.AdminToken.Reveal() }, "${HOME}"},
		{"empty is not set", []string{"CHATKEEP_SERVER_LISTEN="}, func(c *Config) string { return c.Server.Listen }, "127.0.0.1:8080"},
		{"an equals sign", []string{"CHATKEEP_STORAGE_DSN=a=b"}, func(c *Config) string { return c.Storage.DSN.Reveal() }, "a=b"},
		{"over the file's other form", []string{"CHATKEEP_STORAGE_DSN=x.db", "DSN_FILE=/does/not/exist"}, func(c *Config) string { return c.Storage.DSN.Reveal() }, "x.db"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			document := ""
			if len(test.env) == 2 && strings.HasPrefix(test.env[1], "DSN_FILE") {
				document = "storage: {dsnFile: '${DSN_FILE}'}"
			}
			if got := test.got(load(t, document, test.env...)); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestEnvironmentMistakes(t *testing.T) {
	tests := []struct {
		name, want string
		env        []string
	}{
		{"unknown", "CHATKEEP_SERVER_LISTN: sets no key: did you mean CHATKEEP_SERVER_LISTEN?", []string{"CHATKEEP_SERVER_LISTN=x"}},
		{"far off", "CHATKEEP_SERVER_XYZZY_QUUX_PLUGH: sets no key: remove it", []string{"CHATKEEP_SERVER_XYZZY_QUUX_PLUGH=x"}},
		{"in a list", "CHATKEEP_AGENTS_0_API_KEY: agents: cannot be set from the environment: write it in the file, where ${NAME} takes a value from a variable", []string{"CHATKEEP_AGENTS_0_API_KEY=x"}},
		{"in a list, in words", "CHATKEEP_MCP_SERVERS_0_URL: mcpServers: cannot be set from the environment: write it in the file, where ${NAME} takes a value from a variable", []string{"CHATKEEP_MCP_SERVERS_0_URL=x"}},
		{"two spellings", "CHATKEEP_SERVER_ADMIN_TOKEN: server.adminToken: differs from CHATKEEP_SERVER_ADMINTOKEN, which sets the same: keep one", []string{"CHATKEEP_SERVER_ADMIN_TOKEN=a", "CHATKEEP_SERVER_ADMINTOKEN=b"}},
		{"two forms", "CHATKEEP_SERVER_ADMIN_TOKEN: server.adminToken: is given here and by CHATKEEP_SERVER_ADMIN_TOKEN_FILE: keep one", []string{"CHATKEEP_SERVER_ADMIN_TOKEN=a", "CHATKEEP_SERVER_ADMIN_TOKEN_FILE=/b"}},
		{"type", `CHATKEEP_LIMITS_WORKERS: limits.workers: needs a whole number, not "many"`, []string{"CHATKEEP_LIMITS_WORKERS=many"}},
		{"rule", "CHATKEEP_LIMITS_WORKERS: limits.workers: must not be negative", []string{"CHATKEEP_LIMITS_WORKERS=-1"}},
		{"word", `CHATKEEP_LOG_LEVEL: log.level: must be one of debug, info, warn, error, not "wran": did you mean "warn"?`, []string{"CHATKEEP_LOG_LEVEL=wran"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := refuse(t, "", test.env...); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

func TestEnvironmentOfOthersIsLeftAlone(t *testing.T) {
	load(t, "",
		"CHATKEEP_CLI_NAMESPACE=x", "CHATKEEP_CONFIG=/etc/chatkeep.yaml", "CHATKEEP_TEST_MYSQL_DSN=root@tcp(x)/",
		"CHATKEEP_SERVICE_HOST=10.0.0.1", "CHATKEEP_SERVER_SERVICE_HOST=10.0.0.1", "CHATKEEP_SERVER_SERVICE_PORT_HTTP=80",
		"CHATKEEP_SERVER_PORT=tcp://10.0.0.1:80", "CHATKEEP_SERVER_PORT_80_TCP_ADDR=10.0.0.1",
		"SERVER_LISTEN=x", "=odd", "odd", "PATH=/bin")
}

// Two keys of one spelling could not be told apart.
func TestEveryVariableSetsOneKey(t *testing.T) {
	owner := map[string]string{}
	for _, s := range settings() {
		for _, name := range s.names() {
			if other := owner[name]; other != "" {
				t.Errorf("%s sets both %s and %s", name, other, s.path)
			}
			owner[name] = s.path
		}
	}
	for name, path := range map[string]string{
		"CHATKEEP_SERVER_LISTEN":                       "server.listen",
		"CHATKEEP_LIMITS_MESSAGES_PER_MINUTE_PER_USER": "limits.messagesPerMinutePerUser",
		"CHATKEEP_STORAGE_DSN_FILE":                    "storage.dsnFile",
		"CHATKEEP_EGRESS_ALLOWPRIVATE":                 "egress.allowPrivate",
	} {
		if owner[name] != path {
			t.Errorf("%s sets %q, want %s", name, owner[name], path)
		}
	}
}
