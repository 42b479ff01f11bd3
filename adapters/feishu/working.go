package feishu

import (
	"context"
	"errors"

	"github.com/chatkeep/chatkeep/adapters"
)

// workingEmoji is the reaction that shows that the bot is busy:
// https://open.feishu.cn/document/server-docs/im-v1/message-reaction/emojis-introduce.
const workingEmoji = "Typing"

// ShowWorking reacts to a message. It does nothing while calls are scarce.
func (a *Adapter) ShowWorking(ctx context.Context, m *adapters.Message) (string, error) {
	if !a.cfg.chat(m.Chat.ID).WorkingSign || !a.api.limits.allow(laneOther) {
		return "", nil
	}
	return a.api.react(ctx, m.ID, workingEmoji)
}

// HideWorking takes the reaction back. A reaction or message that is gone is what
// was asked for.
func (a *Adapter) HideWorking(ctx context.Context, m *adapters.Message, sign string) error {
	if sign == "" {
		return nil
	}
	if err := a.api.limits.wait(ctx, laneOther); err != nil {
		return err
	}
	err := a.api.unreact(ctx, m.ID, sign)
	if refused, ok := errors.AsType[*apiError](err); ok {
		switch refused.class {
		case classUnknown, classRefused, classReplyGone, classTargetGone:
			return nil
		}
	}
	return err
}
