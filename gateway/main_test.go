package gateway_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/chatkeep/chatkeep/agents/mcp/mcptest"
)

// actAs makes this program a server of tools on its standard input and output instead.
const actAs = "GATEWAYTEST_ACT_AS"

func TestMain(m *testing.M) {
	if os.Getenv(actAs) != "tools" {
		goleak.VerifyTestMain(m)
		return
	}
	out := os.Stdout
	from, to, err := os.Pipe()
	if err != nil {
		panic(err)
	}
	os.Stdout = to
	go func() { _, _ = io.Copy(garbler{out}, from) }()
	_ = (&mcptest.Server{}).Stdio(context.Background())
}

// garbled is what a [garbler] turns into bytes that are no text.
const garbled = "@garbled@"

// garbler writes what no library would.
type garbler struct{ w io.Writer }

func (g garbler) Write(p []byte) (int, error) {
	if _, err := g.w.Write(bytes.ReplaceAll(p, []byte(garbled), []byte("\xff\xfe"))); err != nil {
		return 0, err
	}
	return len(p), nil
}
