package gateway

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/chatkeep/chatkeep/adapters"
	"github.com/chatkeep/chatkeep/internal/text"
	"github.com/chatkeep/chatkeep/models"
)

// Limits on what is fetched for one message.
const (
	// maxImages is how much the pictures of one turn may hold together, in bytes: as
	// data URLs they are stored with the session, and a turn is one packet to MySQL.
	maxImages = 6 << 20
	// maxTextFile is the largest text file whose content is given to the agent, in bytes.
	maxTextFile = 256 << 10
)

// read turns a message's attachments into what an agent can take: pictures as
// data URLs, small text files as text, everything else by its name. What cannot
// be fetched is named as such: the agent, and so the user, learns of it.
func (r *turn) read(ctx context.Context, env *envelope, channelMessage string) (content string, images []string) {
	m := env.Message
	parts := make([]string, 0, 1+len(m.Attachments))
	if channelMessage != "" {
		parts = append(parts, channelMessage)
	}
	for _, a := range m.Attachments {
		image, says := r.attachment(ctx, m, a)
		if image != "" {
			images = append(images, image)
		}
		if says != "" {
			parts = append(parts, says)
		}
	}
	return strings.Join(parts, "\n"), images
}

func (r *turn) attachment(ctx context.Context, m *adapters.Message, a adapters.Attachment) (image, says string) {
	name := a.Name
	if name == "" {
		name = string(a.Kind)
	}
	named := text.Say(r.lang, text.AttachmentNamed, a.Kind, name)
	if a.Text != "" { // the platform has recognised what was said
		return "", a.Text
	}
	if a.Kind == adapters.Image && !r.agent.Images {
		return "", named
	}
	if a.Kind != adapters.Image && a.Kind != adapters.File {
		return "", named
	}
	fetcher, ok := r.adapter.(adapters.MediaFetcher)
	if !ok {
		if a.Kind == adapters.Image {
			return r.imageAt(ctx, a.Key, name)
		}
		return "", named
	}
	limit := int64(maxImages - r.imageBytes)
	if a.Kind == adapters.File {
		limit = maxTextFile
	}
	media, err := fetcher.Fetch(ctx, m, a, limit)
	if err != nil {
		r.g.log.Warn("attachment could not be fetched", "inbound", r.head.ID, "kind", a.Kind, "error", err)
		return "", text.Say(r.lang, text.MediaUnreadable, name)
	}
	if a.Kind == adapters.Image {
		r.imageBytes += len(media.Data)
		return "data:" + media.ContentType + ";base64," + base64.StdEncoding.EncodeToString(media.Data), ""
	}
	if utf8.Valid(media.Data) && !bytes.ContainsRune(media.Data, 0) {
		return "", fmt.Sprintf("%s\n```\n%s\n```", named, media.Data)
	}
	return "", named
}

// nameOmitted names the pictures of an earlier message that are too much to be sent again.
func nameOmitted(m *models.SessionMessage) {
	if !m.ImagesOmitted {
		return
	}
	named := text.Say(text.English, text.AttachmentNamed, adapters.Image, adapters.Image)
	if m.Content != "" {
		named = m.Content + "\n" + named
	}
	m.Content, m.TokenCount = named, 0
}
