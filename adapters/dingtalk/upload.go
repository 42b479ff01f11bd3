package dingtalk

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"mime"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/chatkeep/chatkeep/adapters"
	"github.com/chatkeep/chatkeep/models"
)

// maxUpload is the largest picture or file that the platform takes, in bytes.
const maxUpload = 20 << 20

// fileTypes are what the platform takes as a file.
var fileTypes = []string{"doc", "docx", "xls", "xlsx", "ppt", "pptx", "zip", "pdf", "rar"}

// outFile is a file that is sent as a message of its own.
type outFile struct {
	index   int
	mediaID string
	name    string
}

// outbox remembers what was done for a delivery, so that another attempt neither
// uploads nor shows a file again.
type outbox struct {
	media map[int]string
	sent  map[int]string
}

// attach uploads the files of a delivery. Pictures become part of the text; the
// other files are returned. What can never be sent is named in the text.
func (a *Adapter) attach(ctx context.Context, d *models.Delivery) (string, []outFile, error) {
	text := d.Text
	var files []outFile
	for i, file := range d.Files {
		media, err := a.load(ctx, file)
		if err == nil && media.ContentType != "" && !isImage(media) && !slices.Contains(fileTypes, extension(media)) {
			err = fmt.Errorf("the platform takes no %q files", extension(media))
		}
		if err != nil {
			a.log.WarnContext(ctx, "file of an answer cannot be sent", "delivery", d.ID, "file", i, "error", err)
			name := fmt.Sprintf("file %d", i+1)
			if media != nil && media.Name != "" {
				name = media.Name
			}
			text = paragraph(text, notSent(name))
			continue
		}
		id, err := a.upload(ctx, d.ID, i, media)
		if err != nil {
			return "", nil, err
		}
		if isImage(media) {
			text = paragraph(text, "![]("+id+")")
			continue
		}
		files = append(files, outFile{index: i, mediaID: id, name: media.Name})
	}
	return text, files, nil
}

func paragraph(text, more string) string {
	if strings.TrimSpace(text) == "" {
		return more
	}
	return text + "\n\n" + more
}

// notSent stands for a file that cannot be sent, in words of any language.
func notSent(name string) string {
	return "[" + strings.NewReplacer("[", "(", "]", ")", "<", "").Replace(name) + " ✗]"
}

// load returns a file's bytes. A media id of the platform comes back with the id
// as name and no content type.
func (a *Adapter) load(ctx context.Context, file string) (*adapters.Media, error) {
	switch {
	case strings.HasPrefix(file, "data:"):
		return fromDataURL(file)
	case strings.HasPrefix(file, "https://"), strings.HasPrefix(file, "http://"):
		return a.download(ctx, file, maxUpload)
	case strings.HasPrefix(file, "@"):
		return &adapters.Media{Name: file}, nil
	}
	return nil, errors.New("neither a URL nor a media id")
}

func fromDataURL(s string) (*adapters.Media, error) {
	head, data, ok := strings.Cut(strings.TrimPrefix(s, "data:"), ",")
	if !ok {
		return nil, errors.New("data URL without data")
	}
	m := &adapters.Media{ContentType: strings.TrimSuffix(head, ";base64")}
	var err error
	if strings.HasSuffix(head, ";base64") {
		m.Data, err = base64.StdEncoding.DecodeString(data)
	} else {
		var text string
		text, err = url.PathUnescape(data)
		m.Data = []byte(text)
	}
	if err != nil {
		return nil, errors.New("data URL is not readable")
	}
	if len(m.Data) > maxUpload {
		return nil, adapters.ErrTooLarge
	}
	if m.ContentType == "" {
		m.ContentType = http.DetectContentType(m.Data)
	}
	m.Name = "file." + extension(m)
	return m, nil
}

// isImage also holds for media ids, of which nothing else is known.
func isImage(m *adapters.Media) bool {
	return m.ContentType == "" || strings.HasPrefix(m.ContentType, "image/")
}

func extension(m *adapters.Media) string {
	if ext := strings.TrimPrefix(path.Ext(m.Name), "."); ext != "" {
		return strings.ToLower(ext)
	}
	if known, _ := mime.ExtensionsByType(m.ContentType); len(known) > 0 {
		return strings.TrimPrefix(known[0], ".")
	}
	return "bin"
}

// upload gives a file to the platform and returns its media id.
func (a *Adapter) upload(ctx context.Context, deliveryID string, index int, m *adapters.Media) (string, error) {
	if m.ContentType == "" {
		return m.Name, nil
	}
	if id := a.outbox.get(deliveryID).media[index]; id != "" {
		return id, nil
	}
	kind := "file"
	if isImage(m) {
		kind = "image"
	}
	id, err := a.api.upload(ctx, kind, m)
	if err != nil {
		return "", beforeSending(err)
	}
	a.outbox.change(deliveryID, func(o outbox) outbox { return outbox{with(o.media, index, id), o.sent} })
	return id, nil
}

// with returns a copy of m with one more entry.
func with(m map[int]string, key int, value string) map[int]string {
	out := maps.Clone(m)
	if out == nil {
		out = map[int]string{}
	}
	out[key] = value
	return out
}

// upload is a call of the older API, which takes the token in the URL.
func (c *client) upload(ctx context.Context, kind string, m *adapters.Media) (string, error) {
	const op = "media upload"
	if err := c.quota.check(); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, c.cfg.Timing.Transfer)
	defer cancel()
	for attempt := 0; ; attempt++ {
		token, err := c.tokens.get(ctx)
		if err != nil {
			return "", err
		}
		address := c.cfg.OAPIBaseURL + "/media/upload?type=" + kind + "&access_token=" + url.QueryEscape(token)
		status, data, err := c.post(ctx, op, address, m)
		if err == nil {
			err = refusal(op, status, data, true)
		}
		if classOf(err) == classToken && attempt == 0 {
			c.tokens.evict(ctx, token)
			continue
		}
		if err != nil {
			return "", err
		}
		var out struct {
			MediaID string `json:"media_id"`
		}
		if json.Unmarshal(data, &out) != nil || out.MediaID == "" {
			return "", &networkError{op: op, err: errors.New("the answer has no media id")}
		}
		return out.MediaID, nil
	}
}

func (c *client) post(ctx context.Context, op, address string, m *adapters.Media) (int, []byte, error) {
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	header := textproto.MIMEHeader{}
	header.Set("Content-Disposition", mime.FormatMediaType("form-data", map[string]string{"name": "media", "filename": m.Name}))
	header.Set("Content-Type", m.ContentType)
	part, err := form.CreatePart(header)
	if err == nil {
		_, err = part.Write(m.Data)
	}
	if err == nil {
		err = form.Close()
	}
	if err != nil {
		return 0, nil, fmt.Errorf("%s: %w", op, err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, &body)
	if err != nil {
		return 0, nil, &networkError{op: op, err: withoutURL(err)}
	}
	req.Header.Set("Content-Type", form.FormDataContentType())
	return c.roundTrip(op, req)
}

// sendFiles sends each file as a message, those not sent by an earlier attempt,
// and returns the last one's id. Session webhooks take no files, so they go
// through the OpenAPI; those that it refuses are returned.
func (a *Adapter) sendFiles(ctx context.Context, d *models.Delivery, to destination, files []outFile) (last string, unsent []outFile, err error) {
	for _, f := range files {
		if id := a.outbox.get(d.ID).sent[f.index]; id != "" {
			last = id
			continue
		}
		ext := strings.TrimPrefix(path.Ext(f.name), ".")
		id, err := a.sendRobot(ctx, to, keyFile, param(fileParam{MediaID: f.mediaID, FileName: f.name, FileType: ext}))
		switch {
		case err == nil:
			last = orMade(id, d.ID)
			a.outbox.change(d.ID, func(o outbox) outbox { return outbox{o.media, with(o.sent, f.index, last)} })
		case strings.EqualFold(codeOf(err), "resource.not.found") || adapters.SendErrorOf(sendError(err)).Kind == adapters.Refused:
			a.log.WarnContext(ctx, "file of an answer refused", "delivery", d.ID, "file", f.index, "error", err)
			unsent = append(unsent, f)
		default:
			return "", nil, err
		}
	}
	return last, unsent, nil
}

// orMade returns the platform's id, else one made of the delivery's.
func orMade(id, deliveryID string) string {
	if id == "" {
		return "openapi-" + deliveryID
	}
	return id
}
