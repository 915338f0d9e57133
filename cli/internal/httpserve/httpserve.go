// Package httpserve has the flags and the listener of the commands that serve over HTTP: the
// address, the token, and the accepted hosts and origins. It does not know what is served.
package httpserve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/internal/program"
	"github.com/fettle-dev/fettle/core/fault"
)

// Flags are the flags of a command that serves over HTTP.
type Flags struct {
	Addr        string // HOST:PORT; "": not over HTTP
	AllowRemote bool
	TokenEnv    string
	TokenFile   string
	Hosts       []string
	Origins     []string
}

// Register adds the flags. address is the description of --http, with its default.
func (f *Flags) Register(flags *pflag.FlagSet, address string) {
	flags.StringVar(&f.Addr, "http", "", address)
	flags.BoolVar(&f.AllowRemote, "allow-remote", false, "allow an ADDR that other machines can reach; requires a token")
	flags.StringVar(&f.TokenEnv, "token-env", "", "`VARIABLE` with the bearer token that clients must send")
	flags.StringVar(&f.TokenFile, "token-file", "", "`file` with bearer tokens, one per line")
	flags.StringSliceVar(&f.Hosts, "allow-host", nil, "accepted `hosts` of requests, in addition to loopback hosts and the host of ADDR")
	flags.StringSliceVar(&f.Origins, "allow-origin", nil, "accepted `origins` of web pages, such as https://example.org, in addition to loopback origins")
}

// Check rejects incompatible flags; given reports whether a flag was set, and others are further
// flags that require --http.
func (f *Flags) Check(given func(flag string) bool, others ...string) error {
	for flag, value := range map[string]string{"http": f.Addr, "token-env": f.TokenEnv, "token-file": f.TokenFile} {
		if given(flag) && strings.TrimSpace(value) == "" { // such as an unset shell variable: the server would accept every client
			return program.UsageError("--"+flag+" has an empty value.", "Give it a value, or omit it.")
		}
	}
	if f.Addr == "" {
		for _, flag := range slices.Concat([]string{"allow-remote", "token-env", "token-file", "allow-host", "allow-origin"}, others) {
			if given(flag) {
				return program.UsageError("--"+flag+" requires --http.", "Add --http ADDR, or omit it.")
			}
		}
		return nil
	}
	host, _, err := net.SplitHostPort(f.Addr)
	switch {
	case err != nil:
		return program.UsageError(fmt.Sprintf("%q is not HOST:PORT.", f.Addr), "Example: --http 127.0.0.1:7337.")
	case f.TokenEnv != "" && f.TokenFile != "":
		return program.UsageError("--token-env and --token-file are mutually exclusive.", "Give one of them.")
	case !isLoopback(host) && !f.AllowRemote:
		return program.UsageError(fmt.Sprintf("Other machines could connect to %s and run commands here.", f.Addr),
			"Use an address such as 127.0.0.1:7337, or add --allow-remote and a token with --token-env or --token-file.")
	case f.AllowRemote && f.TokenEnv == "" && f.TokenFile == "":
		return program.UsageError("--allow-remote requires a token.", "Store a token in a variable for --token-env, or in a file for --token-file.")
	case isUnspecified(host) && len(f.Hosts) == 0:
		return program.UsageError(fmt.Sprintf("At %s the server cannot know its own host names and rejects all but loopback names.", f.Addr),
			"Add --allow-host HOST for each name or address, or listen on one address.")
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

// Tokens returns the accepted bearer tokens, none if every client is accepted.
func (f *Flags) Tokens() ([]string, error) {
	var text, from string
	switch {
	case f.TokenEnv != "":
		from = "The variable " + f.TokenEnv
		text = os.Getenv(f.TokenEnv)
	case f.TokenFile != "":
		from = "The file " + f.TokenFile
		data, err := os.ReadFile(f.TokenFile)
		if err != nil {
			return nil, &program.ExitError{Code: program.ExitConfig, Err: fault.Wrap(fault.InvalidConfig, "cli.http", display.Sentence("cannot read the token file: "+err.Error()), "", err)}
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
			return nil, &program.ExitError{Code: program.ExitConfig, Err: fault.New(fault.InvalidConfig, "cli.http", from+" contains a token with blanks.", "Create a token of letters and digits, for example with openssl rand -hex 32.")}
		}
	}
	if len(all) == 0 {
		return nil, &program.ExitError{Code: program.ExitConfig, Err: fault.New(fault.InvalidConfig, "cli.http", from+" contains no token.", "Create one, for example with openssl rand -hex 32.")}
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

// Listen listens on the address.
func (f *Flags) Listen(ctx context.Context) (net.Listener, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", f.Addr)
	if err != nil {
		return nil, &program.ExitError{Code: program.ExitConfig, Err: fault.Wrap(fault.InvalidConfig, "cli.http",
			display.Sentence("cannot listen on "+f.Addr+": "+err.Error()), "Choose another address or port.", err)}
	}
	return l, nil
}

// Names returns the accepted hosts of requests, apart from loopback hosts.
func (f *Flags) Names() []string {
	names := slices.Clone(f.Hosts)
	if host, _, err := net.SplitHostPort(f.Addr); err == nil && !isUnspecified(host) {
		names = append(names, host)
	}
	return names
}

// Serve serves h on l until ctx ends, and then calls end, which ends the open streams.
func Serve(ctx context.Context, l net.Listener, h http.Handler, end func() error) error {
	web := &http.Server{ReadHeaderTimeout: headerTime, Handler: inTime(h, bodyTime)}
	served := make(chan error, 1)
	go func() { served <- web.Serve(l) }()
	var err error
	select {
	case err = <-served: // it failed
	case <-ctx.Done():
	}
	closed := end() // first, because its streams are not idle
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
