package standard

import (
	"context"
	"fmt"

	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/mcp"
	"github.com/fettle-dev/fettle/core/mcp/client"
	"github.com/fettle-dev/fettle/core/mcp/oauth"
)

// ServerOptions say how MCP servers are connected to. The zero value connects to
// those that need nobody to sign in now.
type ServerOptions struct {
	Version string // of the program, told to servers; "": unknown
	// OpenURL shows a person the page to sign in at. nil: nobody can sign in, and
	// tokens that are kept are used.
	OpenURL func(ctx context.Context, url string) error
	// Interactive opens that page when a server asks for it whose settings enable
	// it. Otherwise only SignIn does.
	Interactive bool
}

// Servers returns what connects a Config's MCP servers, for the field Dial of its
// Parameters' MCP.
func Servers(o ServerOptions) func(config.MCPEnvironment) mcp.Dialer {
	return func(env config.MCPEnvironment) mcp.Dialer {
		return client.New(client.Options{
			Name: "fettle", Version: o.Version, Dir: env.Dir, Logger: env.Logger,
			Auth: o.tokens(env).Auth(o.Interactive),
		})
	}
}

func (o ServerOptions) tokens(env config.MCPEnvironment) *oauth.Service {
	return oauth.New(oauth.Options{StorePath: env.TokenFile, OpenURL: o.OpenURL, Now: env.Now, Logger: env.Logger})
}

// SignIn has a person sign in to one of a Config's servers, and keeps the tokens
// for all sessions. The error is of code invalid_config for a server that there is
// not or that is no place to sign in at, else what [oauth.Service.SignIn] says.
func SignIn(ctx context.Context, c *config.Config, server string, o ServerOptions) error {
	spec, env, err := c.MCPServer(server)
	if err != nil {
		return err
	}
	if spec.URL == "" {
		return fault.New(fault.InvalidConfig, "standard.signIn", fmt.Sprintf("The MCP server %s is a program on this machine, which nobody signs in to.", server),
			"Give it what it needs by env in its settings.")
	}
	return o.tokens(env).SignIn(ctx, spec)
}

// SignOut forgets the tokens of one of a Config's servers, and reports whether
// there were any. The server itself is not told.
func SignOut(ctx context.Context, c *config.Config, server string) (bool, error) {
	_, env, err := c.MCPServer(server)
	if err != nil {
		return false, err
	}
	return ServerOptions{}.tokens(env).SignOut(ctx, server)
}
