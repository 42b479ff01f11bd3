package httpapi

import (
	"context"
	"errors"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/chatkeep/chatkeep/gateway"
	"github.com/chatkeep/chatkeep/models"
	"github.com/chatkeep/chatkeep/store"
)

// Tasks reads and makes scheduled tasks.
type Tasks interface {
	Task(ctx context.Context, id string) (*gateway.TaskView, error)
	ListTasks(ctx context.Context, q store.TaskQuery) (items []gateway.TaskView, nextCursor string, err error)
	TaskRuns(ctx context.Context, q store.TaskRunQuery) (items []*models.TaskRun, nextCursor string, err error)
	NewTask(owner string) *models.Task
	CreateTask(ctx context.Context, t *models.Task) (*gateway.TaskView, error)
}

// TaskControl changes scheduled tasks.
type TaskControl interface {
	ChangeTask(ctx context.Context, id string, change func(*models.Task) error) (*gateway.TaskView, error)
	PauseTask(ctx context.Context, id string) (*gateway.TaskView, error)
	ResumeTask(ctx context.Context, id string) (*gateway.TaskView, error)
	RunTask(ctx context.Context, id string) (*models.TaskRun, error)
	DeleteTask(ctx context.Context, id string) error
}

func (s *Server) taskRoutes(a *gin.RouterGroup) {
	a.GET("/tasks", s.listTasks)
	a.POST("/tasks", s.createTask)
	a.GET("/tasks/:id", s.getTask)
	a.PATCH("/tasks/:id", s.patchTask)
	a.DELETE("/tasks/:id", s.deleteTask)
	a.POST("/tasks/:id/run", s.runTask)
	a.POST("/tasks/:id/pause", s.pauseTask)
	a.POST("/tasks/:id/resume", s.resumeTask)
	a.GET("/tasks/:id/runs", s.taskRuns)
}

// taskProblem is problemOf where what is missing is the task.
func taskProblem(err error) error {
	var p *problem
	switch {
	case errors.As(err, &p):
		return err
	case errors.Is(err, store.ErrNotFound):
		return &problem{code: models.CodeTaskNotFound, message: "there is no such task"}
	case errors.Is(err, gateway.ErrUnknownAccount):
		return invalid("deliver names an account that is not configured")
	}
	return err
}

func taskID(c *gin.Context) (string, error) {
	id, err := idOf(c)
	if err != nil {
		return "", &problem{code: models.CodeTaskNotFound, message: "there is no such task"}
	}
	return id, nil
}

func (s *Server) listTasks(c *gin.Context) {
	n, err := limit(c)
	if err != nil {
		s.fail(c, err)
		return
	}
	v, err := queries(c, "owner", "cursor")
	if err != nil {
		s.fail(c, err)
		return
	}
	items, next, err := s.deps.Tasks.ListTasks(c.Request.Context(), store.TaskQuery{Owner: v["owner"], Limit: n, Cursor: v["cursor"]})
	if err != nil {
		s.fail(c, err)
		return
	}
	c.JSON(http.StatusOK, pageOf(items, next))
}

func (s *Server) createTask(c *gin.Context) {
	var body gateway.TaskInput
	t := s.deps.Tasks.NewTask(models.OwnerAdmin)
	err := decodeBody(c, &body, true)
	if err == nil {
		if body.ID != nil {
			t.ID = *body.ID
		}
		err = body.Apply(t)
	}
	if err != nil {
		s.fail(c, err)
		return
	}
	if t.AgentID == "" && len(s.cfg.Agents) > 0 {
		t.AgentID = s.cfg.Agents[0].ID
	}
	view, err := s.deps.Tasks.CreateTask(c.Request.Context(), t)
	if errors.Is(err, store.ErrExists) {
		err = conflict("there is a task with this id")
	}
	if err != nil {
		s.fail(c, taskProblem(err))
		return
	}
	c.JSON(http.StatusCreated, view)
}

func (s *Server) getTask(c *gin.Context)    { s.withTask(c, s.deps.Tasks.Task) }
func (s *Server) pauseTask(c *gin.Context)  { s.withTask(c, s.deps.TaskControl.PauseTask) }
func (s *Server) resumeTask(c *gin.Context) { s.withTask(c, s.deps.TaskControl.ResumeTask) }

// withTask answers with the task that the path names, after do.
func (s *Server) withTask(c *gin.Context, do func(context.Context, string) (*gateway.TaskView, error)) {
	id, err := taskID(c)
	var view *gateway.TaskView
	if err == nil {
		view, err = do(c.Request.Context(), id)
	}
	if err != nil {
		s.fail(c, taskProblem(err))
		return
	}
	c.JSON(http.StatusOK, view)
}

func (s *Server) patchTask(c *gin.Context) {
	var body gateway.TaskInput
	err := decodeBody(c, &body, true)
	if err == nil && body.ID != nil && *body.ID != c.Param("id") {
		err = invalid("the id of a task cannot be changed")
	}
	if err != nil {
		s.fail(c, err)
		return
	}
	s.withTask(c, func(ctx context.Context, id string) (*gateway.TaskView, error) {
		return s.deps.TaskControl.ChangeTask(ctx, id, body.Apply)
	})
}

func (s *Server) deleteTask(c *gin.Context) {
	id, err := taskID(c)
	if err == nil {
		err = s.deps.TaskControl.DeleteTask(c.Request.Context(), id)
	}
	if err != nil {
		s.fail(c, taskProblem(err))
		return
	}
	c.Status(http.StatusNoContent)
}

func (s *Server) runTask(c *gin.Context) {
	id, err := taskID(c)
	var run *models.TaskRun
	if err == nil {
		run, err = s.deps.TaskControl.RunTask(c.Request.Context(), id)
	}
	if errors.Is(err, store.ErrConflict) {
		err = conflict("a run of this task is under way")
	}
	if err != nil {
		s.fail(c, taskProblem(err))
		return
	}
	c.JSON(http.StatusAccepted, run)
}

func (s *Server) taskRuns(c *gin.Context) {
	id, err := taskID(c)
	n := 0
	if err == nil {
		n, err = limit(c)
	}
	var v map[string]string
	if err == nil {
		v, err = queries(c, "cursor")
	}
	if err != nil {
		s.fail(c, err)
		return
	}
	items, next, err := s.deps.Tasks.TaskRuns(c.Request.Context(), store.TaskRunQuery{TaskID: id, Limit: n, Cursor: v["cursor"]})
	if err != nil {
		s.fail(c, taskProblem(err))
		return
	}
	c.JSON(http.StatusOK, pageOf(items, next))
}
