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

// check refuses flags that do not go together; given tells which were.
func (f *serveFlags) check(given func(flag string) bool) error {
	for flag, value := range map[string]string{"http": f.http, "token-env": f.tokenEnv, "token-file": f.tokenFile} {
		if given(flag) && strings.TrimSpace(value) == "" { // as by a variable that is not set: it would serve whoever comes
			return program.UsageError("--"+flag+" is given an empty value.", "Give it one, or leave it out.")
		}
	}
	if f.http == "" {
		for _, flag := range []string{"allow-remote", "token-env", "token-file", "allow-host", "allow-origin", "stateless", "session-idle", "max-sessions"} {
			if given(flag) {
				return program.UsageError("--"+flag+" is for --http, which is not given.", "Add --http ADDR, or leave it out.")
			}
		}
		return nil
	}
	host, _, err := net.SplitHostPort(f.http)
	switch {
	case err != nil:
		return program.UsageError(fmt.Sprintf("%q is no HOST:PORT.", f.http), "As in --http 127.0.0.1:7337.")
	case f.tokenEnv != "" && f.tokenFile != "":
		return program.UsageError("--token-env and --token-file are both given.", "Give one of them.")
	case !isLoopback(host) && !f.allowRemote:
		return program.UsageError(fmt.Sprintf("Other machines could reach %s, and run commands here.", f.http),
			"Take an address such as 127.0.0.1:7337, or add --allow-remote and a token by --token-env or --token-file.")
	case f.allowRemote && f.tokenEnv == "" && f.tokenFile == "":
		return program.UsageError("--allow-remote takes a token.", "Put one into a variable and name it by --token-env, or into a file and name it by --token-file.")
	case isUnspecified(host) && len(f.hosts) == 0:
		return program.UsageError(fmt.Sprintf("At %s the server does not know by which names clients call it, and refuses all but loopback ones.", f.http),
			"Add --allow-host HOST for each name or address, or listen at one address.")
	case f.idle <= 0:
		return program.UsageError("--session-idle has to be more than nothing.", "As in --session-idle 30m.")
	case f.sessions <= 0:
		return program.UsageError("--max-sessions has to be at least 1.", "")
	}
	return nil
}

// isLoopback reports whether only this machine reaches a host to listen at.
func isLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}

// isUnspecified reports whether a host to listen at is every address of this
// machine.
func isUnspecified(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "" || err == nil && addr.Unmap().IsUnspecified()
}

// tokens returns the tokens that clients may bear, none where any client may come.
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
			return nil, &program.ExitError{Code: program.ExitConfig, Err: fault.Wrap(fault.InvalidConfig, "cli.mcp", display.Sentence("the token file cannot be read: "+err.Error()), "", err)}
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
			return nil, &program.ExitError{Code: program.ExitConfig, Err: fault.New(fault.InvalidConfig, "cli.mcp", from+" holds a token with blanks inside.", "Make one of letters and digits, as openssl rand -hex 32 does.")}
		}
	}
	if len(all) == 0 {
		return nil, &program.ExitError{Code: program.ExitConfig, Err: fault.New(fault.InvalidConfig, "cli.mcp", from+" holds no token.", "Put one there, as openssl rand -hex 32 makes it.")}
	}
	return all, nil
}

// headerTime is how long a client may take to send the head of a request, bodyTime
// how long for its body, and partingTime how long answers may still be written at
// the end.
const (
	headerTime  = 10 * time.Second
	bodyTime    = 30 * time.Second
	partingTime = 2 * time.Second
)

// inTime has requests fail to be read whose bodies are not there in time, so that
// they hold no place for long. It is lifted once a body has been read: the answer
// may be a stream that lasts, and what reads on meanwhile, for the client's end,
// must not fail.
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

// timedBody is a request's body with a deadline.
type timedBody struct {
	io.ReadCloser
	lift func()
}

// Read lifts the deadline at the body's end.
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
			display.Sentence("it cannot be listened at "+s.flags.http+": "+err.Error()), "Choose another address or port.", err)}, srv.Close())
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
	case err = <-served: // it has failed
	case <-ctx.Done():
		err = nil
	}
	closed := srv.Close() // first, as its streams are not idle
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
