package gateway

import "time"

func wait() time.Time {
	time.Sleep(1) // want banned
	return time.Now()
}
