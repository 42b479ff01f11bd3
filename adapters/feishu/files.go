package feishu

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"path"
	"strings"

	"github.com/chatkeep/chatkeep/adapters"
	"github.com/chatkeep/chatkeep/models"
)

// What may be uploaded: https://open.feishu.cn/document/server-docs/im-v1/image/create, …/file/create.
const (
	maxImage = 10 << 20
	maxFile  = 30 << 20
)

// sendFiles sends the files of a delivery, each a message of its own. A file that
// cannot be had is sent as its address, if it has one.
func (a *Adapter) sendFiles(ctx context.Context, d *models.Delivery) (first sentMessage, err error) {
	for i, file := range d.Files {
		c, err := a.fileContent(ctx, file)
		if err != nil {
			return first, err
		}
		sent, err := a.deliver(ctx, d.Target, c, uuidOf(d.ID, fmt.Sprintf("-f%d", i)))
		if err != nil {
			return first, err
		}
		if first.id == "" {
			first = sent
		}
	}
	return first, nil
}

// fileContent makes a file sendable: a key of the platform, a data URL or a URL.
func (a *Adapter) fileContent(ctx context.Context, file string) (content, error) {
	switch {
	case strings.HasPrefix(file, "img_"):
		return imageContent(file), nil
	case strings.HasPrefix(file, "file_"):
		return keyContent("file", file), nil
	case strings.HasPrefix(file, "data:"):
		media, err := parseDataURL(file)
		if err != nil {
			return content{}, &adapters.SendError{Kind: adapters.Refused, Err: err}
		}
		return a.upload(ctx, media)
	}
	media, err := a.download(ctx, file)
	if err == nil {
		var c content
		if c, err = a.upload(ctx, media); err == nil {
			return c, nil
		}
	}
	if kind := adapters.SendErrorOf(sendError(err)).Kind; kind == adapters.RateLimited || kind == adapters.Unavailable {
		return content{}, err
	}
	a.log.WarnContext(ctx, "a file of an answer is sent as its address", "error", err)
	return content{"text", textOf(clean(file))}, nil
}

func imageContent(key string) content {
	return content{"image", encode(map[string]string{"image_key": key})}
}

func keyContent(msgType, key string) content {
	return content{msgType, encode(map[string]string{"file_key": key})}
}

func (a *Adapter) upload(ctx context.Context, m *adapters.Media) (content, error) {
	refuse := func(what string) error {
		return &adapters.SendError{Kind: adapters.Refused, Err: errors.New(what)}
	}
	if err := a.api.limits.wait(ctx, laneOther); err != nil {
		return content{}, err
	}
	switch {
	case len(m.Data) == 0:
		return content{}, refuse("the file is empty")
	case len(m.Data) > maxFile:
		return content{}, refuse("the file is larger than 30 MB")
	case strings.HasPrefix(m.ContentType, "image/") && len(m.Data) <= maxImage && m.ContentType != "image/svg+xml":
		key, err := a.api.uploadImage(ctx, m.Data)
		return imageContent(key), err
	}
	fileType := fileTypeOf(m)
	key, err := a.api.uploadFile(ctx, fileType, m.Name, m.Data)
	msgType := "file"
	if fileType == "opus" {
		msgType = "audio"
	}
	return keyContent(msgType, key), err
}

// fileTypeOf returns what the platform calls a file.
func fileTypeOf(m *adapters.Media) string {
	switch ext := strings.ToLower(path.Ext(m.Name)); ext {
	case ".opus", ".mp4", ".pdf":
		return ext[1:]
	case ".doc", ".docx":
		return "doc"
	case ".xls", ".xlsx", ".csv":
		return "xls"
	case ".ppt", ".pptx":
		return "ppt"
	}
	return "stream"
}

func parseDataURL(s string) (*adapters.Media, error) {
	head, data, ok := strings.Cut(strings.TrimPrefix(s, "data:"), ",")
	if !ok {
		return nil, errors.New("a data URL without data")
	}
	kind, isBase64 := strings.CutSuffix(head, ";base64")
	if kind == "" {
		kind = "text/plain"
	}
	mediaType, _, err := mime.ParseMediaType(kind)
	if err != nil {
		return nil, errors.New("a data URL of no known type")
	}
	m := &adapters.Media{ContentType: mediaType, Name: "file" + extension(mediaType)}
	if isBase64 {
		m.Data, err = base64.StdEncoding.DecodeString(data)
	} else {
		var plain string
		plain, err = url.PathUnescape(data)
		m.Data = []byte(plain)
	}
	if err != nil {
		return nil, errors.New("a data URL that cannot be decoded")
	}
	return m, nil
}

func extension(mediaType string) string {
	switch mediaType {
	case "image/jpeg":
		return ".jpg"
	case "text/plain":
		return ".txt"
	}
	if known, err := mime.ExtensionsByType(mediaType); err == nil && len(known) > 0 {
		return known[0]
	}
	return ""
}

var errNoFetch = errors.New("files are not fetched from URLs")

// download gets a file of an answer.
func (a *Adapter) download(ctx context.Context, address string) (*adapters.Media, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || a.fetch == nil {
		return nil, errNoFetch
	}
	ctx, cancel := context.WithTimeout(ctx, uploadTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, errNoFetch
	}
	resp, err := a.fetch.Do(req)
	if err != nil {
		return nil, errors.New("the file cannot be fetched")
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the file cannot be fetched: HTTP %d", resp.StatusCode)
	}
	data, err := readAtMost(resp.Body, maxFile)
	if err != nil {
		return nil, err
	}
	return &adapters.Media{ContentType: contentType(resp.Header, data), Name: path.Base(u.Path), Data: data}, nil
}

// readAtMost reads everything, or fails with [adapters.ErrTooLarge].
func readAtMost(r io.Reader, limit int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > limit {
		return nil, adapters.ErrTooLarge
	}
	return data, nil
}

// contentType returns what a server or, if it does not know, the data says.
func contentType(h http.Header, data []byte) string {
	mediaType, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil || mediaType == "application/octet-stream" || mediaType == "binary/octet-stream" {
		mediaType, _, _ = mime.ParseMediaType(http.DetectContentType(data))
	}
	return mediaType
}
