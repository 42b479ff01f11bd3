package deploy

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/chatkeep/chatkeep/config"
)

type service struct {
	Secrets   []string
	Configs   []struct{ Source, Target string }
	Volumes   []string
	DependsOn map[string]struct{ Condition string } `yaml:"depends_on"`
	Grace     string                                `yaml:"stop_grace_period"`
	Check     struct{ Test []string }               `yaml:"healthcheck"`
	Build     struct{ Context, Dockerfile string }
}

type source struct{ File string }

type compose struct {
	Services map[string]service
	Secrets  map[string]source
	Configs  map[string]source
	Volumes  map[string]struct{}
}

func read(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func composeFile(t *testing.T) (c compose) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(read(t, "compose.yaml")), &c); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestComposeNamesOnlyWhatItDeclares(t *testing.T) {
	c := composeFile(t)
	if len(c.Services) != 2 {
		t.Fatalf("%d services", len(c.Services))
	}
	used := map[string]bool{}
	for name, s := range c.Services {
		if len(s.Check.Test) < 2 {
			t.Errorf("%s has no health check", name)
		}
		for _, secret := range s.Secrets {
			used[secret] = true
			if _, ok := c.Secrets[secret]; !ok {
				t.Errorf("%s uses the secret %s, which is not declared", name, secret)
			}
		}
		for _, cfg := range s.Configs {
			if file := c.Configs[cfg.Source].File; file == "" {
				t.Errorf("%s uses the config %s, which is not declared", name, cfg.Source)
			} else if _, err := os.Stat(file); err != nil {
				t.Error(err)
			}
		}
		for _, volume := range s.Volumes {
			volume, _, _ = strings.Cut(volume, ":")
			if _, ok := c.Volumes[volume]; !ok {
				t.Errorf("%s uses the volume %s, which is not declared", name, volume)
			}
		}
		for other, on := range s.DependsOn {
			if _, ok := c.Services[other]; !ok || on.Condition != "service_healthy" {
				t.Errorf("%s does not wait for a healthy %s", name, other)
			}
		}
		if s.Build.Dockerfile != "" {
			if _, err := os.Stat(filepath.Join(s.Build.Context, s.Build.Dockerfile)); err != nil {
				t.Error(err)
			}
		}
	}
	for secret := range c.Secrets {
		if !used[secret] {
			t.Errorf("nobody uses the secret %s", secret)
		}
	}
}

// The configuration of the compose file is valid, and reads only secrets that
// its container gets.
func TestComposeConfiguration(t *testing.T) {
	content := read(t, "chatkeep.yaml")
	secrets := composeFile(t).Services["chatkeep"].Secrets
	dir := t.TempDir()
	for _, match := range regexp.MustCompile(`/run/secrets/(\w+)`).FindAllStringSubmatch(content, -1) {
		if !slices.Contains(secrets, match[1]) {
			t.Errorf("the container does not get the secret %s", match[1])
		}
	}
	for _, secret := range secrets {
		value := strings.Repeat("s", 48)
		if secret == "mysql_dsn" {
			value = "chatkeep:" + value + "@tcp(mysql:3306)/chatkeep"
		}
		if err := os.WriteFile(filepath.Join(dir, secret), []byte(value), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	content = strings.ReplaceAll(content, "/run/secrets/", dir+"/")
	if _, err := config.Parse("chatkeep.yaml", []byte(content), nil); err != nil {
		t.Error(err)
	}
}

func TestStopTimeoutsAreLongerThanTheDrain(t *testing.T) {
	grace := time.Duration(config.Default().Server.ShutdownGrace)
	unit := regexp.MustCompile(`(?m)^TimeoutStopSec=(\S+)$`).FindStringSubmatch(read(t, "chatkeep.service"))
	if len(unit) != 2 {
		t.Fatal("the unit has no TimeoutStopSec")
	}
	for where, timeout := range map[string]string{
		"chatkeep.service": unit[1], "compose.yaml": composeFile(t).Services["chatkeep"].Grace,
	} {
		if d, err := time.ParseDuration(timeout); err != nil || d <= grace {
			t.Errorf("%s stops after %q, the drain may take %s: %v", where, timeout, grace, err)
		}
	}
}

func TestImageIsBuiltWithTheModulesGo(t *testing.T) {
	version := regexp.MustCompile(`(?m)^go (\S+)$`).FindStringSubmatch(read(t, "../go.mod"))
	if len(version) != 2 || !strings.Contains(read(t, "Dockerfile"), "FROM golang:"+version[1]+"-") {
		t.Errorf("the Dockerfile does not build with %v", version)
	}
}
