package feishu

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	larkcore "github.com/larksuite/oapi-sdk-go/v3/core"

	"github.com/chatkeep/chatkeep/adapters"
)

func TestErrorTable(t *testing.T) {
	kinds := map[int]adapters.SendErrorKind{
		99991661: adapters.Retry, 99991663: adapters.Retry, 99991664: adapters.Retry, 99991671: adapters.Retry,
		99991672: adapters.Unavailable, 99991676: adapters.Unavailable, 99991679: adapters.Unavailable, 230027: adapters.Unavailable,
		99991543: adapters.Unavailable, 10003: adapters.Unavailable, 10014: adapters.Unavailable,
		99991662: adapters.Unavailable, 99991673: adapters.Unavailable, 230006: adapters.Unavailable, 232025: adapters.Unavailable,
		99991400: adapters.RateLimited, 230020: adapters.RateLimited, 11232: adapters.RateLimited,
		99991403: adapters.Unavailable,
		230001:   adapters.Refused, 230025: adapters.Refused, 230099: adapters.Refused,
		230002: adapters.TargetGone, 230013: adapters.TargetGone, 230045: adapters.TargetGone, 232009: adapters.TargetGone,
		230011: adapters.Refused, 231003: adapters.Refused, 230028: adapters.Refused, 230035: adapters.Refused, 230050: adapters.Refused,
		230072: adapters.Gone, 230031: adapters.Gone, 300309: adapters.Gone, 300313: adapters.Gone, 300317: adapters.Gone, 200850: adapters.Gone,
		234001: adapters.Refused, 234002: adapters.Refused, 234043: adapters.Refused,
		987654: adapters.Refused,
	}
	for code, want := range kinds {
		for _, status := range []int{http.StatusOK, http.StatusBadRequest} {
			header := http.Header{"X-Ogw-Ratelimit-Reset": {"12"}}
			err := sendError(apiErrorOf("test", &larkcore.ApiResp{StatusCode: status, Header: header}, larkcore.CodeError{Code: code, Msg: "m"}))
			e := adapters.SendErrorOf(err)
			if e.Kind != want || e.Code != strconv.Itoa(code) {
				t.Errorf("code %d, HTTP %d: kind %q, want %q", code, status, e.Kind, want)
			}
			if e.RetryAfter != 12*time.Second {
				t.Errorf("code %d: RetryAfter %v", code, e.RetryAfter)
			}
		}
	}
	for code := range codes {
		if _, ok := kinds[code]; !ok && codes[code] != classContent && codes[code] != classServer && code != 99991401 {
			t.Errorf("code %d is not in this test", code)
		}
	}
	for status, want := range map[int]adapters.SendErrorKind{429: adapters.RateLimited, 500: adapters.Unknown, 502: adapters.Unknown, 400: adapters.Refused} {
		err := sendError(apiErrorOf("test", &larkcore.ApiResp{StatusCode: status}, larkcore.CodeError{Code: 1}))
		if e := adapters.SendErrorOf(err); e.Kind != want {
			t.Errorf("HTTP %d: kind %q, want %q", status, e.Kind, want)
		}
	}
}

func TestMissingPermissionIsNamed(t *testing.T) {
	code := larkcore.CodeError{Code: 99991672, Msg: "Access denied"}
	code.Err = &struct {
		LogID                string                                   `json:"log_id,omitempty"`
		Troubleshooter       string                                   `json:"troubleshooter,omitempty"`
		Details              []*larkcore.CodeErrorDetail              `json:"details,omitempty"`
		PermissionViolations []*larkcore.CodeErrorPermissionViolation `json:"permission_violations,omitempty"`
		FieldViolations      []*larkcore.CodeErrorFieldViolation      `json:"field_violations,omitempty"`
		Helps                []*larkcore.CodeErrorHelp                `json:"helps,omitempty"`
	}{PermissionViolations: []*larkcore.CodeErrorPermissionViolation{{Subject: "im:message:send_as_bot"}}}
	if err := apiErrorOf("send", nil, code); !strings.Contains(err.Error(), "im:message:send_as_bot") {
		t.Errorf("%v", err)
	}
}
