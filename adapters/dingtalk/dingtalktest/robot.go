package dingtalktest

import (
	"encoding/json"
	"fmt"
	"slices"
)

type robotSend struct {
	RobotCode          string   `json:"robotCode"`
	OpenConversationID string   `json:"openConversationId"`
	UserIDs            []string `json:"userIds"`
	MsgKey             string   `json:"msgKey"`
	MsgParam           string   `json:"msgParam"`
}

// take checks a message and returns how it is shown.
func (s *Server) take(r *request, in robotSend) (Message, bool) {
	if in.RobotCode != s.opts.ClientID {
		r.refuse(400, "invalidParameter.robotCode.notExsit", "no such robot")
		return Message{}, false
	}
	if len(in.MsgParam) > maxMsgParam {
		r.refuse(400, "invalidParameter.msgParam.tooLong", "too long")
		return Message{}, false
	}
	var p struct {
		Title    string `json:"title"`
		Text     string `json:"text"`
		Content  string `json:"content"`
		PhotoURL string `json:"photoURL"`
		MediaID  string `json:"mediaId"`
		FileName string `json:"fileName"`
	}
	if json.Unmarshal([]byte(in.MsgParam), &p) != nil {
		r.refuse(400, "invalidParameter.msgParam.invalid", "no JSON")
		return Message{}, false
	}
	m := Message{Title: p.Title}
	switch {
	case in.MsgKey == "sampleText" && p.Content != "":
		m.Kind, m.Text = "text", p.Content
	case in.MsgKey == "sampleMarkdown" && p.Title != "" && p.Text != "":
		m.Kind, m.Text = "markdown", p.Text
	case in.MsgKey == "sampleImageMsg" && p.PhotoURL != "":
		m.Kind, m.Text = "image", p.PhotoURL
	case in.MsgKey == "sampleFile" && s.hasFile(p.MediaID) && p.FileName != "":
		m.Kind, m.Text = "file", p.FileName
	case in.MsgKey == "sampleFile":
		r.refuse(400, "resource.not.found", "no such media")
		return Message{}, false
	default:
		r.refuse(400, "invalidParameter.msgKey", "unknown key or missing parameter")
		return Message{}, false
	}
	return m, true
}

type robotAnswer struct {
	ProcessQueryKey string   `json:"processQueryKey"`
	Invalid         []string `json:"invalidStaffIdList,omitempty"`
	FlowControlled  []string `json:"flowControlledStaffIdList,omitempty"`
}

func (s *Server) groupSend(r *request) {
	var in robotSend
	if !r.decode(&in) {
		return
	}
	m, ok := s.take(r, in)
	if !ok {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.chats[in.OpenConversationID]
	if c == nil || !c.Group {
		r.refuse(400, "invalid.openConversationId", "no such group")
		return
	}
	m.Via, m.ID = ViaGroup, fmt.Sprintf("pqk%d", s.next())
	s.show(c, m)
	r.reply(200, robotAnswer{ProcessQueryKey: m.ID})
}

func (s *Server) directSend(r *request) {
	var in robotSend
	if !r.decode(&in) {
		return
	}
	m, ok := s.take(r, in)
	if !ok {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(in.UserIDs) == 0 || len(in.UserIDs) > 20 {
		r.refuse(400, "invalidParameter.userIds", "1 to 20 users")
		return
	}
	out := robotAnswer{ProcessQueryKey: fmt.Sprintf("pqk%d", s.next())}
	for _, id := range in.UserIDs {
		c := s.directChat(id)
		switch {
		case c == nil:
			out.Invalid = append(out.Invalid, id)
		case s.flow[id]:
			out.FlowControlled = append(out.FlowControlled, id)
		default:
			m.Via, m.ID = ViaDirect, out.ProcessQueryKey
			s.show(c, m)
		}
	}
	r.reply(200, out)
}

// FlowControl makes direct messages to a member be dropped, which the platform
// tells in a list of its 200.
func (s *Server) FlowControl(staffID string, on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flow[staffID] = on
}

type emotion struct {
	RobotCode          string `json:"robotCode"`
	OpenMsgID          string `json:"openMsgId"`
	OpenConversationID string `json:"openConversationId"`
	EmotionType        int    `json:"emotionType"`
	EmotionName        string `json:"emotionName"`
	TextEmotion        struct {
		EmotionID, EmotionName, Text, BackgroundID string
	} `json:"textEmotion"`
}

func (s *Server) emotionReply(r *request) {
	s.emote(r, func(m *Message, name string) {
		if !slices.Contains(m.Emotions, name) {
			m.Emotions = append(m.Emotions, name)
		}
	})
}

func (s *Server) emotionRecall(r *request) {
	s.emote(r, func(m *Message, name string) {
		m.Emotions = slices.DeleteFunc(m.Emotions, func(n string) bool { return n == name })
	})
}

func (s *Server) emote(r *request, change func(*Message, string)) {
	var in emotion
	if !r.decode(&in) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.message(in.OpenMsgID)
	if m == nil || m.ChatID != in.OpenConversationID || in.RobotCode != s.opts.ClientID ||
		in.EmotionType != 2 || in.TextEmotion.EmotionID == "" || in.TextEmotion.EmotionName != in.EmotionName {
		r.refuse(500, "system.error", "no such message or emotion")
		return
	}
	change(m, in.EmotionName)
	s.notify()
	r.reply(200, struct {
		Success bool `json:"success"`
	}{true})
}
