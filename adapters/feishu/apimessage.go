package feishu

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"

	larkcore "github.com/larksuite/oapi-sdk-go/v3/core"
	larkcontact "github.com/larksuite/oapi-sdk-go/v3/service/contact/v3"
	larkim "github.com/larksuite/oapi-sdk-go/v3/service/im/v1"
)

// content is a message in one of the platform's forms.
type content struct {
	msgType string // "interactive", "post", "text", "image", "file" …
	json    string
}

// sentMessage is what the platform says of a message that it took.
type sentMessage struct{ id, threadID string }

// create writes to a chat or person. The uuid makes it one message however often
// it is repeated within an hour.
func (a *api) create(ctx context.Context, idType, id string, c content, uuid string) (sentMessage, error) {
	req := larkim.NewCreateMessageReqBuilder().ReceiveIdType(idType).Body(&larkim.CreateMessageReqBody{
		ReceiveId: &id, MsgType: &c.msgType, Content: &c.json, Uuid: &uuid,
	}).Build()
	var sent sentMessage
	err := a.call(ctx, "send message", func(ctx context.Context, auth larkcore.RequestOptionFunc) (answer, error) {
		resp, err := a.sdk.im.Message.Create(ctx, req, auth)
		if err != nil {
			return answer{}, err
		}
		if resp.Data != nil {
			sent = sentMessage{str(resp.Data.MessageId), str(resp.Data.ThreadId)}
		}
		return answer{resp.ApiResp, resp.CodeError}, nil
	})
	return sent, withID(sent, err)
}

// reply answers a message, in a thread if asked. Its uuid works as in create.
func (a *api) reply(ctx context.Context, messageID string, inThread bool, c content, uuid string) (sentMessage, error) {
	req := larkim.NewReplyMessageReqBuilder().MessageId(messageID).Body(&larkim.ReplyMessageReqBody{
		MsgType: &c.msgType, Content: &c.json, ReplyInThread: &inThread, Uuid: &uuid,
	}).Build()
	var sent sentMessage
	err := a.call(ctx, "reply", func(ctx context.Context, auth larkcore.RequestOptionFunc) (answer, error) {
		resp, err := a.sdk.im.Message.Reply(ctx, req, auth)
		if err != nil {
			return answer{}, err
		}
		if resp.Data != nil {
			sent = sentMessage{str(resp.Data.MessageId), str(resp.Data.ThreadId)}
		}
		return answer{resp.ApiResp, resp.CodeError}, nil
	})
	return sent, withID(sent, err)
}

// withID refuses a success that names no message: it proves nothing.
func withID(sent sentMessage, err error) error {
	if err == nil && sent.id == "" {
		return errors.New("the platform reports success without a message id")
	}
	return err
}

// fetched is a message as the platform hands it out again.
type fetched struct {
	id, upperID, chatID, threadID string
	msgType, content              string
	senderID, senderIDType        string
	senderName                    string
	mentions                      []mention
	deleted                       bool
}

// message returns a message; a forwarded collection is followed by all that it holds.
func (a *api) message(ctx context.Context, id string) ([]fetched, error) {
	// Cards come back as their author wrote them instead of a degraded form.
	req := larkim.NewGetMessageReqBuilder().MessageId(id).CardMsgContentType("user_card_content").Build()
	var items []*larkim.Message
	err := a.call(ctx, "get message", func(ctx context.Context, auth larkcore.RequestOptionFunc) (answer, error) {
		resp, err := a.sdk.im.Message.Get(ctx, req, auth)
		if err != nil {
			return answer{}, err
		}
		if resp.Data != nil {
			items = resp.Data.Items
		}
		return answer{resp.ApiResp, resp.CodeError}, nil
	})
	return fetchedFrom(items), err
}

// threadMessage returns the id of a message in a thread, for replying into it.
func (a *api) threadMessage(ctx context.Context, threadID string) (string, error) {
	req := larkim.NewListMessageReqBuilder().ContainerIdType("thread").ContainerId(threadID).PageSize(1).Build()
	var items []*larkim.Message
	err := a.call(ctx, "list thread", func(ctx context.Context, auth larkcore.RequestOptionFunc) (answer, error) {
		resp, err := a.sdk.im.Message.List(ctx, req, auth)
		if err != nil {
			return answer{}, err
		}
		if resp.Data != nil {
			items = resp.Data.Items
		}
		return answer{resp.ApiResp, resp.CodeError}, nil
	})
	if err != nil {
		return "", err
	}
	for _, m := range fetchedFrom(items) {
		if !m.deleted && m.id != "" {
			return m.id, nil
		}
	}
	return "", &apiError{op: "list thread", msg: "the thread has no message to reply to", class: classTargetGone}
}

func fetchedFrom(items []*larkim.Message) []fetched {
	var out []fetched
	for _, m := range items {
		if m == nil {
			continue
		}
		f := fetched{
			id: str(m.MessageId), upperID: str(m.UpperMessageId), chatID: str(m.ChatId), threadID: str(m.ThreadId),
			msgType: str(m.MsgType), deleted: m.Deleted != nil && *m.Deleted,
		}
		if m.Body != nil {
			f.content = str(m.Body.Content)
		}
		if s := m.Sender; s != nil {
			f.senderID, f.senderIDType, f.senderName = str(s.Id), str(s.IdType), str(s.SenderName)
		}
		for _, at := range m.Mentions {
			if at != nil {
				f.mentions = append(f.mentions, mention{Key: str(at.Key), Name: str(at.Name), ID: userID{OpenID: str(at.Id)}})
			}
		}
		out = append(out, f)
	}
	return out
}

// react adds a reaction and returns its id.
func (a *api) react(ctx context.Context, messageID, emoji string) (string, error) {
	req := larkim.NewCreateMessageReactionReqBuilder().MessageId(messageID).Body(&larkim.CreateMessageReactionReqBody{
		ReactionType: &larkim.Emoji{EmojiType: &emoji},
	}).Build()
	var id string
	err := a.call(ctx, "add reaction", func(ctx context.Context, auth larkcore.RequestOptionFunc) (answer, error) {
		resp, err := a.sdk.im.MessageReaction.Create(ctx, req, auth)
		if err != nil {
			return answer{}, err
		}
		if resp.Data != nil {
			id = str(resp.Data.ReactionId)
		}
		return answer{resp.ApiResp, resp.CodeError}, nil
	})
	return id, err
}

// unreact removes a reaction of the bot.
func (a *api) unreact(ctx context.Context, messageID, reactionID string) error {
	req := larkim.NewDeleteMessageReactionReqBuilder().MessageId(messageID).ReactionId(reactionID).Build()
	return a.call(ctx, "remove reaction", func(ctx context.Context, auth larkcore.RequestOptionFunc) (answer, error) {
		resp, err := a.sdk.im.MessageReaction.Delete(ctx, req, auth)
		if err != nil {
			return answer{}, err
		}
		return answer{resp.ApiResp, resp.CodeError}, nil
	})
}

// chat returns what the platform knows of a chat.
func (a *api) chat(ctx context.Context, id string) (chatInfo, error) {
	req := larkim.NewGetChatReqBuilder().ChatId(id).Build()
	var info chatInfo
	err := a.call(ctx, "get chat", func(ctx context.Context, auth larkcore.RequestOptionFunc) (answer, error) {
		resp, err := a.sdk.im.Chat.Get(ctx, req, auth)
		if err != nil {
			return answer{}, err
		}
		if d := resp.Data; d != nil {
			info = chatInfo{
				name:  str(d.Name),
				topic: str(d.ChatMode) == "topic" || strings.TrimSpace(str(d.GroupMessageType)) == "thread",
			}
		}
		return answer{resp.ApiResp, resp.CodeError}, nil
	})
	return info, err
}

// userName returns a person's name; it needs the permission contact:user.base:readonly.
func (a *api) userName(ctx context.Context, openID string) (string, error) {
	req := larkcontact.NewGetUserReqBuilder().UserId(openID).UserIdType("open_id").Build()
	var name string
	err := a.call(ctx, "get user", func(ctx context.Context, auth larkcore.RequestOptionFunc) (answer, error) {
		resp, err := a.sdk.contact.User.Get(ctx, req, auth)
		if err != nil {
			return answer{}, err
		}
		if resp.Data != nil && resp.Data.User != nil {
			name = str(resp.Data.User.Name)
		}
		return answer{resp.ApiResp, resp.CodeError}, nil
	})
	return name, err
}

// uploadImage makes a picture sendable and returns its key.
func (a *api) uploadImage(ctx context.Context, data []byte) (string, error) {
	kind := "message"
	var key string
	err := a.callWithin(ctx, uploadTimeout, "upload image", func(ctx context.Context, auth larkcore.RequestOptionFunc) (answer, error) {
		req := larkim.NewCreateImageReqBuilder().Body(&larkim.CreateImageReqBody{ImageType: &kind, Image: bytes.NewReader(data)}).Build()
		resp, err := a.sdk.im.Image.Create(ctx, req, auth)
		if err != nil {
			return answer{}, err
		}
		if resp.Data != nil {
			key = str(resp.Data.ImageKey)
		}
		return answer{resp.ApiResp, resp.CodeError}, nil
	})
	return key, err
}

// uploadFile makes a file sendable and returns its key. fileType is the
// platform's: opus, mp4, pdf, doc, xls, ppt or stream.
func (a *api) uploadFile(ctx context.Context, fileType, name string, data []byte) (string, error) {
	var key string
	err := a.callWithin(ctx, uploadTimeout, "upload file", func(ctx context.Context, auth larkcore.RequestOptionFunc) (answer, error) {
		req := larkim.NewCreateFileReqBuilder().Body(&larkim.CreateFileReqBody{FileType: &fileType, FileName: &name, File: bytes.NewReader(data)}).Build()
		resp, err := a.sdk.im.File.Create(ctx, req, auth)
		if err != nil {
			return answer{}, err
		}
		if resp.Data != nil {
			key = str(resp.Data.FileKey)
		}
		return answer{resp.ApiResp, resp.CodeError}, nil
	})
	return key, err
}

// botInfo is what the app knows of itself.
type botInfo struct {
	OpenID string `json:"open_id"`
	Name   string `json:"app_name"`
	// Status is 2 when the bot is switched on.
	Status int `json:"activate_status"`
}

// bot returns the bot's own identity.
func (a *api) bot(ctx context.Context) (botInfo, error) {
	var body struct {
		larkcore.CodeError
		Bot botInfo `json:"bot"`
	}
	err := a.call(ctx, "get bot", func(ctx context.Context, auth larkcore.RequestOptionFunc) (answer, error) {
		resp, err := a.sdk.get(ctx, "/open-apis/bot/v3/info", auth)
		if err != nil {
			return answer{}, err
		}
		if err := json.Unmarshal(resp.RawBody, &body); err != nil {
			return answer{}, err
		}
		return answer{resp, body.CodeError}, nil
	})
	if err == nil && body.Bot.OpenID == "" {
		err = errors.New("get bot: no open_id in the answer: is the bot ability switched on?")
	}
	return body.Bot, err
}

// str returns what p points to, "" for nil.
func str(p *string) string {
	if p == nil {
		return ""
	}
	return *p
}
