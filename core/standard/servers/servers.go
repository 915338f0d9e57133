// Package servers connects a session to MCP servers, and signs users in to them, with the protocols of fettle's own program.
package servers

import (
	"context"
	"fmt"

	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/mcp"
	"github.com/fettle-dev/fettle/core/mcp/client"
	"github.com/fettle-dev/fettle/core/mcp/oauth"
)

// Options configures the connections to MCP servers. The zero value connects to servers that need no interactive
// sign-in.
type Options struct {
	Version string // program version, sent to servers; "": unknown
	// OpenURL opens the sign-in page for the user. nil: no sign-in is possible, and only stored tokens are used.
	OpenURL func(ctx context.Context, url string) error
	// Interactive opens the sign-in page when a server requires it, if the server's settings enable that. Otherwise only
	// SignIn opens it.
	Interactive bool
}

// Dialers returns a function that creates the dialer of a Config's MCP servers, for the Dial field of Parameters.MCP.
func Dialers(o Options) func(config.MCPEnvironment) mcp.Dialer {
	return func(env config.MCPEnvironment) mcp.Dialer {
		return client.New(client.Options{
			Name: "fettle", Version: o.Version, Dir: env.Dir, Logger: env.Logger,
			Auth: o.tokens(env).Auth(o.Interactive), StartConfined: env.StartConfined,
		})
	}
}

func (o Options) tokens(env config.MCPEnvironment) *oauth.Service {
	return oauth.New(oauth.Options{StorePath: env.TokenFile, OpenURL: o.OpenURL, Now: env.Now, Logger: env.Logger})
}

// SignIn signs the user in to an MCP server of a Config, and stores the tokens for all sessions. It fails with code
// invalid_config if the server is unknown or has no sign-in, else with an error of [oauth.Service.SignIn].
func SignIn(ctx context.Context, c *config.Config, server string, o Options) error {
	spec, env, err := c.MCP().Server(server)
	if err != nil {
		return err
	}
	if spec.URL == "" {
		return fault.New(fault.InvalidConfig, "standard.signIn", fmt.Sprintf("The MCP server %s is a local program, which has no sign-in.", server),
			"Pass credentials in env of its settings.")
	}
	return o.tokens(env).SignIn(ctx, spec)
}

// SignOut deletes the stored tokens of an MCP server of a Config, and reports whether there were any. It does not notify
// the server.
func SignOut(ctx context.Context, c *config.Config, server string) (bool, error) {
	_, env, err := c.MCP().Server(server)
	if err != nil {
		return false, err
	}
	return Options{}.tokens(env).SignOut(ctx, server)
}
