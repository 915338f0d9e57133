package bus

// Watched reports whether anybody sees messages of a type, an observer too, so
// that a message that is costly to make need not be made for nobody.
func (b *MessageBus) Watched(t Type) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.typed[t]) > 0 || len(b.all) > 0 || len(b.observers) > 0
}
