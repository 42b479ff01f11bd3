package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func writeSecret(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestEverySecretMayComeFromAFile(t *testing.T) {
	file := writeSecret(t, "s3cr3t\n")
	dsn := writeSecret(t, "u:p@tcp(h:1)/db\r\n")
	tokens := writeSecret(t, "one\n\n two \n")
	c := load(t, `
server: {adminTokenFile: '${F}'}
storage: {driver: mysql, dsnFile: '${DSN}'}
agents:
  - {id: a, kind: openai, model: m, baseUrl: http://x, apiKeyFile: '${F}'}
  - {id: b, kind: webhook, url: http://x, secretFile: '${F}'}
channels:
  feishu: [{account: m, mode: webhook, appId: x, appSecretFile: '${F}', verificationTokenFile: '${F}', encryptKeyFile: '${F}'}]
  dingtalk: [{account: m, clientId: x, clientSecretFile: '${F}'}]
  api: [{account: m, tokensFile: '${T}'}]
`, "F="+file, "DSN="+dsn, "T="+tokens)
	feishu := c.Channels.Feishu[0]
	for name, got := range map[string]Secret{
		"adminToken": c.Server.AdminToken, "apiKey": c.Agents[0].APIKey, "secret": c.Agents[1].Secret,
		"appSecret": feishu.AppSecret, "verificationToken": feishu.VerificationToken, "encryptKey": feishu.EncryptKey,
		"clientSecret": c.Channels.DingTalk[0].ClientSecret,
	} {
		if got.Reveal() != "s3cr3t" {
			t.Errorf("%s = %q", name, got.Reveal())
		}
	}
	if c.Storage.DSN.Reveal() != "u:p@tcp(h:1)/db" {
		t.Errorf("dsn = %q", c.Storage.DSN.Reveal())
	}
	if got := c.Channels.API[0].Tokens; len(got) != 2 || got[0].Reveal() != "one" || got[1].Reveal() != "two" {
		t.Errorf("tokens = %d", len(got))
	}
}

// Whatever is a Secret under a key of its own has the form xFile.
func TestEverySecretHasAFileForm(t *testing.T) {
	eachStruct(func(name string, fields []field) {
		for _, f := range fields {
			single := f.typ.Name() == "Secret" || f.typ.String() == "[]config.Secret" || f.typ.Name() == "DSN"
			if _, ok := fieldNamed(fields, f.name+fileSuffix); single && !ok {
				t.Errorf("%s.%s has no %sFile", name, f.name, f.name)
			}
		}
	})
}

func TestSecretFileMistakes(t *testing.T) {
	good, empty := writeSecret(t, "x"), writeSecret(t, "\n")
	large := writeSecret(t, strings.Repeat("x", maxSecretBytes+1))
	tests := []struct{ name, document, want string }{
		{"both", "server: {adminToken: x, adminTokenFile: " + good + "}", "server.adminTokenFile: is given beside server.adminToken: keep one"},
		{"both, the default's key", "storage: {dsn: ./data/chatkeep.db, dsnFile: " + good + "}", "storage.dsnFile: is given beside storage.dsn: keep one"},
		{"missing", "server: {listen: ':80', adminTokenFile: /no/such}\nchannels: {}", "server.adminTokenFile: cannot read /no/such: no such file or directory"},
		{"empty", "server: {adminTokenFile: " + empty + "}", "server.adminTokenFile: " + empty + " is empty: write the secret into it"},
		{"large", "server: {adminTokenFile: " + large + "}", "server.adminTokenFile: " + large + " is larger than 64 KiB: name the right file"},
		{"device", "server: {adminTokenFile: /dev/zero}", "server.adminTokenFile: cannot read /dev/zero: name a regular file"},
		{"directory", "storage: {driver: mysql, dsnFile: /}", "storage.dsnFile: cannot read /: name a regular file"},
		{"tokens", "channels: {api: [{account: a, tokens: [], tokensFile: " + good + "}]}", "channels.api[0].tokensFile: is given beside channels.api[0].tokens: keep one"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got, want := refuse(t, test.document), "chatkeep.yaml:1: "+test.want; got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}

func TestDSNHidesThePassword(t *testing.T) {
	for in, want := range map[string]string{
		"root:pa@ss:w/rd@tcp(h:3306)/db?tls=true": "root:[redacted]@tcp(h:3306)/db?tls=true",
		"root@tcp(h)/db":        "root@tcp(h)/db",
		"./data/chatkeep.db":    "./data/chatkeep.db",
		"file:x.db?mode=ro":     "file:x.db?mode=ro",
		"root:pass/word@tcp(h)": "root:[redacted]@tcp(h)",
		"":                      "",
	} {
		if got := DSN(in).String(); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func TestURLHidesCredentials(t *testing.T) {
	for in, want := range map[string]string{
		"https://u:p@h/x":                      "https://redacted@h/x",
		"https://tok@h/x":                      "https://redacted@h/x",
		"https://h/robot?access_token=x&lang=": "https://h/robot?access_token=redacted&lang=",
		"https://h/v1?a=1":                     "https://h/v1?a=1",
		"localhost:4317":                       "localhost:4317",
		"http://h:x@/%zz?":                     "[redacted]",
		"":                                     "",
	} {
		if got := URL(in).String(); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}
