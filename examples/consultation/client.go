package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
)

// client speaks to a chatkeep server.
type client struct {
	base       string
	token      string // of the API account; empty: from this machine only
	adminToken string
	http       *http.Client
}

// turn is the part of a chat answer that the consultation needs.
type turn struct {
	SessionKey string `json:"sessionKey"`
	Slot       string `json:"slot"`
	Reply      struct {
		Content string `json:"content"`
	} `json:"reply"`
}

// say sends one message into a slot (empty: the current one) and returns its answer.
func (c *client) say(ctx context.Context, user, slot, text string) (turn, error) { //nolint:unparam // a client for any user
	var t turn
	err := c.do(ctx, c.token, http.MethodPost, "/v1/chat", map[string]string{"userId": user, "slot": slot, "text": text}, &t)
	return t, err
}

// derive copies all messages of a slot into a new one.
func (c *client) derive(ctx context.Context, session, parent, id string) error {
	return c.admin(ctx, http.MethodPost, session, "/slots/"+parent+"/derive", map[string]string{"id": id, "strategy": "full"}, nil)
}

// merge adds what a slot got since it was derived to another one.
func (c *client) merge(ctx context.Context, session, from, into string) error {
	return c.admin(ctx, http.MethodPost, session, "/slots/"+from+"/merge", map[string]string{"into": into, "strategy": "messages"}, nil)
}

// history returns the texts of a slot, oldest first.
func (c *client) history(ctx context.Context, session, slot string) ([]string, error) {
	var page struct {
		Items []struct {
			Content string `json:"content"`
		} `json:"items"`
	}
	if err := c.admin(ctx, http.MethodGet, session, "/messages?slot="+slot, nil, &page); err != nil {
		return nil, err
	}
	texts := make([]string, len(page.Items))
	for i, m := range page.Items {
		texts[i] = m.Content
	}
	return texts, nil
}

// forget erases the session.
func (c *client) forget(ctx context.Context, session string) error {
	return c.admin(ctx, http.MethodDelete, session, "", nil, nil)
}

func (c *client) admin(ctx context.Context, method, session, path string, body, into any) error {
	return c.do(ctx, c.adminToken, method, "/admin/v1/sessions/"+url.PathEscape(session)+path, body, into)
}

func (c *client) do(ctx context.Context, token, method, path string, body, into any) error {
	raw, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	request, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(raw))
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	request.Header.Set("Content-Type", "application/json")
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	if response.StatusCode >= http.StatusBadRequest {
		return fmt.Errorf("%s %s: %s: %s", method, path, response.Status, answer)
	}
	if into == nil {
		return nil
	}
	if err := json.Unmarshal(answer, into); err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	return nil
}
