package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"time"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/internal/program"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/mcp/server"
)

// check rejects incompatible flags; given reports whether a flag was set.
func (f *serveFlags) check(given func(flag string) bool) error {
	for flag, value := range map[string]string{"http": f.http, "token-env": f.tokenEnv, "token-file": f.tokenFile} {
		if given(flag) && strings.TrimSpace(value) == "" { // such as an unset shell variable: the server would accept every client
			return program.UsageError("--"+flag+" has an empty value.", "Give it a value, or omit it.")
		}
	}
	if f.http == "" {
		for _, flag := range []string{"allow-remote", "token-env", "token-file", "allow-host", "allow-origin", "stateless", "session-idle", "max-sessions"} {
			if given(flag) {
				return program.UsageError("--"+flag+" requires --http.", "Add --http ADDR, or omit it.")
			}
		}
		return nil
	}
	host, _, err := net.SplitHostPort(f.http)
	switch {
	case err != nil:
		return program.UsageError(fmt.Sprintf("%q is not HOST:PORT.", f.http), "Example: --http 127.0.0.1:7337.")
	case f.tokenEnv != "" && f.tokenFile != "":
		return program.UsageError("--token-env and --token-file are mutually exclusive.", "Give one of them.")
	case !isLoopback(host) && !f.allowRemote:
		return program.UsageError(fmt.Sprintf("Other machines could connect to %s and run commands here.", f.http),
			"Use an address such as 127.0.0.1:7337, or add --allow-remote and a token with --token-env or --token-file.")
	case f.allowRemote && f.tokenEnv == "" && f.tokenFile == "":
		return program.UsageError("--allow-remote requires a token.", "Store a token in a variable for --token-env, or in a file for --token-file.")
	case isUnspecified(host) && len(f.hosts) == 0:
		return program.UsageError(fmt.Sprintf("At %s the server cannot know its own host names and rejects all but loopback names.", f.http),
			"Add --allow-host HOST for each name or address, or listen on one address.")
	case f.idle <= 0:
		return program.UsageError("--session-idle must be positive.", "Example: --session-idle 30m.")
	case f.sessions <= 0:
		return program.UsageError("--max-sessions must be at least 1.", "")
	}
	return nil
}

// isLoopback reports whether only this machine can reach a listen address.
func isLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}

// isUnspecified reports whether a listen address stands for every address of this
// machine.
func isUnspecified(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "" || err == nil && addr.Unmap().IsUnspecified()
}

// tokens returns the accepted bearer tokens, none if every client is accepted.
func (f *serveFlags) tokens() ([]string, error) {
	var text, from string
	switch {
	case f.tokenEnv != "":
		from = "The variable " + f.tokenEnv
		text = os.Getenv(f.tokenEnv)
	case f.tokenFile != "":
		from = "The file " + f.tokenFile
		data, err := os.ReadFile(f.tokenFile)
		if err != nil {
			return nil, &program.ExitError{Code: program.ExitConfig, Err: fault.Wrap(fault.InvalidConfig, "cli.mcp", display.Sentence("cannot read the token file: "+err.Error()), "", err)}
		}
		text = string(data)
	default:
		return nil, nil
	}
	var all []string
	for line := range strings.Lines(text) {
		if token := strings.TrimSpace(line); token != "" {
			all = append(all, token)
		}
	}
	for _, token := range all {
		if strings.ContainsAny(token, " \t") {
			return nil, &program.ExitError{Code: program.ExitConfig, Err: fault.New(fault.InvalidConfig, "cli.mcp", from+" contains a token with blanks.", "Create a token of letters and digits, for example with openssl rand -hex 32.")}
		}
	}
	if len(all) == 0 {
		return nil, &program.ExitError{Code: program.ExitConfig, Err: fault.New(fault.InvalidConfig, "cli.mcp", from+" contains no token.", "Create one, for example with openssl rand -hex 32.")}
	}
	return all, nil
}

// headerTime is the limit for the header of a request, bodyTime the limit for its
// body, and partingTime the time for responses to finish at shutdown.
const (
	headerTime  = 10 * time.Second
	bodyTime    = 30 * time.Second
	partingTime = 2 * time.Second
)

// inTime limits the time to read a request body, so that slow clients do not occupy a
// session for long. The deadline is removed once the body has been read: the response
// may be a long stream, and the server's read that detects a disconnect must not
// fail.
func inTime(h http.Handler, limit time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Body != nil && r.Body != http.NoBody {
			deadline := http.NewResponseController(w).SetReadDeadline
			if deadline(time.Now().Add(limit)) == nil {
				r.Body = &timedBody{ReadCloser: r.Body, lift: func() { _ = deadline(time.Time{}) }}
			}
		}
		h.ServeHTTP(w, r)
	})
}

// timedBody is a request body with a deadline.
type timedBody struct {
	io.ReadCloser
	lift func()
}

// Read removes the deadline at the end of the body.
func (b *timedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		b.lift()
	}
	return n, err
}

// listen serves over HTTP until ctx ends.
func (s *mcpServing) listen(ctx context.Context, srv *server.Server, tokens []string) error {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", s.flags.http)
	if err != nil {
		return errors.Join(&program.ExitError{Code: program.ExitConfig, Err: fault.Wrap(fault.InvalidConfig, "cli.mcp",
			display.Sentence("cannot listen on "+s.flags.http+": "+err.Error()), "Choose another address or port.", err)}, srv.Close())
	}
	hosts := s.flags.hosts
	if host, _, err := net.SplitHostPort(s.flags.http); err == nil && !isUnspecified(host) {
		hosts = append(hosts, host)
	}
	web := &http.Server{
		ReadHeaderTimeout: headerTime,
		Handler: inTime(srv.Handler(server.HTTPOptions{
			Stateless: s.flags.stateless, Tokens: tokens, Hosts: hosts, Origins: s.flags.origins,
			Sessions: s.flags.sessions, IdleTime: s.flags.idle,
		}), bodyTime),
	}
	_, _ = fmt.Fprintf(s.Err, "fettle: serving MCP at http://%s%s\n", l.Addr(), server.Path)
	served := make(chan error, 1)
	go func() { served <- web.Serve(l) }()
	select {
	case err = <-served: // it failed
	case <-ctx.Done():
		err = nil
	}
	closed := srv.Close() // first, because its streams are not idle
	parting, cancel := context.WithTimeout(context.WithoutCancel(ctx), partingTime)
	defer cancel()
	if web.Shutdown(parting) != nil {
		_ = web.Close()
	}
	if err == nil {
		<-served
	}
	return errors.Join(err, closed)
}
