package server

import "net/http"

// Sessions returns the number of registered sessions of a handler.
func Sessions(h http.Handler) int {
	own := h.(*handler)
	own.mu.Lock()
	defer own.mu.Unlock()
	return len(own.sessions)
}

// Places returns the number of used places of a handler.
func Places(h http.Handler) int {
	own := h.(*handler)
	own.mu.Lock()
	defer own.mu.Unlock()
	return own.used
}
