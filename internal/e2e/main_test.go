package e2e

import (
	"testing"

	"go.uber.org/goleak"
)

// The SDK of Feishu starts a goroutine with every client that nothing can end.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/larksuite/oapi-sdk-go/v3/cache.(*cron).start"))
}
