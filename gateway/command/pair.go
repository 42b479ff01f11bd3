package command

import (
	"cmp"
	"errors"
	"strings"

	"github.com/chatkeep/chatkeep/gateway/access"
	"github.com/chatkeep/chatkeep/internal/text"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

// shownRequests bounds the requests for access that are listed.
const shownRequests = 20

// pair is /pair, which lists who asks for access, and /pair CODE [no], which decides.
func pair(c *Call) (string, error) {
	if !c.AccountAdmin {
		return text.Say(c.Lang, text.AdminOnly), nil
	}
	if strings.TrimSpace(c.Args) == "" {
		return c.listRequests()
	}
	code, denied, ok := decisionOf(c.Args)
	if !ok || !access.IsCode(code) {
		return text.Say(c.Lang, text.PairUsage), nil
	}
	return c.decideAccess(code, denied)
}

func (c *Call) listRequests() (string, error) {
	pending, err := c.Tx.PendingAccess(c.Channel, c.Account, c.Now, shownRequests)
	if err != nil {
		return "", err
	}
	if len(pending) == 0 {
		return text.Say(c.Lang, text.PairNone), nil
	}
	lines := []string{text.Say(c.Lang, text.PairTitle)}
	for _, g := range pending {
		id := text.PairUser
		if g.Kind == models.AccessChat {
			id = text.PairChat
		}
		lines = append(lines, text.Say(c.Lang, id, g.Code, cmp.Or(g.Name, g.SubjectID), g.SubjectID))
	}
	return strings.Join(lines, "\n"), nil
}

// decideAccess lets in, or not, whoever asked with a code of the account.
func (c *Call) decideAccess(code string, denied bool) (string, error) {
	if !c.AccountAdmin {
		return text.Say(c.Lang, text.AdminOnly), nil
	}
	d := store.AccessDecision{
		Code: code, Channel: c.Channel, Account: c.Account, State: models.AccessApproved,
		By: c.Channel + "/" + c.Account + "/" + c.SenderID, Now: c.Now,
	}
	said := text.PairApproved
	if denied {
		d.State, said = models.AccessDenied, text.PairDenied
	}
	grant, err := access.Decide(c.Tx, d)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return text.Say(c.Lang, text.PairMissing, code), nil
	case errors.Is(err, access.ErrTooManyTries):
		return text.Say(c.Lang, text.PairTooMany), nil
	case err != nil:
		return "", err
	}
	c.Admitted = grant
	return text.Say(c.Lang, said, cmp.Or(grant.Name, grant.SubjectID)), nil
}
