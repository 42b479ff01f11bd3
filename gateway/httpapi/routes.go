package httpapi

import "github.com/gin-gonic/gin"

// probeRoutes are what operators and their machines look at.
func (s *Server) probeRoutes(e *gin.Engine) {
	e.GET("/healthz", s.health)
	e.GET("/readyz", s.readiness)
	e.GET("/openapi.yaml", s.description)
}

func (s *Server) channelRoutes(e *gin.Engine) {
	v1 := e.Group("/v1", s.traced, s.requireAccount)
	v1.POST("/chat", s.chat)
	v1.GET("/inbound/:id", s.inbound)
	v1.POST("/chat/completions", s.completions)
	v1.GET("/models", s.models)

	e.POST("/webhooks/:channel/:account", s.traced, s.webhook)
}

func (s *Server) adminRoutes(e *gin.Engine) {
	e.GET("/metrics", s.requireAdminOrLocal, gin.WrapH(s.deps.Metrics.Handler()))
	s.consoleRoutes(e)

	a := e.Group("/admin/v1", s.traced, s.requireAdmin, s.refuseDryRun)
	a.GET("/sessions", s.listSessions)
	a.POST("/sessions/import", s.importSession)
	one := a.Group("/sessions/:key", s.sessionKey, s.tellChange)
	one.GET("", s.getSession)
	one.PATCH("", s.patchSession)
	one.DELETE("", s.deleteSession)
	one.GET("/messages", s.sessionMessages)
	one.GET("/context", s.sessionContext)
	one.GET("/export", s.exportSession)
	one.POST("/prune", s.pruneSession)
	one.POST("/compact", s.compactSession)
	one.POST("/reset", s.resetSession)
	one.POST("/archive", s.archiveSession)
	one.POST("/restore", s.restoreSession)
	one.POST("/cancel", s.cancelSession)
	s.slotRoutes(one)
	s.notebookRoutes(one)
	s.resultRoutes(one)

	a.GET("/search", s.search)

	a.GET("/inbound", s.listInbound)
	a.POST("/inbound/:id/retry", s.retryInbound)
	a.GET("/deliveries", s.listDeliveries)
	a.POST("/deliveries", s.push)
	a.POST("/deliveries/:id/retry", s.retryDelivery)

	s.taskRoutes(a)
	s.approvalRoutes(a)
	s.accessRoutes(a)
	s.usageRoutes(a)
	s.jobRoutes(a)

	a.GET("/events", s.liveEvents)
	a.GET("/channels", s.channels)
	a.GET("/agents", s.agents)
	a.GET("/stats", s.stats)
	a.GET("/config", s.configuration)
}
