package client

import (
	"context"
	"log/slog"

	"github.com/fettle-dev/fettle/core/mcp"
)

// maskedLogger returns the logger for the SDK, which masks secrets.
func maskedLogger(l *slog.Logger, m *mcp.Mask) *slog.Logger {
	return slog.New(&maskedHandler{l.Handler(), m})
}

// maskedHandler is a log handler that masks secrets.
type maskedHandler struct {
	slog.Handler
	mask *mcp.Mask
}

// Handle implements slog.Handler.
func (h *maskedHandler) Handle(ctx context.Context, r slog.Record) error {
	plain := slog.NewRecord(r.Time, r.Level, h.mask.Hide(r.Message), r.PC)
	r.Attrs(func(a slog.Attr) bool {
		plain.AddAttrs(h.attr(a))
		return true
	})
	return h.Handler.Handle(ctx, plain)
}

// WithAttrs implements slog.Handler.
func (h *maskedHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	plain := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		plain[i] = h.attr(a)
	}
	return &maskedHandler{h.Handler.WithAttrs(plain), h.mask}
}

// WithGroup implements slog.Handler.
func (h *maskedHandler) WithGroup(name string) slog.Handler {
	return &maskedHandler{h.Handler.WithGroup(name), h.mask}
}

// attr returns a as masked text.
func (h *maskedHandler) attr(a slog.Attr) slog.Attr {
	return slog.String(a.Key, h.mask.Hide(a.Value.Resolve().String()))
}
