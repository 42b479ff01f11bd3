package feishu

import (
	"context"
	"fmt"
	"log/slog"
)

// sdkLog passes on what the SDK logs. Its debug output holds messages and headers
// and is dropped; its routine is our debug output.
type sdkLog struct{ log *slog.Logger }

func (sdkLog) Debug(context.Context, ...any) {}

func (l sdkLog) Info(ctx context.Context, args ...any) {
	l.log.DebugContext(ctx, "feishu sdk", "said", clip(fmt.Sprint(args...), 300))
}

func (l sdkLog) Warn(ctx context.Context, args ...any) {
	l.log.InfoContext(ctx, "feishu sdk", "said", clip(fmt.Sprint(args...), 300))
}

func (l sdkLog) Error(ctx context.Context, args ...any) {
	l.log.WarnContext(ctx, "feishu sdk", "said", clip(fmt.Sprint(args...), 300))
}
