package dingtalk

import "sync"

// recent is a bounded memory: the oldest entry makes room for a new one.
type recent[V any] struct {
	mu    sync.Mutex
	limit int
	items map[string]V
	order []string
}

func newRecent[V any](limit int) *recent[V] {
	return &recent[V]{limit: limit, items: map[string]V{}}
}

// change replaces the value of key by what f makes of it; a new key starts at the zero value.
func (r *recent[V]) change(key string, f func(V) V) V {
	r.mu.Lock()
	defer r.mu.Unlock()
	v, known := r.items[key]
	if !known {
		if len(r.order) >= r.limit {
			delete(r.items, r.order[0])
			r.order = r.order[1:]
		}
		r.order = append(r.order, key)
	}
	v = f(v)
	r.items[key] = v
	return v
}

func (r *recent[V]) get(key string) V {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.items[key]
}
