package lane

import (
	"context"

	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/sessionmgr/key"
	"github.com/chatkeep/chatkeep/store"
)

// isTask reports whether a session belongs to a scheduled task.
func isTask(sessionKey string) bool {
	k, err := key.Parse(sessionKey)
	return err == nil && k.Scope == models.ScopeTask
}

// claimByKind claims due lanes: those of people first, and of tasks no more than fill
// half of the workers.
func (p *Pool) claimByKind(ctx context.Context, n int) ([]store.Claim, error) {
	request := p.ClaimRequest()
	request.Lanes = store.PeopleLanes
	claims, err := p.lanes.ClaimLanes(ctx, request, n)
	if err != nil {
		return claims, err
	}
	if n = min(n-len(claims), p.freeForTasks()); n <= 0 {
		return claims, nil
	}
	request.Lanes = store.TaskLanes
	tasks, err := p.lanes.ClaimLanes(ctx, request, n)
	return append(claims, tasks...), err
}

func (p *Pool) freeForTasks() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return max(1, p.cfg.Workers/2) - p.tasks
}

// ended gives back a task's share of the workers.
func (p *Pool) ended(r *run) {
	if !r.task {
		return
	}
	p.mu.Lock()
	p.tasks--
	p.mu.Unlock()
	p.Nudge() // another task may have waited for the share
}
