package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	c := &client{
		base:  cmp.Or(os.Getenv("CHATKEEP_URL"), "http://127.0.0.1:8080"),
		token: os.Getenv("CHATKEEP_TOKEN"), adminToken: os.Getenv("CHATKEEP_ADMIN_TOKEN"),
		http: &http.Client{Timeout: 2 * time.Minute},
	}
	if err := consult(ctx, c, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "consultation:", err)
		os.Exit(1) //nolint:gocritic // nothing is left to undo
	}
}

// patient is the one person of the play.
const patient = "consultation-patient"

// The branches of the consultation, and what is said only there.
const (
	cardiology = "cardiology"
	neurology  = "neurology"

	complaint = "My head aches after climbing stairs."
	onHeart   = "The cardiologist measured a pressure of 150 to 95."
	onNerves  = "The neurologist saw nothing in the scan."
	afterward = "I sleep better since Monday."
)

// consult plays the consultation and checks that its branches stay apart.
func consult(ctx context.Context, c *client, out io.Writer) (err error) {
	first, err := c.say(ctx, patient, "", complaint)
	if err != nil {
		return err
	}
	session := first.SessionKey
	defer func() { err = errors.Join(err, c.forget(context.WithoutCancel(ctx), session)) }()

	for _, branch := range []struct{ slot, says string }{{cardiology, onHeart}, {neurology, onNerves}} {
		if err := c.derive(ctx, session, "default", branch.slot); err != nil {
			return err
		}
		answer, err := c.say(ctx, patient, branch.slot, branch.says)
		if err != nil {
			return err
		}
		_, _ = fmt.Fprintf(out, "[%s] %s\n[%s] %s\n", branch.slot, branch.says, answer.Slot, answer.Reply.Content)
	}
	if _, err := c.say(ctx, patient, "default", afterward); err != nil {
		return err
	}
	for _, slot := range []struct {
		id       string
		has, not []string
	}{
		{cardiology, []string{complaint, onHeart}, []string{onNerves, afterward}},
		{neurology, []string{complaint, onNerves}, []string{onHeart, afterward}},
		{"default", []string{complaint, afterward}, []string{onHeart, onNerves}},
	} {
		if err := c.check(ctx, session, slot.id, slot.has, slot.not); err != nil {
			return err
		}
	}
	_, _ = fmt.Fprintln(out, "the branches know their beginning and nothing of each other")

	if err := c.merge(ctx, session, cardiology, "default"); err != nil {
		return err
	}
	if err := c.check(ctx, session, "default", []string{complaint, afterward, onHeart}, []string{onNerves}); err != nil {
		return err
	}
	_, _ = fmt.Fprintln(out, "the cardiologist's opinion is merged back")
	return nil
}

// check compares what a slot holds with what it must and must not.
func (c *client) check(ctx context.Context, session, slot string, has, not []string) error {
	texts, err := c.history(ctx, session, slot)
	if err != nil {
		return err
	}
	holds := func(said string) bool {
		return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(text, said) })
	}
	for _, said := range has {
		if !holds(said) {
			return fmt.Errorf("slot %s lost %q", slot, said)
		}
	}
	for _, said := range not {
		if holds(said) {
			return fmt.Errorf("slot %s heard %q", slot, said)
		}
	}
	return nil
}
