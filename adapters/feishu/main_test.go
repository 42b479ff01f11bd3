package feishu

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, sdkCacheCleaner)
}

// sdkCacheCleaner is a goroutine that the SDK starts with every client of the long
// connection and that nothing can end: its finalizer never runs, since the
// goroutine itself holds the cache.
var sdkCacheCleaner = goleak.IgnoreAnyFunction("github.com/larksuite/oapi-sdk-go/v3/cache.(*cron).start")
