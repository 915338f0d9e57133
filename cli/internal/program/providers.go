package program

import (
	"context"

	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/mcp"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/model/replay"
)

// Providers are the model providers, remote agents and MCP clients of the program.
// Package cli passes the implementation, so that the tests of other packages do not
// link the SDKs of all providers.
type Providers interface {
	// Names returns the prefixes of model names, such as "gemini".
	Names() []string
	// Models returns the models for the variables of a session.
	Models(config.Variables) Models
	// Parameters adds the models of all providers and remote agents to p.
	Parameters(p config.Parameters) config.Parameters
	// Recording returns source with all its responses recorded.
	Recording(source model.Source, r *replay.Recorder) model.Source
	// Servers returns the function for the Dial field of config.MCP.
	Servers(ServerOptions) func(config.MCPEnvironment) mcp.Dialer
	// SignIn signs the user in to an MCP server of a Config.
	SignIn(ctx context.Context, c *config.Config, server string, o ServerOptions) error
	// SignOut deletes the stored tokens of an MCP server of a Config, and reports
	// whether there were any.
	SignOut(ctx context.Context, c *config.Config, server string) (bool, error)
}

// Models resolves model names and returns the keys of their providers.
type Models interface {
	Resolve(name string) (model.Name, error) // "" and "auto" select a default model
	Defaults() []string                      // of the providers with a key
	Secrets() []string                       // the keys that are set
}

// ServerOptions configures the connections to MCP servers.
type ServerOptions struct {
	Version     string                                      // of the program
	OpenURL     func(ctx context.Context, url string) error // nil: no sign-in is possible
	Interactive bool                                        // OpenURL is called when a server requires it
}
