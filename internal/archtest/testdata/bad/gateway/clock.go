// Package gateway reads the wall clock.
package gateway

import (
	"time"

	clk "time"
)

var now = time.Now // want banned

func age(t time.Time) time.Duration {
	time.Sleep(1)        // want banned
	_ = clk.Until(t)     // want banned
	return time.Since(t) // want banned
}

func init() {} // want init
