package config

import (
	"slices"

	"github.com/chatkeep/chatkeep/models"
)

func (k *checker) tasks() {
	seen := names{}
	for i, t := range k.config.Tasks {
		path := at("tasks", i)
		k.name(seen, path+".id", t.ID)
		switch once := !t.At.IsZero(); {
		case t.Schedule != "" && once:
			k.fail(path, "has both schedule and at: keep one")
		case t.Schedule == "" && !once:
			k.fail(path, "needs schedule or at")
		case !once:
			if err := checkSchedule(t.Schedule); err != nil {
				k.fail(path+".schedule", "%s", err)
			}
		}
		if t.Timezone != k.config.Timezone { // which is checked already
			k.zone(path+".timezone", t.Timezone)
		}
		k.required(path+".prompt", t.Prompt, "write what the agent is to do")
		k.agent(path+".agent", t.Agent)
		if t.Grace.Std() > models.MaxTaskSpan {
			k.fail(path+".grace", "must be 24h or less")
		}
		if t.Timeout <= 0 || t.Timeout.Std() > models.MaxTaskSpan {
			k.fail(path+".timeout", "must be more than 0s and at most 24h")
		}
		if t.Retries > models.MaxTaskRetries {
			k.fail(path+".retries", "must be %d or less", models.MaxTaskRetries)
		}
		if !t.Until.IsZero() && !t.At.IsZero() && t.At.After(t.Until) {
			k.fail(path+".until", "is before at: the task would never run")
		}
		if t.Deliver != nil {
			k.deliver(path+".deliver", *t.Deliver)
		}
	}
}

// deliver checks that a target is a chat, a person or a URL, and no two of
// them.
func (k *checker) deliver(path string, d Deliver) {
	kinds := 0
	for _, given := range []bool{d.ChatID != "", d.UserID != "", d.URL != ""} {
		if given {
			kinds++
		}
	}
	if kinds != 1 {
		k.fail(path, "needs exactly one of chatId, userId and url")
		return
	}
	if d.ThreadID != "" && d.ChatID == "" {
		k.fail(path+".threadId", "needs chatId beside it: remove it, or name the chat")
	}
	if d.URL != "" {
		k.url(path+".url", d.URL, "")
		if d.Channel != "" || d.Account != "" {
			k.fail(path, "has a url beside a channel or account: keep one")
		}
		return
	}
	if d.Secret != "" {
		k.fail(path+".secret", "signs what is posted to a url: name the url, or remove it")
	}
	for _, part := range []struct{ key, id string }{{"chatId", d.ChatID}, {"userId", d.UserID}, {"threadId", d.ThreadID}} {
		if part.id != "" {
			k.foreignID(path+"."+part.key, part.id)
		}
	}
	switch found, accounts := k.config.account(d.Channel, d.Account); {
	case !slices.Contains(channelNames(), d.Channel):
		k.fail(path+".channel", "%s", wrongWord(d.Channel, channelNames()))
	case d.Account == "" && len(accounts) > 0:
		k.fail(path+".account", "is missing: %s", didYouMean("", accounts))
	case !found:
		k.fail(path+".account", "%s has no account %q: %s", d.Channel, clip(d.Account), didYouMean(d.Account, accounts))
	}
}
