package dingtalk

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/chatkeep/chatkeep/adapters"
	"github.com/chatkeep/chatkeep/internal/clock"
)

// The thinking emotion is not documented; these values are what works in the field.
const (
	pathEmotionReply  = "/v1.0/robot/emotion/reply"
	pathEmotionRecall = "/v1.0/robot/emotion/recall"

	emotionName       = "🤔思考中"
	emotionType       = 2
	emotionID         = "2659900"
	emotionBackground = "im_bg_1"
)

// emotionWaits come before the attempts.
var emotionWaits = []time.Duration{0, 400 * time.Millisecond, 1200 * time.Millisecond}

// After failuresBeforeRest messages in a row without a sign the calls rest: where
// the emotion does not work they only use up the quota.
const (
	failuresBeforeRest = 3
	rest               = 10 * time.Minute
)

// signs remembers whether the emotion works.
type signs struct {
	clock clock.Clock

	mu       sync.Mutex
	failures int
	until    time.Time
}

func (s *signs) resting() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.clock.Now().Before(s.until)
}

func (s *signs) note(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		s.failures = 0
		return
	}
	if s.failures++; s.failures >= failuresBeforeRest {
		s.failures, s.until = 0, s.clock.Now().Add(rest)
	}
}

type emotion struct {
	RobotCode          string      `json:"robotCode"`
	OpenMsgID          string      `json:"openMsgId"`
	OpenConversationID string      `json:"openConversationId"`
	EmotionType        int         `json:"emotionType"`
	EmotionName        string      `json:"emotionName"`
	TextEmotion        textEmotion `json:"textEmotion"`
}

type textEmotion struct {
	EmotionID    string `json:"emotionId"`
	EmotionName  string `json:"emotionName"`
	Text         string `json:"text"`
	BackgroundID string `json:"backgroundId"`
}

// ShowWorking puts the thinking emotion on m. The sign is the emotion's name: a
// recall must use the same.
func (a *Adapter) ShowWorking(ctx context.Context, m *adapters.Message) (string, error) {
	if !a.cfg.WorkingSign || a.signs.resting() || a.api.quota.stopped() {
		return "", nil
	}
	err := a.emotion(ctx, "emotion", pathEmotionReply, m, emotionName)
	if ctx.Err() == nil {
		a.signs.note(err)
	}
	if err != nil && adapters.SendErrorOf(sendError(err)).Kind != adapters.Unknown {
		return "", err
	}
	return emotionName, err // after an unclear outcome it may be there
}

// HideWorking takes the emotion off m again.
func (a *Adapter) HideWorking(ctx context.Context, m *adapters.Message, sign string) error {
	if sign == "" {
		return nil
	}
	return a.emotion(ctx, "emotion recall", pathEmotionRecall, m, sign)
}

func (a *Adapter) emotion(ctx context.Context, op, path string, m *adapters.Message, name string) error {
	r, err := parseRef(m.Ref)
	if err != nil {
		return err
	}
	in := emotion{
		RobotCode: r.RobotCode, OpenMsgID: m.ID, OpenConversationID: m.Chat.ID,
		EmotionType: emotionType, EmotionName: name,
		TextEmotion: textEmotion{EmotionID: emotionID, EmotionName: name, Text: name, BackgroundID: emotionBackground},
	}
	if in.RobotCode == "" {
		in.RobotCode = a.cfg.RobotCode
	}
	for _, wait := range emotionWaits {
		if sleep := clock.Sleep(ctx, a.clock, wait); sleep != nil {
			if err == nil {
				err = sleep
			}
			return err
		}
		var out struct {
			Success json.RawMessage `json:"success"`
		}
		err = a.api.call(ctx, op, http.MethodPost, path, in, &out)
		if err == nil && string(out.Success) == "false" {
			err = fmt.Errorf("%s: the platform did not do it", op)
		}
		if err == nil || classOf(err) == classQuota || classOf(err) == classPermission {
			return err
		}
	}
	return err
}
