package server

import "net/http"

// Sessions returns how many sessions requests to a handler can name.
func Sessions(h http.Handler) int {
	own := h.(*handler)
	own.mu.Lock()
	defer own.mu.Unlock()
	return len(own.sessions)
}

// Places returns how many places of a handler are taken.
func Places(h http.Handler) int {
	own := h.(*handler)
	own.mu.Lock()
	defer own.mu.Unlock()
	return own.used
}
