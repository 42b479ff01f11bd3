package feishu

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chatkeep/chatkeep/adapters"
	"github.com/chatkeep/chatkeep/adapters/adaptertest"
	"github.com/chatkeep/chatkeep/adapters/feishu/feishutest"
	"github.com/chatkeep/chatkeep/internal/clock"
	"github.com/chatkeep/chatkeep/models"
)

func TestRevokedTokenIsFetchedOnceForAll(t *testing.T) {
	r := startRig(t, rigOptions{})
	const senders = 20
	var messages []*adapters.Message
	for i := range senders {
		messages = append(messages, r.said(feishutest.Said{ChatID: fmt.Sprintf("oc_%d", i), Text: "hi"}))
	}
	before := r.platform.TokenFetches()
	r.platform.RevokeTokens()
	var wg sync.WaitGroup
	for i, m := range messages {
		wg.Go(func() {
			if _, err := r.send(adaptertest.Delivery(m, fmt.Sprintf("dlv_%d", i), "hello")); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := r.platform.TokenFetches() - before; n != 1 {
		t.Errorf("%d token fetches, want 1", n)
	}
	if n := len(r.platform.FromBot()); n != senders {
		t.Errorf("%d messages, want %d", n, senders)
	}
}

func TestFirstTokenIsFetchedOnceForAll(t *testing.T) {
	fetches := 0
	release := make(chan struct{})
	s := &tokenSource{clock: clock.Real(), fetch: func(context.Context) (string, time.Duration, error) {
		fetches++
		<-release
		return "t", time.Hour, nil
	}}
	impatient, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		if _, err := s.get(impatient); !errors.Is(err, context.Canceled) {
			t.Errorf("err = %v", err)
		}
	})
	cancel()
	wg.Wait()
	for range 10 {
		wg.Go(func() {
			if token, err := s.get(t.Context()); token != "t" || err != nil {
				t.Errorf("%q, %v", token, err)
			}
		})
	}
	close(release)
	wg.Wait()
	if fetches != 1 {
		t.Errorf("%d fetches", fetches)
	}
}

func TestTokenIsRenewedBeforeItEnds(t *testing.T) {
	fake := clock.NewFake(time.Unix(1_800_000_000, 0))
	fetches := 0
	s := &tokenSource{clock: fake, fetch: func(context.Context) (string, time.Duration, error) {
		fetches++
		return fmt.Sprintf("t%d", fetches), 2 * time.Hour, nil
	}}
	get := func() string {
		token, err := s.get(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
	for range 2 {
		if token := get(); token != "t1" {
			t.Errorf("token %q: it is not kept", token)
		}
	}
	fake.Advance(2*time.Hour - tokenMargin)
	if get() != "t2" {
		t.Error("the token is used to its end")
	}
	s.evict("t1")
	if get() != "t2" {
		t.Error("a newer token was evicted")
	}
}

func TestWrongSecretIsUnavailable(t *testing.T) {
	r := newRig(t, rigOptions{config: func(c *Config) { c.AppSecret = "wrong" }})
	t.Cleanup(r.close)
	_, err := r.send(&models.Delivery{ID: "dlv_1", Text: "hello", Target: models.Target{ChatID: "oc_1"}})
	if e := adapters.SendErrorOf(err); e.Kind != adapters.Unavailable || e.Code != "10014" {
		t.Errorf("err = %v", err)
	}
	if strings.Contains(err.Error(), "wrong") {
		t.Errorf("the error holds the secret: %v", err)
	}
}
