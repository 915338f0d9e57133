// Package client connects to MCP servers with the protocol's official SDK. A
// [Dialer] starts a local server or reaches a remote one, and returns a session
// with it.
package client

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/fettle-dev/fettle/core/mcp"
)

// Auth signs in to servers that require it (OAuth).
type Auth interface {
	// Handler returns the source of a server's tokens, which also signs in when
	// the server refuses a request. nil: the server is used without signing in.
	Handler(spec mcp.ServerSpec) auth.OAuthHandler
}

// InProcess is the type required of [mcp.ServerSpec].InProcess. *mcp.Server of
// the SDK implements it. Each session opens a new connection.
type InProcess interface {
	Connect(ctx context.Context, t sdk.Transport, opts *sdk.ServerSessionOptions) (*sdk.ServerSession, error)
}

// Options configure a [Dialer]. The zero value of each field is its default.
type Options struct {
	Name, Version string // of the client, as reported to servers; "": fettle, unknown

	// Environ returns, as NAME=VALUE, the environment from which every server's
	// process receives a few variables. nil: that of this process.
	Environ func() []string
	// Dir is the working directory of programs whose spec names none. "": that of
	// this process.
	Dir string
	// StartConfined starts the process of a server with Sandbox confined, instead
	// of cmd.Start; ended is called once the process has ended. nil: such a server
	// is not started.
	StartConfined func(ctx context.Context, cmd *exec.Cmd) (ended func(), err error)
	// Proxy returns the proxy for a request, or nil for none. nil: the proxy
	// settings of this process's environment.
	Proxy func(*http.Request) (*url.URL, error)
	// Auth signs in to servers at a URL. nil: only the headers of a spec
	// authenticate.
	Auth   Auth
	Logger *slog.Logger // nil: nothing is logged

	// MaxMessage is the maximum number of bytes of one message of a server,
	// including tool results; 0: 64 MiB, plus 1 MiB for the envelope of a result.
	// A larger message fails its call for a server at a URL, and ends the session
	// of other servers.
	MaxMessage int
	MaxPages   int // of one list; 0: 1,000
	MaxItems   int // of one list over all of its pages; 0: 10,000
	// Grace is how long each step of shutting down a server's process may take
	// before a harder one follows: closing its stdin, SIGTERM, and SIGKILL; 0: 1
	// s.
	Grace time.Duration
}

// Dialer connects to MCP servers. It is safe for concurrent use and has no state:
// sessions are independent, and each is ended by its Close.
type Dialer struct {
	o     Options
	probe time.Duration // see discoverLimit
}

var _ mcp.Dialer = (*Dialer)(nil)

// New returns a Dialer.
func New(o Options) *Dialer {
	o.Name = cmp.Or(o.Name, "fettle")
	o.Version = cmp.Or(o.Version, "unknown")
	o.MaxMessage = cmp.Or(max(o.MaxMessage, 0), 65<<20)
	o.MaxPages = cmp.Or(max(o.MaxPages, 0), 1000)
	o.MaxItems = cmp.Or(max(o.MaxItems, 0), 10000)
	o.Grace = cmp.Or(max(o.Grace, 0), time.Second)
	if o.Environ == nil {
		o.Environ = os.Environ
	}
	if o.Proxy == nil {
		o.Proxy = http.ProxyFromEnvironment
	}
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	return &Dialer{o, discoverLimit}
}
