package plan

import (
	"slices"
	"sync"

	"github.com/fettle-dev/fettle/core/tools"
)

// Todos is the list of todos of one conversation. The zero value is an empty list. It is safe for concurrent use.
type Todos struct {
	mu   sync.Mutex
	list []tools.Todo
}

// Set replaces the list.
func (t *Todos) Set(list []tools.Todo) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.list = slices.Clone(list)
}

// List returns a copy of the list; nil if it is empty.
func (t *Todos) List() []tools.Todo {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.list) == 0 {
		return nil
	}
	return slices.Clone(t.list)
}

// Clear empties the list, for a new conversation.
func (t *Todos) Clear() { t.Set(nil) }
