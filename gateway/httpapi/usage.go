package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	budgets "github.com/chatkeep/chatkeep/gateway/limit"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

// Usage tells what was used, and how budgets stand.
type Usage interface {
	Usage(ctx context.Context, q store.UsageQuery) ([]store.UsageTotal, error)
	// Today is now, in the zone that days are counted in.
	Today() time.Time
	Budget(ctx context.Context, kind store.BudgetKind, subject string) (budgets.Standing, error)
	AllowMore(ctx context.Context, kind store.BudgetKind, subject string, extra int64) (budgets.Standing, error)
	// RetryAfter is how long a message that a limit refused has to wait.
	RetryAfter(code models.ErrorCode, refusedAt time.Time) time.Duration
}

// usageRoutes are those of the admin API.
func (s *Server) usageRoutes(a *gin.RouterGroup) {
	a.GET("/usage", s.usage)
	a.GET("/budgets", s.getBudget)
	a.PUT("/budgets", s.putBudget)
}

const (
	dateFormat = "2006-01-02"
	// usageDays is how many days are summed up unless from says otherwise.
	usageDays = 30
	// maxUsageDays bounds the days of one question.
	maxUsageDays = 366
)

// usageItem is what one day, session, agent, user or model used. Key is its name,
// which stands under a name of its own as well.
type usageItem struct {
	Key        string `json:"key"`
	Day        string `json:"day,omitempty"`
	SessionKey string `json:"sessionKey,omitempty"`
	AgentID    string `json:"agentId,omitempty"`
	User       string `json:"user,omitempty"`
	Model      string `json:"model,omitempty"`
	store.UsageCount
	TotalTokens int64 `json:"totalTokens"`
}

func (s *Server) usage(c *gin.Context) {
	q, err := s.usageQuery(c)
	if err != nil {
		s.fail(c, err)
		return
	}
	totals, err := s.deps.Usage.Usage(c.Request.Context(), q)
	if err != nil {
		s.fail(c, err)
		return
	}
	items := make([]usageItem, len(totals))
	for i, t := range totals {
		items[i] = usageItem{Key: t.Subject, UsageCount: t.UsageCount, TotalTokens: t.PromptTokens + t.CompletionTokens}
		item := &items[i]
		switch q.By {
		case store.ByDay:
			item.Day = fmt.Sprintf("%04d-%02d-%02d", t.Day/10000, t.Day/100%100, t.Day%100)
			item.Key = item.Day
		case store.BySession:
			item.SessionKey = t.Subject
		case store.ByAgent:
			item.AgentID = t.Subject
		case store.ByUser:
			item.User = t.Subject
		case store.ByModel:
			item.Model = t.Subject
		}
	}
	c.JSON(http.StatusOK, pageOf(items, ""))
}

func (s *Server) usageQuery(c *gin.Context) (q store.UsageQuery, err error) {
	v, err := queries(c, "by", "from", "to", "model")
	if err != nil {
		return q, err
	}
	if q.Limit, err = limitOr(c, maxPage); err != nil {
		return q, err
	}
	q.By, q.Model = store.UsageBy(v["by"]), v["model"]
	if q.By == "" {
		q.By = store.ByDay
	}
	if !q.By.Valid() {
		return q, invalid("by must be day, session, agent, user or model")
	}
	now := dayOf(s.deps.Usage.Today())
	to, err := dateOf("to", v["to"], now, now)
	if err != nil {
		return q, err
	}
	from, err := dateOf("from", v["from"], now, to.AddDate(0, 0, 1-usageDays))
	switch {
	case err != nil:
		return q, err
	case from.After(to):
		return q, invalid("from must not be after to")
	case to.Sub(from) > maxUsageDays*24*time.Hour:
		return q, invalid(fmt.Sprintf("from and to may be %d days apart", maxUsageDays))
	}
	q.From, q.To = store.DayOf(from), store.DayOf(to)
	return q, nil
}

// today may stand for its date: which one that is, only the configured zone tells.
const today = "today"

// dateOf reads a day; now is the present one.
func dateOf(name, text string, now, otherwise time.Time) (time.Time, error) {
	switch text {
	case "":
		return otherwise, nil
	case today:
		return now, nil
	}
	t, err := time.Parse(dateFormat, text)
	if err != nil {
		return t, invalid(name + " must be a date such as 2026-11-30, or today")
	}
	return t, nil
}

func dayOf(t time.Time) time.Time {
	year, month, day := t.Date()
	return time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
}

// budget is how a budget stands today, in tokens.
type budget struct {
	Kind  store.BudgetKind `json:"kind"`
	ID    string           `json:"id"`
	Limit int64            `json:"limit"`
	Used  int64            `json:"used"`
	// Extra was allowed for today beyond the limit; zero if it was lifted altogether.
	Extra  int64 `json:"extra"`
	Lifted bool  `json:"lifted"`
}

func budgetOf(b budgets.Standing) budget {
	out := budget{Kind: b.Kind, ID: b.Subject, Limit: b.Limit, Used: b.Tokens, Extra: b.Extra, Lifted: b.IsLifted()}
	if out.Lifted {
		out.Extra = 0
	}
	return out
}

func (s *Server) getBudget(c *gin.Context) {
	v, err := queries(c, "kind")
	id := c.Query("id")
	if err == nil {
		err = checkBudget(store.BudgetKind(v["kind"]), id)
	}
	if err != nil {
		s.fail(c, err)
		return
	}
	b, err := s.deps.Usage.Budget(c.Request.Context(), store.BudgetKind(v["kind"]), id)
	if err != nil {
		s.fail(c, err)
		return
	}
	c.JSON(http.StatusOK, budgetOf(b))
}

// budgetRequest is the body of PUT /budgets: what is allowed today beyond the limit.
type budgetRequest struct {
	Kind  store.BudgetKind `json:"kind"`
	ID    string           `json:"id"`
	Extra *int64           `json:"extra"`
	Lift  bool             `json:"lift"`
}

func (s *Server) putBudget(c *gin.Context) {
	var body budgetRequest
	err := decodeBody(c, &body, true)
	if err == nil {
		err = body.check()
	}
	if err != nil {
		s.fail(c, err)
		return
	}
	extra := int64(budgets.Lifted)
	if !body.Lift {
		extra = *body.Extra
	}
	b, err := s.deps.Usage.AllowMore(c.Request.Context(), body.Kind, body.ID, extra)
	if err != nil {
		s.fail(c, err)
		return
	}
	c.JSON(http.StatusOK, budgetOf(b))
}

func (b *budgetRequest) check() error {
	switch {
	case b.Lift == (b.Extra != nil):
		return invalid("exactly one of extra and lift is needed")
	case b.Extra != nil && (*b.Extra < 0 || *b.Extra >= budgets.Lifted):
		return invalid("extra must be a number of tokens, 0 to take back what was allowed")
	}
	return checkBudget(b.Kind, b.ID)
}

func checkBudget(kind store.BudgetKind, id string) error {
	switch {
	case !kind.Valid():
		return invalid("kind must be user, session, chat, agent or task")
	case id == "":
		return invalid("id is needed: a person (channel/account/id, or a name of identities), a session key, a chat (channel/account/chatId), an agent or a task")
	}
	return checkTexts(text{"id", id, models.MaxKey})
}
