package config

import "sync"

// broadcast tells whoever wants to know that something has changed. The zero
// value has nobody. It is safe for concurrent use.
type broadcast struct{ of broadcastOf[struct{}] }

// subscribe is that of broadcastOf.
func (b *broadcast) subscribe(f func()) (stop func()) {
	return b.of.subscribe(func(struct{}) { f() })
}

// tell says that something has changed.
func (b *broadcast) tell() { b.of.tell(struct{}{}) }

// broadcastOf is a broadcast that says what has changed.
type broadcastOf[T any] struct {
	mu   sync.Mutex
	told map[*func(T)]struct{}
}

// subscribe has f called after each change, on the goroutine that has made it,
// until stop is called; one that is being told meanwhile may still come. f must
// not block.
func (b *broadcastOf[T]) subscribe(f func(T)) (stop func()) {
	key := &f
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.told == nil {
		b.told = make(map[*func(T)]struct{})
	}
	b.told[key] = struct{}{}
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.told, key)
	}
}

// tell says what has changed. It holds no lock while it does.
func (b *broadcastOf[T]) tell(what T) {
	b.mu.Lock()
	all := make([]*func(T), 0, len(b.told))
	for f := range b.told {
		all = append(all, f)
	}
	b.mu.Unlock()
	for _, f := range all {
		(*f)(what)
	}
}
