package dingtalk

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/chatkeep/chatkeep/adapters"
	"github.com/chatkeep/chatkeep/internal/clock"
	"github.com/chatkeep/chatkeep/internal/panics"
)

// intake feeds the sink with what came in, over either transport.
type intake struct {
	decoder *decoder
	sink    adapters.Sink
	clock   clock.Clock
	log     *slog.Logger
	// patience bounds one call with its retries.
	patience time.Duration
	last     *atomic.Int64 // when something came, in ms since the epoch
}

// retryWaits are between the attempts to store one message: a failover of the
// database takes a moment, and the platform may not deliver again.
var retryWaits = []time.Duration{100 * time.Millisecond, 300 * time.Millisecond}

// message stores a robot message. It returns nil if it may be acknowledged: it is
// stored, or nothing will ever come of it. ctx ending does not end the call.
func (in *intake) message(ctx context.Context, data []byte, deliveryID string) error {
	in.last.Store(in.clock.Now().UnixMilli())
	m, e, err := in.decoder.decode(data, deliveryID)
	switch {
	case errors.Is(err, errOwnMessage):
		return nil
	case err != nil:
		in.log.WarnContext(ctx, "dropped what is no message", "bytes", len(data), "error", err)
		return nil
	}
	return in.store(ctx, func(ctx context.Context) error {
		if e != nil {
			in.log.WarnContext(ctx, "the platform says that a quota is used up")
			return in.sink.Notify(ctx, e)
		}
		return in.sink.Accept(ctx, m)
	})
}

// event stores an event.
func (in *intake) event(ctx context.Context, e *adapters.Event) error {
	return in.store(ctx, func(ctx context.Context) error { return in.sink.Notify(ctx, e) })
}

func (in *intake) store(ctx context.Context, call func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), in.patience)
	defer cancel()
	for attempt := 0; ; attempt++ {
		err := in.guarded(ctx, call)
		if err == nil {
			return nil
		}
		if attempt == len(retryWaits) {
			in.log.ErrorContext(ctx, "message is not stored and not acknowledged", "error", err)
			return err
		}
		wait := retryWaits[attempt]
		if clock.Sleep(ctx, in.clock, wait+rand.N(wait)) != nil {
			return err
		}
	}
}

// guarded keeps a panic of the sink from ending the connection.
func (in *intake) guarded(ctx context.Context, call func(context.Context) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			in.log.Error("panic in the sink", "panic", panics.Value(p))
			err = panics.Error(p)
		}
	}()
	return call(ctx)
}

// recovered ends a panic: what follows from it is silence, and a line in the log.
func recovered(log *slog.Logger, while string) {
	if p := recover(); p != nil {
		log.Error("panic", "while", while, "panic", panics.Value(p))
	}
}
