package server

import (
	"context"
	"io"
	"net/http"
)

// StdioMethod is Stdio with the method of direct calls; "": there are none.
func (s *Server) StdioMethod(ctx context.Context, in io.Reader, out io.Writer, method string) error {
	return s.stdio(ctx, in, out, method)
}

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
