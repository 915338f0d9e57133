package config

import (
	"context"
	"log/slog"

	"github.com/fettle-dev/fettle/core/tools"
	"github.com/fettle-dev/fettle/core/tools/discovered"
)

// ToolCommands are the user's own programs that declare and run tools (TO-16).
// The zero value is none. They run outside of any confinement, in the target
// folder.
type ToolCommands struct {
	Discovery string // prints the declarations; "": there is none
	Call      string // runs a tool; required beside Discovery
}

// discoverTools asks the user's program for tools.
func (c *Config) discoverTools(v Services) func(ctx context.Context) ([]tools.DeclarativeTool, error) {
	return func(ctx context.Context) ([]tools.DeclarativeTool, error) {
		found, dropped, err := discovered.Discover(ctx, discovered.Options{
			DiscoveryCommand: c.params().ToolCommands.Discovery, CallCommand: c.params().ToolCommands.Call,
			Dir: v.Workspace.Target(), Runner: v.Processes,
		})
		c.noteDiscovery(dropped...)
		return found, err
	}
}

// noteDiscovery keeps what went wrong while tools were discovered.
func (c *Config) noteDiscovery(problems ...error) {
	for _, p := range problems {
		c.params().Logger.Warn("discovering tools", slog.Any("error", p))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.discoveryProblems = append(c.discoveryProblems, problems...)
}

// DiscoveryProblems returns what went wrong while tools were discovered, each
// with its remedy: a discovery that failed, a declared tool that was dropped.
// The session goes on without them.
func (c *Config) DiscoveryProblems() []error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]error(nil), c.discoveryProblems...)
}

// split returns the errors that [errors.Join] has made err of, or err itself;
// none for nil.
func split(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok { //nolint:errorlint // err itself, and nothing below it
		return joined.Unwrap()
	}
	if err == nil {
		return nil
	}
	return []error{err}
}
