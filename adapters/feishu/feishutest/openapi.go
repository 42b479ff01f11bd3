package feishutest

import (
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	open := func(pattern string, handle func(*http.Request) reply) {
		method, path, _ := strings.Cut(pattern, " ")
		mux.Handle(method+" /open-apis"+path, s.api(true, handle))
	}
	mux.Handle("POST /open-apis/auth/v3/tenant_access_token/internal", s.api(false, s.postToken))
	mux.Handle("POST /callback/ws/endpoint", http.HandlerFunc(s.postEndpoint))
	mux.Handle("GET /ws", http.HandlerFunc(s.serveWS))
	open("GET /bot/v3/info", s.getBot)
	open("GET /contact/v3/users/{id}", s.getUser)
	open("GET /im/v1/chats", s.listChats)
	open("GET /im/v1/chats/{id}", s.getChat)
	open("GET /im/v1/messages", s.listMessages)
	open("POST /im/v1/messages", s.postMessage)
	open("POST /im/v1/messages/{id}/reply", s.postReply)
	open("GET /im/v1/messages/{id}", s.getMessage)
	open("PATCH /im/v1/messages/{id}", s.patchMessage)
	open("PUT /im/v1/messages/{id}", s.putMessage)
	open("DELETE /im/v1/messages/{id}", s.deleteMessage)
	open("POST /im/v1/messages/{id}/reactions", s.postReaction)
	open("DELETE /im/v1/messages/{id}/reactions/{reaction}", s.deleteReaction)
	open("GET /im/v1/messages/{id}/resources/{key}", s.getResource)
	open("POST /im/v1/images", s.postImage)
	open("POST /im/v1/files", s.postFile)
	open("POST /cardkit/v1/cards", s.postCard)
	open("PUT /cardkit/v1/cards/{id}", s.putCard)
	open("PATCH /cardkit/v1/cards/{id}/settings", s.patchCardSettings)
	open("PUT /cardkit/v1/cards/{id}/elements/{element}/content", s.putElementContent)
	open("DELETE /cardkit/v1/cards/{id}/elements/{element}", s.deleteElement)
	if s.opts.Extra != nil {
		mux.Handle("/", s.opts.Extra)
	}
	return mux
}

// body reads the JSON body of a request; what is not JSON is the zero value.
func body[T any](r *http.Request) T {
	var v T
	data, err := io.ReadAll(r.Body)
	if err == nil {
		_ = json.Unmarshal(data, &v) // the handlers refuse what is missing
	}
	return v
}

func (s *Server) postToken(r *http.Request) reply {
	req := body[struct {
		AppID     string `json:"app_id"`
		AppSecret string `json:"app_secret"`
	}](r)
	if req.AppID != s.opts.AppID || req.AppSecret != s.opts.AppSecret {
		return reply{Status: http.StatusOK, Code: 10014, Msg: "app secret invalid"}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fetches++
	token := s.id("t-simulated")
	s.tokens[token] = s.clock.Now().Add(s.opts.TokenLife)
	return reply{Top: map[string]any{"tenant_access_token": token, "expire": int(s.opts.TokenLife / time.Second)}}
}

func (s *Server) validToken(token string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.clock.Now().Before(s.tokens[token])
}

// RevokeTokens makes every access token invalid at once.
func (s *Server) RevokeTokens() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.tokens)
}

// TokenFetches counts the access tokens that were handed out.
func (s *Server) TokenFetches() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fetches
}

func (s *Server) getBot(*http.Request) reply {
	return reply{Top: map[string]any{"bot": map[string]any{
		"activate_status": 2, "app_name": s.opts.BotName, "open_id": BotOpenID,
	}}}
}

func (s *Server) getUser(r *http.Request) reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.user(r.PathValue("id"))
	return reply{Data: map[string]any{"user": map[string]any{"open_id": u.OpenID, "user_id": u.UserID, "union_id": u.UnionID, "name": u.Name}}}
}

func (s *Server) listChats(*http.Request) reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	items := []map[string]any{}
	for _, c := range s.chats {
		if c.kind != P2P && !c.absent && !c.gone {
			items = append(items, map[string]any{"chat_id": c.id, "name": c.name})
		}
	}
	return reply{Data: map[string]any{"items": items, "has_more": false}}
}

func (s *Server) getChat(r *http.Request) reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.chats[r.PathValue("id")]
	switch {
	case c == nil || c.gone:
		return refuse(232009, "the chat is disbanded")
	case c.absent:
		return refuse(232011, "the bot is not in the chat")
	}
	data := map[string]any{"name": c.name, "chat_mode": string(c.kind)}
	if c.kind == Group {
		data["group_message_type"] = "chat"
	}
	return reply{Data: data}
}

func (s *Server) postImage(r *http.Request) reply { return s.upload(r, "image", "img") }

func (s *Server) postFile(r *http.Request) reply { return s.upload(r, "file", "file") }

// upload takes a multipart file.
func (s *Server) upload(r *http.Request, field, prefix string) reply {
	file, header, err := r.FormFile(field)
	if err != nil {
		return refuse(234001, "Invalid request param")
	}
	defer func() { _ = file.Close() }()
	data, err := io.ReadAll(file)
	if err != nil || len(data) == 0 {
		return refuse(234010, "File's size can't be 0")
	}
	if limit := map[string]int{"img": 10 << 20, "file": 30 << 20}[prefix]; len(data) > limit {
		return refuse(234006, "The file size exceed the max value")
	}
	name := header.Filename
	if given := r.FormValue("file_name"); given != "" {
		name = given
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	key := s.id(prefix + "_v3")
	s.blobs[key] = Blob{ContentType: http.DetectContentType(data), Name: name, Data: data}
	return reply{Data: map[string]any{field + "_key": key}}
}

func (s *Server) getResource(r *http.Request) reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, key := s.messages[r.PathValue("id")], r.PathValue("key")
	if m == nil || !strings.Contains(m.content, strconv.Quote(key)) && !strings.Contains(m.content, "("+key+")") {
		return refuse(234003, "File not in msg")
	}
	if m.recalled {
		return refuse(234009, "the message is recalled")
	}
	b, ok := s.blobs[key]
	if !ok {
		return refuse(234043, "Unsupported message type")
	}
	return reply{File: &b}
}
