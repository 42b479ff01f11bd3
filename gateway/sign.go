package gateway

import (
	"context"
	"time"

	"github.com/chatkeep/chatkeep/adapters"
)

// signTimeout bounds one call about a working sign.
const signTimeout = 10 * time.Second

// workingSign is the sign that the bot is busy with a message. It is best effort
// and off the turn's way. A nil sign was never wanted.
type workingSign struct {
	g     *Gateway
	sign  adapters.WorkingSign
	m     *adapters.Message
	shown chan string // receives the sign once it is shown, or is closed without
}

// showWorking shows the sign if the chat wants one and its platform can. An
// earlier attempt's sign is taken over.
func (r *turn) showWorking(ctx context.Context) *workingSign {
	can, ok := r.adapter.(adapters.WorkingSign)
	if !ok || !r.chat.WorkingSign || r.env.Pressed {
		return nil
	}
	w := &workingSign{g: r.g, sign: can, m: r.env.Message, shown: make(chan string, 1)}
	if r.head.Sign != "" {
		w.shown <- r.head.Sign
		return w
	}
	id := r.head.ID
	r.g.background.start(func(background context.Context) {
		defer close(w.shown)
		bounded, cancel := context.WithTimeout(background, signTimeout)
		defer cancel()
		sign, err := can.ShowWorking(bounded, w.m)
		if err != nil {
			if ctx.Err() == nil {
				w.g.log.Info("working sign could not be shown", "inbound", id, "error", err)
			}
			return
		}
		w.shown <- sign
		if err := w.g.store.SaveSign(bounded, id, sign); err != nil {
			w.g.log.Info("working sign could not be stored", "inbound", id, "error", err)
		}
	})
	return w
}

// hide takes the sign back.
func (w *workingSign) hide() {
	if w == nil {
		return
	}
	w.g.background.start(func(background context.Context) {
		sign, ok := <-w.shown
		if !ok {
			return
		}
		bounded, cancel := context.WithTimeout(context.WithoutCancel(background), signTimeout)
		defer cancel()
		if err := w.sign.HideWorking(bounded, w.m, sign); err != nil {
			w.g.log.Warn("working sign could not be taken back", "error", err)
		}
	})
}
