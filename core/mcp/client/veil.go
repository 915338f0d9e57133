package client

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"

	"github.com/fettle-dev/fettle/core/redact"
)

// veil hides in text for people what is secret of a connection: what the spec
// has, and what the server has given it to be known by. It is safe for concurrent
// use.
type veil struct {
	mask *mask

	mu      sync.Mutex
	learned []string
}

// learn has a text hidden that the server is to know the session by. One of less
// than four bytes, which stands in every text, is not; nor is one that comes after
// a hundred others.
func (v *veil) learn(secret string) {
	const most = 100
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(secret) >= 4 && len(v.learned) < most && !slices.Contains(v.learned, secret) {
		v.learned = append(v.learned, secret)
	}
}

// text returns s without secrets.
func (v *veil) text(s string) string {
	v.mu.Lock()
	learned := slices.Clone(v.learned)
	v.mu.Unlock()
	slices.SortFunc(learned, func(a, b string) int { return len(b) - len(a) }) // the longer before what it holds
	for _, secret := range learned {
		s = strings.ReplaceAll(s, secret, redact.Mark)
	}
	return v.mask.text(s)
}

// logger returns what the SDK logs to: what people see of it holds no secret.
func (v *veil) logger(l *slog.Logger) *slog.Logger { return slog.New(&veiled{l.Handler(), v}) }

// veiled is a handler of logs without secrets.
type veiled struct {
	slog.Handler
	veil *veil
}

// Handle implements slog.Handler.
func (h *veiled) Handle(ctx context.Context, r slog.Record) error {
	plain := slog.NewRecord(r.Time, r.Level, h.veil.text(r.Message), r.PC)
	r.Attrs(func(a slog.Attr) bool {
		plain.AddAttrs(h.attr(a))
		return true
	})
	return h.Handler.Handle(ctx, plain)
}

// WithAttrs implements slog.Handler.
func (h *veiled) WithAttrs(attrs []slog.Attr) slog.Handler {
	plain := make([]slog.Attr, len(attrs))
	for i, a := range attrs {
		plain[i] = h.attr(a)
	}
	return &veiled{h.Handler.WithAttrs(plain), h.veil}
}

// WithGroup implements slog.Handler.
func (h *veiled) WithGroup(name string) slog.Handler {
	return &veiled{h.Handler.WithGroup(name), h.veil}
}

// attr is a as text.
func (h *veiled) attr(a slog.Attr) slog.Attr {
	return slog.String(a.Key, h.veil.text(a.Value.Resolve().String()))
}
