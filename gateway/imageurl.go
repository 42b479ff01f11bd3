package gateway

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/chatkeep/chatkeep/adapters"
	"github.com/chatkeep/chatkeep/internal/text"
	"github.com/chatkeep/chatkeep/models"
)

const (
	// imageTimeout bounds fetching one picture.
	imageTimeout = 30 * time.Second
	// maxFetches bounds the pictures that are fetched for one call without a session,
	// which may bring any number of messages.
	maxFetches = 64
)

// WithImages sets the client that fetches pictures which callers name by their URL. It
// must refuse addresses that nobody outside may reach. Without it URLs are passed on.
func WithImages(client *http.Client) Option { return func(g *Gateway) { g.images = client } }

var (
	errNoImage  = errors.New("it is no picture that models take")
	errBadImage = errors.New("the server does not give it out")
)

// fetchImage returns a picture as a data URL. One that is none yet is fetched; at most
// limit bytes of it.
func (g *Gateway) fetchImage(ctx context.Context, address string, limit int) (image string, size int, err error) {
	if limit <= 0 {
		return "", 0, adapters.ErrTooLarge
	}
	if strings.HasPrefix(address, "data:") {
		size = base64.StdEncoding.DecodedLen(len(address))
		if size > limit {
			return "", 0, adapters.ErrTooLarge
		}
		return address, size, nil
	}
	ctx, cancel := context.WithTimeout(ctx, imageTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return "", 0, errBadImage
	}
	res, err := g.images.Do(req)
	if err != nil {
		return "", 0, withoutURL(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return "", 0, fmt.Errorf("%w: status %d", errBadImage, res.StatusCode)
	}
	data, err := io.ReadAll(io.LimitReader(res.Body, int64(limit)+1))
	switch {
	case err != nil:
		return "", 0, withoutURL(err)
	case len(data) > limit:
		return "", 0, adapters.ErrTooLarge
	}
	media := http.DetectContentType(data)
	switch media {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return "data:" + media + ";base64," + base64.StdEncoding.EncodeToString(data), len(data), nil
	}
	return "", 0, errNoImage
}

// withoutURL takes the address off an error of the HTTP client: it may be signed.
func withoutURL(err error) error {
	if failed, ok := errors.AsType[*url.Error](err); ok {
		return failed.Err
	}
	return err
}

// imageAt is the picture of a message that came with its URL.
func (r *turn) imageAt(ctx context.Context, address, name string) (image, says string) {
	if r.g.images == nil {
		return address, ""
	}
	image, size, err := r.g.fetchImage(ctx, address, maxImages-r.imageBytes)
	if err != nil {
		r.g.log.Warn("picture could not be fetched", "inbound", r.head.ID, "error", err)
		return "", text.Say(r.lang, text.MediaUnreadable, name)
	}
	r.imageBytes += size
	return image, ""
}

// withImages returns messages whose pictures are fetched; those that cannot be are
// named as such.
func (g *Gateway) withImages(ctx context.Context, messages []*models.SessionMessage) []*models.SessionMessage {
	if g.images == nil {
		return messages
	}
	left, fetches := maxImages, 0
	out := make([]*models.SessionMessage, len(messages))
	for i, m := range messages {
		out[i] = m
		if len(m.Images) == 0 {
			continue
		}
		fetched := m.Clone()
		fetched.Images = nil
		for _, address := range m.Images {
			if fetches++; fetches > maxFetches {
				left = 0
			}
			image, size, err := g.fetchImage(ctx, address, left)
			if err != nil {
				g.log.Warn("picture could not be fetched", "error", err)
				fetched.Content = strings.TrimPrefix(fetched.Content+"\n"+text.Say(text.English, text.MediaUnreadable, adapters.Image), "\n")
				continue
			}
			left -= size
			fetched.Images = append(fetched.Images, image)
		}
		out[i] = fetched
	}
	return out
}
