package command

import (
	"strconv"
	"strings"

	"github.com/chatkeep/chatkeep/gateway/limit"
	"github.com/chatkeep/chatkeep/internal/text"
	"github.com/chatkeep/chatkeep/store"
)

// Allowance is what the sender's messages count against today.
type Allowance struct {
	Limits limit.Limits
	Day    int
	Use    limit.Use
	// Exempt is set if no limit stops the sender.
	Exempt bool
	// Person names somebody of the same account.
	Person func(userID string) string
}

// limits is /limit, which shows how today's budgets stand, and, for administrators,
// /limit lift [USER] and /limit add TOKENS [USER].
func limits(c *Call) (string, error) {
	args := words(c.Args)
	if len(args) == 0 {
		return c.showBudgets(c.Allowance.Limits.Budgets(c.Allowance.Day, c.Allowance.Use))
	}
	if !c.Admin && !c.AccountAdmin {
		return text.Say(c.Lang, text.AdminOnly), nil
	}
	extra, verb := int64(limit.Lifted), strings.ToLower(args[0])
	args = args[1:]
	switch {
	case verb == "lift" || verb == "放开":
	case (verb == "add" || verb == "增加") && len(args) > 0:
		extra, args = tokensOf(args[0]), args[1:]
		if extra == 0 {
			return text.Say(c.Lang, text.LimitUsage), nil
		}
	default:
		return text.Say(c.Lang, text.LimitUsage), nil
	}
	use := limit.Use{Session: c.Allowance.Use.Session, Chat: c.Allowance.Use.Chat}
	switch len(args) {
	case 0:
	case 1: // somebody's use of all chats
		if !c.AccountAdmin {
			return text.Say(c.Lang, text.AdminOnly), nil
		}
		use = limit.Use{Person: c.Allowance.Person(args[0])}
	default:
		return text.Say(c.Lang, text.LimitUsage), nil
	}
	return c.allowMore(c.Allowance.Limits.Budgets(c.Allowance.Day, use), extra)
}

// tokensOf reads a number of tokens; 0 if it is none.
func tokensOf(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || n >= limit.Lifted {
		return 0
	}
	return n
}

// allowMore adds to budgets for the rest of the day.
func (c *Call) allowMore(budgets []store.Budget, extra int64) (string, error) {
	spent, err := c.Tx.Spent(budgets)
	if err != nil {
		return "", err
	}
	for i, b := range budgets {
		if _, err := c.Tx.AllowMore(b, min(spent[i].Extra+extra, limit.Lifted)); err != nil {
			return "", err
		}
	}
	return c.showBudgets(budgets)
}

func (c *Call) showBudgets(budgets []store.Budget) (string, error) {
	if len(budgets) == 0 {
		return text.Say(c.Lang, text.LimitNone), nil
	}
	spent, err := c.Tx.Spent(budgets)
	if err != nil {
		return "", err
	}
	lines := []string{text.Say(c.Lang, text.LimitTitle)}
	for _, s := range c.Allowance.Limits.Standings(budgets, spent) {
		whose := text.Say(c.Lang, BudgetOf[s.Kind])
		if s.IsLifted() {
			lines = append(lines, text.Say(c.Lang, text.LimitLifted, whose, s.Tokens))
		} else {
			lines = append(lines, text.Say(c.Lang, text.LimitLine, whose, s.Tokens, s.Total()))
		}
	}
	return strings.Join(lines, "\n"), nil
}

// BudgetOf names whose a budget is.
var BudgetOf = map[store.BudgetKind]text.ID{
	store.BudgetUser: text.BudgetOfUser, store.BudgetSession: text.BudgetOfSession, store.BudgetChat: text.BudgetOfChat,
	store.BudgetAgent: text.BudgetOfAgent, store.BudgetTask: text.BudgetOfTask,
}
