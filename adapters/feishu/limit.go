package feishu

import (
	"context"
	"errors"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/time/rate"

	"github.com/chatkeep/chatkeep/adapters"
	"github.com/chatkeep/chatkeep/internal/clock"
)

// The platform's limits: 5 messages a second to one chat or person, and for each
// kind of call 50 a second and 1000 a minute of one app. The rates below keep the
// sum of burst and refill inside them:
// https://open.feishu.cn/document/server-docs/im-v1/message/create.
const (
	chatRate, chatBurst     = 4, 1
	secondRate, secondBurst = 40, 10
	minuteRate, minuteBurst = 14, 150
	limitedChats            = 4096
	// longestQueue is how long a send waits for its turn before the gateway is told to.
	longestQueue = 3 * time.Second
	// quotaPause is how long nothing is sent after the monthly quota was used up.
	quotaPause = 10 * time.Minute
)

// lane is a kind of call that the platform counts apart from the others.
type lane int

// The lanes.
const (
	laneMessages lane = iota // sending and replying
	laneCards                // cards that are changed
	laneOther                // reading, reactions, uploads
	lanes
)

// limiter holds sends back so that the platform need not refuse them.
type limiter struct {
	clock  clock.Clock
	second [lanes]*rate.Limiter
	minute [lanes]*rate.Limiter
	chats  *lru.Cache[string, *rate.Limiter]

	mu        sync.Mutex
	noQuotaTo time.Time
}

func newLimiter(c clock.Clock) *limiter {
	chats, err := lru.New[string, *rate.Limiter](limitedChats)
	if err != nil {
		panic(err) // the size is a positive constant
	}
	l := &limiter{clock: c, chats: chats}
	for i := range lanes {
		l.second[i] = rate.NewLimiter(secondRate, secondBurst)
		l.minute[i] = rate.NewLimiter(minuteRate, minuteBurst)
	}
	return l
}

// waitToSend waits until a message may be sent to a chat or person.
func (l *limiter) waitToSend(ctx context.Context, target string) error {
	if err := l.quota(); err != nil {
		return err
	}
	// First, so that a busy chat takes nothing from the others while it waits.
	if err := l.queue(ctx, l.chat(target)); err != nil {
		return err
	}
	return l.wait(ctx, laneMessages)
}

// wait waits until a call may be made.
func (l *limiter) wait(ctx context.Context, on lane) error {
	if err := l.quota(); err != nil {
		return err
	}
	return l.queue(ctx, l.second[on], l.minute[on])
}

// queue waits until all limits let one call through.
func (l *limiter) queue(ctx context.Context, limits ...*rate.Limiter) error {
	now := l.clock.Now()
	var delay time.Duration
	reserved := make([]*rate.Reservation, len(limits))
	for i, limit := range limits {
		reserved[i] = limit.ReserveN(now, 1)
		delay = max(delay, reserved[i].DelayFrom(now))
	}
	if delay > longestQueue {
		for _, r := range reserved {
			r.CancelAt(now)
		}
		return &adapters.SendError{Kind: adapters.RateLimited, RetryAfter: delay, Err: errors.New("too many messages are waiting to be sent")}
	}
	if err := clock.Sleep(ctx, l.clock, delay); err != nil {
		return &adapters.SendError{Kind: adapters.Retry, Err: err}
	}
	return nil
}

func (l *limiter) chat(target string) *rate.Limiter {
	if known, ok := l.chats.Get(target); ok {
		return known
	}
	fresh := rate.NewLimiter(chatRate, chatBurst)
	if known, ok, _ := l.chats.PeekOrAdd(target, fresh); ok {
		return known
	}
	return fresh
}

// allow reports whether a call that may be dropped can be made right now.
// A third of the lane is left to calls that may not.
func (l *limiter) allow(on lane) bool {
	now := l.clock.Now()
	if l.quota() != nil || l.minute[on].TokensAt(now) < minuteBurst/3 {
		return false
	}
	return l.second[on].AllowN(now, 1) && l.minute[on].AllowN(now, 1)
}

// exhausted notes that the tenant's quota is used up. It reports whether that is news.
func (l *limiter) exhausted() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.clock.Now()
	news := !now.Before(l.noQuotaTo)
	l.noQuotaTo = now.Add(quotaPause)
	return news
}

func (l *limiter) quota() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if left := l.noQuotaTo.Sub(l.clock.Now()); left > 0 {
		return &adapters.SendError{
			Kind: adapters.Unavailable, Code: "99991403", RetryAfter: left,
			Err: errors.New("the tenant's monthly call quota is used up"),
		}
	}
	return nil
}
