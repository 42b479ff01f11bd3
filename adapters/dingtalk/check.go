package dingtalk

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/google/uuid"

	"github.com/chatkeep/chatkeep/adapters"
)

// Check asks for a token and a stream connection, and calls what needs a permission
// with an object that does not exist: the platform looks at the permission first.
func (a *Adapter) Check(ctx context.Context) ([]string, error) {
	if _, err := a.api.tokens.get(ctx); err != nil {
		if adapters.SendErrorOf(sendError(err)).Kind != adapters.Unavailable {
			return nil, err
		}
		return []string{"credentials: refused: " + err.Error()}, nil
	}
	findings := []string{"ok: credentials: accepted"}
	if a.cfg.Mode == ModeStream {
		s := stream{cfg: a.cfg, clock: a.clock, log: a.log, api: a.api}
		if _, _, err := s.register(ctx); err != nil {
			findings = append(findings, "stream mode: "+err.Error()+" (is the app published and the robot in stream mode?)")
		} else {
			findings = append(findings, "ok: stream mode: available")
		}
	}
	nobody := "chatkeep-check-" + uuid.NewString()
	probes := []struct {
		name, method, path string
		in                 any
	}{
		{"sending to groups and people", http.MethodPost, pathGroupSend, robotMessage{
			RobotCode: a.cfg.RobotCode, OpenConversationID: nobody, MsgKey: keyMarkdown, MsgParam: msgParam("check"),
		}},
		{"downloading pictures and files", http.MethodPost, pathDownload, map[string]string{
			"downloadCode": nobody, "robotCode": a.cfg.RobotCode,
		}},
	}
	if a.cfg.streams() {
		probes = append(probes, struct {
			name, method, path string
			in                 any
		}{"updating AI cards", http.MethodPut, pathCardStream, cardStream{
			OutTrackID: nobody, GUID: nobody, Key: a.cfg.CardContentKey, Content: "check", IsFull: true,
		}})
	}
	for _, p := range probes {
		finding, err := a.probe(ctx, p.method, p.path, p.in)
		if err != nil {
			return findings, err
		}
		if finding == "" {
			findings = append(findings, "ok: "+p.name+": permitted")
		} else {
			findings = append(findings, p.name+": "+finding)
		}
	}
	return findings, nil
}

// probe calls what needs a permission and returns what is wrong, "" if nothing is.
func (a *Adapter) probe(ctx context.Context, method, path string, in any) (string, error) {
	err := a.api.call(ctx, "check", method, path, in, nil)
	e, ok := errors.AsType[*apiError](err)
	switch {
	case err == nil:
		return "", nil
	case !ok:
		return "", fmt.Errorf("check %s: %w", path, err)
	case e.class == classPermission && len(e.scopes) > 0:
		return "permission missing: " + strings.Join(e.scopes, ", "), nil
	case e.class == classPermission, e.class == classQuota, e.class == classSetup, e.class == classToken:
		return e.Error(), nil
	}
	return "", nil
}
