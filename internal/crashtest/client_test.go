package crashtest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"testing"
	"time"
)

// client is one connection pool to a replica.
type client struct {
	url  string
	http *http.Client
}

func newClient(t *testing.T, p *program) *client {
	transport := &http.Transport{MaxIdleConnsPerHost: 64}
	t.Cleanup(transport.CloseIdleConnections)
	return &client{url: p.url, http: &http.Client{Transport: transport, Timeout: 60 * time.Second}}
}

// said is the body of POST /v1/chat.
type said struct {
	UserID    string `json:"userId"`
	MessageID string `json:"messageId,omitempty"`
	Text      string `json:"text"`
	Wait      bool   `json:"wait"`
}

// outcome is what the API tells of a message.
type outcome struct {
	SessionKey string `json:"sessionKey"`
	InboundID  string `json:"inboundId"`
	State      string `json:"state"`
	Reply      *struct {
		Content string `json:"content"`
	} `json:"reply"`
}

// say posts a message and returns the status; an error means that no answer came.
func (c *client) say(m said) (int, outcome, error) {
	var out outcome
	status, err := c.call(http.MethodPost, "/v1/chat", m, &out)
	return status, out, err
}

// get reads a document; it returns an error for any status but 200.
func (c *client) get(path string, into any) error {
	status, err := c.call(http.MethodGet, path, nil, into)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("GET %s: status %d", path, status)
	}
	return err
}

func (c *client) call(method, path string, body, into any) (int, error) {
	var send io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return 0, err
		}
		send = bytes.NewReader(text)
	}
	r, err := http.NewRequestWithContext(context.Background(), method, c.url+path, send)
	if err != nil {
		return 0, err
	}
	r.Header.Set("Content-Type", "application/json")
	resp, err := c.http.Do(r)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err
	}
	if into != nil && resp.StatusCode < 300 {
		return resp.StatusCode, json.Unmarshal(text, into)
	}
	return resp.StatusCode, nil
}

// all reads every page of an admin list.
func all[T any](c *client, path string) ([]T, error) {
	var items []T
	for cursor := ""; ; {
		var page struct {
			Items      []T    `json:"items"`
			NextCursor string `json:"nextCursor"`
		}
		if err := c.get(path+"?limit=100&cursor="+url.QueryEscape(cursor), &page); err != nil {
			return nil, err
		}
		items = append(items, page.Items...)
		if cursor = page.NextCursor; cursor == "" {
			return items, nil
		}
	}
}

// inbound is a message as the admin API lists it.
type inbound struct {
	ID                string `json:"id"`
	SessionKey        string `json:"sessionKey"`
	PlatformMessageID string `json:"platformMessageId"`
	State             string `json:"state"`
	Attempts          int    `json:"attempts"`
	Error             string `json:"error"`
}

// delivery is an outgoing message as the admin API lists it.
type delivery struct {
	ID        string `json:"id"`
	InboundID string `json:"inboundId"`
	Channel   string `json:"channel"`
	Text      string `json:"text"`
	State     string `json:"state"`
	Attempts  int    `json:"attempts"`
	Error     string `json:"error"`
}

// message is a stored message of a session.
type message struct {
	Seq     int64  `json:"seq"`
	Role    string `json:"role"`
	Content string `json:"content"`
}

func (c *client) history(key string) ([]message, error) {
	var page struct {
		Items []message `json:"items"`
	}
	err := c.get("/admin/v1/sessions/"+url.PathEscape(key)+"/messages?limit=500", &page)
	return page.Items, err
}
