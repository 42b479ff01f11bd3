package dingtalk

// webhookBody is a message to a session webhook.
type webhookBody struct {
	MsgType  string          `json:"msgtype"`
	Markdown webhookMarkdown `json:"markdown"`
	At       *webhookAt      `json:"at,omitempty"`
}

type webhookMarkdown struct {
	Title string `json:"title"`
	Text  string `json:"text"`
}

type webhookAt struct {
	AtUserIDs []string `json:"atUserIds"`
}

// webhookMessage mentions staffID unless it is empty; the text must hold the
// mention too.
func webhookMessage(text, staffID string) webhookBody {
	plain, _ := cutMention(text, staffID)
	b := webhookBody{MsgType: "markdown", Markdown: webhookMarkdown{Title: titleOf(plain), Text: text}}
	if staffID != "" {
		b.At = &webhookAt{AtUserIDs: []string{staffID}}
	}
	return b
}

// robotMessage is a message over the OpenAPI, to a group or to people.
type robotMessage struct {
	RobotCode          string   `json:"robotCode"`
	OpenConversationID string   `json:"openConversationId,omitempty"`
	UserIDs            []string `json:"userIds,omitempty"`
	MsgKey             string   `json:"msgKey"`
	MsgParam           string   `json:"msgParam"` // JSON text
}

// robotAnswer is what the platform says of it. A person in one of the lists got nothing.
type robotAnswer struct {
	ProcessQueryKey string    `json:"processQueryKey"`
	Invalid         list[str] `json:"invalidStaffIdList"`
	FlowControlled  list[str] `json:"flowControlledStaffIdList"`
}

// Kinds of messages over the OpenAPI.
const (
	keyMarkdown = "sampleMarkdown"
	keyFile     = "sampleFile"
)

type markdownParam struct {
	Title string `json:"title"`
	Text  string `json:"text"`
}

type fileParam struct {
	MediaID  string `json:"mediaId"`
	FileName string `json:"fileName"`
	FileType string `json:"fileType"`
}

// msgParam returns the msgParam of a Markdown message.
func msgParam(text string) string { return param(markdownParam{Title: titleOf(text), Text: text}) }

func param(v any) string {
	b, err := encode(v)
	if err != nil {
		return "" // cannot be: strings only
	}
	return string(b)
}
