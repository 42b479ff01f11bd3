package gateway

import "github.com/chatkeep/chatkeep/internal/panics"

// safely runs work and reports whether it came to its end: a panic is logged, and ends
// nothing but the work.
func (g *Gateway) safely(name string, work func()) (ok bool) {
	defer func() {
		if v := recover(); v != nil {
			g.log.Error("panic", "in", name, "panic", panics.Value(v))
		}
	}()
	work()
	return true
}
