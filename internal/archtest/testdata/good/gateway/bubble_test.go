package gateway

import (
	"testing"
	"testing/synctest"
	"time"

	_ "github.com/chatkeep/chatkeep/store/memstore"
)

func TestBubble(t *testing.T) {
	synctest.Test(t, func(*testing.T) { time.Sleep(time.Hour) })
}
