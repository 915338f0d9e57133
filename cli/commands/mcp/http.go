package mcp

import (
	"context"
	"errors"
	"fmt"

	"github.com/fettle-dev/fettle/cli/internal/httpserve"
	"github.com/fettle-dev/fettle/cli/internal/program"
	"github.com/fettle-dev/fettle/core/mcp/server"
)

// check rejects incompatible flags; given reports whether a flag was set.
func (f *serveFlags) check(given func(flag string) bool) error {
	if err := f.Check(given, "stateless", "session-idle", "max-sessions"); err != nil || f.Addr == "" {
		return err
	}
	switch {
	case f.idle <= 0:
		return program.UsageError("--session-idle must be positive.", "Example: --session-idle 30m.")
	case f.sessions <= 0:
		return program.UsageError("--max-sessions must be at least 1.", "")
	}
	return nil
}

// listen serves over HTTP until ctx ends.
func (s *mcpServing) listen(ctx context.Context, srv *server.Server, tokens []string) error {
	l, err := s.flags.Listen(ctx)
	if err != nil {
		return errors.Join(err, srv.Close())
	}
	_, _ = fmt.Fprintf(s.Err, "fettle: serving MCP at http://%s%s\n", l.Addr(), server.Path)
	return httpserve.Serve(ctx, l, srv.Handler(server.HTTPOptions{
		Stateless: s.flags.stateless, Tokens: tokens, Hosts: s.flags.Names(), Origins: s.flags.Origins,
		Sessions: s.flags.sessions, IdleTime: s.flags.idle,
	}), srv.Close)
}
