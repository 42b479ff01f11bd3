package dingtalk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"strings"

	"github.com/chatkeep/chatkeep/adapters"
)

const pathDownload = "/v1.0/robot/messageFiles/download"

// Fetch exchanges the attachment's code for a temporary address and reads that.
// Codes end soon and belong to the robot that got the message.
func (a *Adapter) Fetch(ctx context.Context, m *adapters.Message, at adapters.Attachment, limit int64) (*adapters.Media, error) {
	r, err := parseRef(m.Ref)
	if err != nil {
		return nil, err
	}
	in := struct {
		DownloadCode string `json:"downloadCode"`
		RobotCode    string `json:"robotCode"`
	}{at.Key, r.RobotCode}
	if in.RobotCode == "" {
		in.RobotCode = a.cfg.RobotCode
	}
	var out struct {
		DownloadURL string `json:"downloadUrl"`
	}
	if err := a.api.call(ctx, "download", http.MethodPost, pathDownload, in, &out); err != nil {
		return nil, err
	}
	media, err := a.download(ctx, out.DownloadURL, limit)
	if err != nil {
		return nil, err
	}
	if at.Name != "" {
		media.Name = at.Name
	}
	return media, nil
}

// download reads at most limit bytes from an address that somebody else named.
func (a *Adapter) download(ctx context.Context, address string, limit int64) (*adapters.Media, error) {
	ctx, cancel := context.WithTimeout(ctx, a.cfg.Timing.Transfer)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, errors.New("download: the address is not valid")
	}
	resp, err := a.downloads.Do(req)
	if err != nil {
		return nil, fmt.Errorf("download: %w", withoutURL(err))
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("download: HTTP %d", resp.StatusCode)
	}
	if resp.ContentLength > limit {
		return nil, adapters.ErrTooLarge
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, limit+1))
	if err != nil {
		return nil, fmt.Errorf("download: %w", withoutURL(err))
	}
	if int64(len(data)) > limit {
		return nil, adapters.ErrTooLarge
	}
	media := &adapters.Media{ContentType: resp.Header.Get("Content-Type"), Data: data}
	if media.ContentType == "" || strings.HasPrefix(media.ContentType, "application/octet-stream") {
		media.ContentType = http.DetectContentType(data)
	}
	if base := path.Base(req.URL.Path); base != "." && base != "/" {
		media.Name = base
	}
	return media, nil
}
