package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/sessionmgr"
)

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: jsonstorage DIRECTORY USER TEXT")
		os.Exit(2)
	}
	if err := remember(context.Background(), os.Args[1], os.Args[2], os.Args[3], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "jsonstorage:", err)
		os.Exit(1)
	}
}

// remember adds what a user says to the user's session and prints all of it.
func remember(ctx context.Context, dir, user, text string, out io.Writer) error {
	storage, err := newJSONStorage(dir)
	if err != nil {
		return err
	}
	manager := sessionmgr.New(storage, sessionmgr.DefaultConfig())
	session, err := manager.GetOrCreate(ctx, sessionmgr.SessionRequest{
		AgentID: "notes", Channel: "terminal", Account: "default", Scope: models.ScopePerChannelPeer, UserID: user,
	})
	if err != nil {
		return err
	}
	if err := manager.AddMessage(ctx, session.Key, &models.SessionMessage{Role: models.RoleUser, Content: text}); err != nil {
		return err
	}
	history, err := manager.GetHistory(ctx, session.Key, 0)
	if err != nil {
		return err
	}
	for _, m := range history {
		if _, err := fmt.Fprintf(out, "%d. %s\n", m.Seq, m.Content); err != nil {
			return err
		}
	}
	return nil
}
