package feishu

import (
	"context"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"strings"

	larkcore "github.com/larksuite/oapi-sdk-go/v3/core"

	"github.com/chatkeep/chatkeep/adapters"
)

// keySeparator stands between a message id and a file key where an attachment is
// not of the message itself.
const keySeparator = "/"

// maxErrorBody is how much of a refusal is read.
const maxErrorBody = 64 << 10

// Fetch gets a picture or file that a person sent. The SDK's call of this holds
// the whole body in memory, whatever its size.
func (a *Adapter) Fetch(ctx context.Context, m *adapters.Message, attachment adapters.Attachment, limit int64) (*adapters.Media, error) {
	messageID, key := m.ID, attachment.Key
	if id, rest, ok := strings.Cut(attachment.Key, keySeparator); ok {
		messageID, key = id, rest
	}
	kind := "file"
	if attachment.Kind == adapters.Image {
		kind = "image"
	}
	path := fmt.Sprintf("/open-apis/im/v1/messages/%s/resources/%s?type=%s", url.PathEscape(messageID), url.PathEscape(key), kind)
	if err := a.api.limits.wait(ctx, laneOther); err != nil {
		return nil, err
	}
	var media *adapters.Media
	err := a.api.callWithin(ctx, uploadTimeout, "fetch attachment", func(ctx context.Context, auth larkcore.RequestOptionFunc) (answer, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, a.api.baseURL+path, nil)
		if err != nil {
			return answer{}, err
		}
		var option larkcore.RequestOption
		auth(&option)
		req.Header.Set("Authorization", "Bearer "+option.TenantAccessToken)
		resp, err := a.http.Do(req)
		if err != nil {
			return answer{}, err
		}
		defer func() { _ = resp.Body.Close() }()
		if resp.StatusCode != http.StatusOK && resp.StatusCode != http.StatusPartialContent {
			return refusal(resp)
		}
		if resp.ContentLength > limit {
			return answer{}, adapters.ErrTooLarge
		}
		data, err := readAtMost(resp.Body, limit)
		if err != nil {
			return answer{}, err
		}
		media = &adapters.Media{ContentType: contentType(resp.Header, data), Name: nameOfFile(attachment, resp.Header), Data: data}
		return answer{}, nil
	})
	return media, err
}

// refusal reads the platform's reason out of an answer that is no file.
func refusal(resp *http.Response) (answer, error) {
	data, err := readAtMost(resp.Body, maxErrorBody)
	if err != nil {
		return answer{}, err
	}
	var code larkcore.CodeError
	if json.Unmarshal(data, &code) != nil || code.Code == 0 {
		return answer{}, &httpError{status: resp.StatusCode, reset: resetAfter(resp.Header)}
	}
	return answer{&larkcore.ApiResp{StatusCode: resp.StatusCode, Header: resp.Header}, code}, nil
}

func nameOfFile(a adapters.Attachment, h http.Header) string {
	if a.Name != "" {
		return a.Name
	}
	_, params, err := mime.ParseMediaType(h.Get("Content-Disposition"))
	if err != nil {
		return ""
	}
	return params["filename"]
}
