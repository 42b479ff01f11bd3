package sessionmgr

import (
	"context"
	"sync"
)

// keyLocks is a mutex per session key that leaves nothing behind when free.
type keyLocks struct {
	mu   sync.Mutex
	held map[string]*keyLock
}

type keyLock struct {
	free  chan struct{} // holds one token while nobody has the lock
	users int           // holder and waiters
}

// lock waits for the key until ctx ends. The returned function frees it.
func (l *keyLocks) lock(ctx context.Context, key string) (unlock func(), err error) {
	k := l.join(key)
	select {
	case <-k.free:
		return func() { k.free <- struct{}{}; l.leave(key, k) }, nil
	case <-ctx.Done():
		l.leave(key, k)
		return nil, context.Cause(ctx)
	}
}

func (l *keyLocks) join(key string) *keyLock {
	l.mu.Lock()
	defer l.mu.Unlock()
	k := l.held[key]
	if k == nil {
		if l.held == nil {
			l.held = make(map[string]*keyLock)
		}
		k = &keyLock{free: make(chan struct{}, 1)}
		k.free <- struct{}{}
		l.held[key] = k
	}
	k.users++
	return k
}

func (l *keyLocks) leave(key string, k *keyLock) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if k.users--; k.users == 0 {
		delete(l.held, key)
	}
}
