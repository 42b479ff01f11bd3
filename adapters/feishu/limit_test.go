package feishu

import (
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chatkeep/chatkeep/adapters"
	"github.com/chatkeep/chatkeep/adapters/feishu/feishutest"
	"github.com/chatkeep/chatkeep/internal/clock"
)

func TestChatLimit(t *testing.T) {
	r := startRig(t, rigOptions{platform: feishutest.Options{ChatQPS: 5}})
	m := r.said(feishutest.Said{ChatID: "oc_1", Text: "hi"})
	for i := range 12 {
		r.mustSend(m, fmt.Sprintf("dlv_%d", i), "hello")
	}
}

func TestLimiterTellsToWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLimiter(clock.Real())
		start := l.clock.Now()
		var sent, refused atomic.Int32
		for range 40 {
			go func() {
				err := l.waitToSend(t.Context(), "oc_1")
				if err == nil {
					sent.Add(1)
					return
				}
				if e := adapters.SendErrorOf(err); e.Kind != adapters.RateLimited || e.RetryAfter <= longestQueue {
					t.Errorf("err = %v", err)
				}
				refused.Add(1)
			}()
		}
		synctest.Wait()
		if err := l.waitToSend(t.Context(), "oc_2"); err != nil || l.clock.Now() != start {
			t.Errorf("another chat waits too: %v", err)
		}
		time.Sleep(time.Minute)
		if want := int32(longestQueue/time.Second*chatRate + chatBurst); sent.Load() != want || refused.Load() != 40-want {
			t.Errorf("%d sent, %d refused", sent.Load(), refused.Load())
		}
	})
}
