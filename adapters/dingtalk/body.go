package dingtalk

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
)

// body is what the platform sends for a message to the robot, over both
// transports. Types vary between versions and clients, so nothing is strict.
type body struct {
	MsgID             str             `json:"msgId"`
	MsgType           str             `json:"msgtype"`
	ConversationID    str             `json:"conversationId"`
	ConversationType  str             `json:"conversationType"`
	ConversationTitle str             `json:"conversationTitle"`
	SenderID          str             `json:"senderId"`
	SenderStaffID     str             `json:"senderStaffId"`
	SenderUnionID     str             `json:"senderUnionId"`
	SenderNick        str             `json:"senderNick"`
	ChatbotUserID     str             `json:"chatbotUserId"`
	RobotCode         str             `json:"robotCode"`
	IsInAtList        *boolean        `json:"isInAtList"`
	AtUsers           list[atUser]    `json:"atUsers"`
	CreateAt          number          `json:"createAt"`
	SessionWebhook    str             `json:"sessionWebhook"`
	WebhookExpires    number          `json:"sessionWebhookExpiredTime"`
	Text              json.RawMessage `json:"text"`
	Content           json.RawMessage `json:"content"`
	RichText          json.RawMessage `json:"richText"`
	QuoteMessage      json.RawMessage `json:"quoteMessage"`
	ErrorCode         str             `json:"errorCode"`
	ErrCode           str             `json:"errCode"`
	ErrorMessage      str             `json:"errorMessage"`
	ErrMsg            str             `json:"errMsg"`
}

type atUser struct {
	DingtalkID str `json:"dingtalkId"`
	StaffID    str `json:"staffId"`
}

// payload is the union of what "text", "content" and quoted contents hold.
type payload struct {
	Text                str             `json:"text"`
	Content             json.RawMessage `json:"content"`
	Title               str             `json:"title"`
	Markdown            str             `json:"markdown"`
	Summary             str             `json:"summary"`
	RichText            json.RawMessage `json:"richText"`
	RichTextList        json.RawMessage `json:"richTextList"`
	DownloadCode        str             `json:"downloadCode"`
	PictureDownloadCode str             `json:"pictureDownloadCode"`
	FileName            str             `json:"fileName"`
	FileSize            number          `json:"fileSize"`
	Recognition         str             `json:"recognition"`
	UnknownMsgType      str             `json:"unknownMsgType"`
	ActionURL           str             `json:"biz_custom_action_url"`
	Records             json.RawMessage `json:"chatRecord"`
	IsReplyMsg          boolean         `json:"isReplyMsg"`
	RepliedMsg          json.RawMessage `json:"repliedMsg"`
	QuoteMessage        json.RawMessage `json:"quoteMessage"`
	QuoteContent        json.RawMessage `json:"quoteContent"`
	OriginalMsgID       str             `json:"originalMsgId"`
	CardContent         json.RawMessage `json:"cardContent"`
}

func (p payload) code() string {
	if p.DownloadCode != "" {
		return string(p.DownloadCode)
	}
	return string(p.PictureDownloadCode)
}

// asPayload reads raw as a payload: an object, the JSON text of one, or plain
// text, which becomes Text.
func asPayload(raw json.RawMessage) payload {
	var p payload
	raw = unwrap(raw)
	if len(raw) > 0 && raw[0] == '{' {
		_ = json.Unmarshal(raw, &p) // the fields never fail; what is no JSON holds nothing
		return p
	}
	_ = json.Unmarshal(raw, &p.Text)
	return p
}

// unwrap returns the JSON inside a string that holds an object or a list, as some
// clients send them; anything else is returned as it is.
func unwrap(raw json.RawMessage) json.RawMessage {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || raw[0] != '"' {
		return raw
	}
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return raw
	}
	inner := strings.TrimSpace(s)
	if strings.HasPrefix(inner, "{") || strings.HasPrefix(inner, "[") {
		if b := []byte(inner); json.Valid(b) {
			return b
		}
	}
	return raw
}

// elements returns the elements of a list or the JSON text of one; nil if raw is neither.
func elements(raw json.RawMessage) []json.RawMessage {
	var out []json.RawMessage
	if json.Unmarshal(unwrap(raw), &out) != nil {
		return nil
	}
	return out
}

// str reads a string, and numbers as their text; anything else is empty.
type str string

// UnmarshalJSON never fails.
func (s *str) UnmarshalJSON(b []byte) error {
	*s = ""
	switch {
	case len(b) == 0:
	case b[0] == '"':
		var v string
		if json.Unmarshal(b, &v) == nil {
			*s = str(v)
		}
	case b[0] == '-' || b[0] >= '0' && b[0] <= '9':
		*s = str(b)
	}
	return nil
}

// number reads a number or the text of one; anything else is zero.
type number int64

// UnmarshalJSON never fails.
func (n *number) UnmarshalJSON(b []byte) error {
	*n = 0
	text := strings.Trim(string(b), `"`)
	if v, err := strconv.ParseInt(text, 10, 64); err == nil {
		*n = number(v)
	} else if f, err := strconv.ParseFloat(text, 64); err == nil && f > -1<<62 && f < 1<<62 {
		*n = number(f)
	}
	return nil
}

// boolean reads true, "true" and 1; anything else is false.
type boolean bool

// UnmarshalJSON never fails.
func (f *boolean) UnmarshalJSON(b []byte) error {
	text := strings.Trim(string(b), `"`)
	*f = boolean(text == "1" || strings.EqualFold(text, "true"))
	return nil
}

// list reads a list or the JSON text of one, without the elements that do not fit.
type list[T any] []T

// UnmarshalJSON never fails.
func (l *list[T]) UnmarshalJSON(b []byte) error {
	*l = nil
	for _, raw := range elements(b) {
		var v T
		if json.Unmarshal(raw, &v) == nil {
			*l = append(*l, v)
		}
	}
	return nil
}
