package feishu

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/chatkeep/chatkeep/adapters"
)

// maxDecoded is the longest text that is taken from one message, in bytes. The
// platform itself takes 150 KB.
const maxDecoded = 256 << 10

// maxSystem is the same for a system message, template and variables each.
const maxSystem = 4 << 10

// body is what a message says.
type body struct {
	text        string
	attachments []adapters.Attachment
	// unsupported is set if text only says what the message was.
	unsupported bool
}

func unsupported(format string, args ...any) body {
	return body{text: fmt.Sprintf(format, args...), unsupported: true}
}

// message types that need more than a text of their own.
const (
	typePost    = "post"
	typeCard    = "interactive"
	typeForward = "merge_forward"
)

const forwardPlaceholder = "[forwarded messages]"

// decoders turn the content of each type into a body. Content is JSON text but
// for merge_forward; anything else is decoded as empty.
// https://open.feishu.cn/document/server-docs/im-v1/message-content-description/message_content
var decoders = map[string]func(content []byte, m *mentions) body{
	"text":       decodeText,
	typePost:     decodePost,
	typeCard:     decodeCard,
	"image":      decodeImage,
	"file":       decodeFile,
	"folder":     decodeFolder,
	"audio":      decodeAudio,
	"media":      decodeVideo,
	"video":      decodeVideo,
	"location":   decodeLocation,
	"vote":       decodeVote,
	"todo":       decodeTodo,
	"video_chat": decodeVideoChat,
	"hongbao":    decodeHongbao,
	"system":     decodeSystem,

	"share_calendar_event": decodeCalendar,
	"calendar":             decodeCalendar,
	"general_calendar":     decodeCalendar,

	"sticker":    func([]byte, *mentions) body { return unsupported("[sticker]") },
	"share_chat": func([]byte, *mentions) body { return unsupported("[shared group]") },
	"share_user": func([]byte, *mentions) body { return unsupported("[shared contact]") },
	typeForward:  func([]byte, *mentions) body { return body{text: forwardPlaceholder} },
}

// decodeContent decodes the content of a message; it cannot fail.
func decodeContent(msgType, content string, m *mentions) body {
	decode, known := decoders[msgType]
	if !known {
		return unsupported("[message of type %s]", clip(msgType, 40))
	}
	b := decode([]byte(content), m)
	b.text = strings.TrimSpace(strings.ToValidUTF8(clipBytes(b.text, maxDecoded), "�"))
	if b.text == "" && len(b.attachments) == 0 && !b.unsupported && msgType != "text" && msgType != typePost {
		return unsupported("[empty %s]", msgType)
	}
	return b
}

// fields reads the fields of a JSON object that it can; the rest stays zero.
func fields[T any](content []byte) T {
	var v T
	_ = json.Unmarshal(content, &v) // what did not decode is zero
	return v
}

func decodeText(content []byte, m *mentions) body {
	return body{text: m.resolve(fields[struct {
		Text string `json:"text"`
	}](content).Text)}
}

type fileContent struct {
	ImageKey string `json:"image_key"`
	FileKey  string `json:"file_key"`
	FileName string `json:"file_name"`
	Duration any    `json:"duration"`
}

func decodeImage(content []byte, _ *mentions) body {
	return attachment(adapters.Image, fields[fileContent](content).ImageKey, "")
}

func decodeFile(content []byte, _ *mentions) body {
	f := fields[fileContent](content)
	return attachment(adapters.File, f.FileKey, f.FileName)
}

func decodeAudio(content []byte, _ *mentions) body {
	return attachment(adapters.Audio, fields[fileContent](content).FileKey, "")
}

func decodeVideo(content []byte, _ *mentions) body {
	f := fields[fileContent](content)
	return attachment(adapters.Video, f.FileKey, f.FileName)
}

func decodeFolder(content []byte, _ *mentions) body {
	return unsupported("[folder: %s]", fields[fileContent](content).FileName)
}

func attachment(kind adapters.AttachmentKind, key, name string) body {
	if key == "" {
		return body{}
	}
	return body{attachments: []adapters.Attachment{{Kind: kind, Key: key, Name: name}}}
}

func decodeLocation(content []byte, _ *mentions) body {
	l := fields[struct {
		Name      string `json:"name"`
		Longitude any    `json:"longitude"`
		Latitude  any    `json:"latitude"`
	}](content)
	if l.Longitude == nil || l.Latitude == nil {
		return label("location", l.Name)
	}
	return label("location", fmt.Sprintf("%s (longitude %v, latitude %v)", l.Name, l.Longitude, l.Latitude))
}

func decodeVote(content []byte, _ *mentions) body {
	v := fields[struct {
		Topic   string   `json:"topic"`
		Options []string `json:"options"`
	}](content)
	return label("vote", strings.Join(append([]string{v.Topic}, v.Options...), "\n- "))
}

func decodeTodo(content []byte, m *mentions) body {
	t := fields[struct {
		Summary json.RawMessage `json:"summary"`
		DueTime any             `json:"due_time"`
	}](content)
	text := decodePost(t.Summary, m).text
	if due := moment(t.DueTime); due != "" {
		text += " (due " + due + ")"
	}
	return label("task", text)
}

func decodeCalendar(content []byte, _ *mentions) body {
	c := fields[struct {
		Summary   string `json:"summary"`
		StartTime any    `json:"start_time"`
		EndTime   any    `json:"end_time"`
	}](content)
	text := c.Summary
	if from, to := moment(c.StartTime), moment(c.EndTime); from != "" {
		text += " (" + from + " to " + to + ")"
	}
	return label("calendar", text)
}

func decodeVideoChat(content []byte, _ *mentions) body {
	return label("video meeting", fields[struct {
		Topic string `json:"topic"`
	}](content).Topic)
}

func decodeHongbao(content []byte, _ *mentions) body {
	return unsupported("[red packet: %s]", fields[struct {
		Text string `json:"text"`
	}](content).Text)
}

var placeholder = regexp.MustCompile(`\{\w+\}`)

// decodeSystem fills the template of a system message with its variables.
func decodeSystem(content []byte, _ *mentions) body {
	values := fields[map[string]any](content)
	template, _ := values["template"].(string)
	room := maxSystem
	text := placeholder.ReplaceAllStringFunc(clipBytes(template, maxSystem), func(name string) string {
		value := clipBytes(joined(values[strings.Trim(name, "{}")]), room)
		room -= len(value)
		return value
	})
	return unsupported("[system: %s]", text)
}

// joined writes a variable, a string or a list of them.
func joined(value any) string {
	switch v := value.(type) {
	case string:
		return v
	case []any:
		var names []string
		for _, item := range v {
			if s, ok := item.(string); ok {
				names = append(names, s)
			}
		}
		return strings.Join(names, ", ")
	}
	return ""
}

// label names what a text is, in brackets if there is no text.
func label(kind, text string) body {
	if text = strings.TrimSpace(text); text == "" {
		return unsupported("[%s]", kind)
	}
	return body{text: "[" + kind + "] " + text}
}

// moment formats a time in milliseconds, "" for anything else.
func moment(v any) string {
	n, err := strconv.ParseInt(fmt.Sprint(v), 10, 64)
	if f, ok := v.(float64); ok {
		n, err = int64(f), nil
	}
	if err != nil || n <= 0 || n > 1<<45 {
		return ""
	}
	return time.UnixMilli(n).UTC().Format("2006-01-02 15:04 MST")
}

func clipBytes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return s[:n]
}
