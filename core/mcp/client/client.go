// Package client connects to MCP servers with the protocol's official SDK: a
// [Dialer] starts or reaches a server and gives a session with it.
package client

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/fettle-dev/fettle/core/mcp"
)

// Auth signs in to servers that want it (OAuth).
type Auth interface {
	// Handler returns what gives the tokens of a server, and asks for them where
	// the server refuses a request; nil: it is not signed in to.
	Handler(spec mcp.ServerSpec) auth.OAuthHandler
}

// InProcess is what [mcp.ServerSpec].InProcess has to be; *mcp.Server of the SDK
// is one. Each session connects to it anew.
type InProcess interface {
	Connect(ctx context.Context, t sdk.Transport, opts *sdk.ServerSessionOptions) (*sdk.ServerSession, error)
}

// Options are the parts of a [Dialer]. A zero field is its default.
type Options struct {
	Name, Version string // how the client calls itself; "": fettle, unknown

	// Environ is the environment that the few variables are taken from which every
	// server's process gets, as NAME=VALUE. nil: that of this process.
	Environ func() []string
	// Dir is the directory that programs run in whose spec names none. "": that of
	// this process.
	Dir string
	// Proxy returns the proxy for a request, or nil for none. nil: as the
	// environment of this process says.
	Proxy func(*http.Request) (*url.URL, error)
	// Auth signs in to servers at a URL. nil: none is signed in to but by the
	// headers of its spec.
	Auth   Auth
	Logger *slog.Logger // nil: nothing is logged

	// MaxMessage is how many bytes one message of a server may have, a tool's result
	// among them; 0: 64 MiB and 1 MiB more for what is around a result. A larger one
	// fails its call where the server is at a URL, and ends the session elsewhere.
	MaxMessage int
	MaxPages   int // of one list; 0: 1,000
	MaxItems   int // of one list over all of its pages; 0: 10,000
	// Grace is how long a server's process is waited for each time before it is
	// ended by harder means: after its stdin was closed, and after SIGTERM; 0: 1 s.
	Grace time.Duration
}

// Dialer connects to MCP servers. It is safe for concurrent use and keeps
// nothing: each session stands alone and is ended by its Close.
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
