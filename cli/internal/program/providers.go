package program

import (
	"context"
	"errors"
	"strings"

	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/mcp"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/model/replay"
	"github.com/fettle-dev/fettle/core/services/credentials"
)

// Providers are the model providers, remote agents and MCP clients of the program.
// Package cli passes the implementation, so that the tests of other packages do not
// link the SDKs of all providers.
type Providers interface {
	// Names returns the prefixes of model names, such as "gemini".
	Names() []string
	// Models returns the models for the variables of a session.
	Models(config.Variables) Models
	// List returns the providers for the variables of a session, in the order in which
	// "auto" tries them.
	List(config.Variables) []ProviderInfo
	// ModelNames asks the server of a provider for the names of its models.
	ModelNames(ctx context.Context, v config.Variables, provider string) ([]string, error)
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

// ProviderInfo describes a model provider.
type ProviderInfo struct {
	Name    string   `json:"name"`
	Default string   `json:"default,omitempty"` // the model if none is named; "": one must be named
	Keys    []string `json:"keys"`              // variables; the first that is set contains the key
	Address string   `json:"address"`           // variable of the server's address
	Others  []string `json:"others,omitempty"`  // further variables
	Ready   bool     `json:"ready"`             // no variable is missing; the server has not been asked

	Key KeyOrigin `json:"key,omitzero"` // where the key is; zero: there is none
}

// KeyOrigin is where the key of a provider is. The zero value is nowhere.
type KeyOrigin struct {
	Variable string            `json:"variable,omitempty"` // of the environment or a .env file; it takes precedence
	Place    credentials.Place `json:"place,omitempty"`    // where fettle setup stored it
	Path     string            `json:"path,omitempty"`     // of the file
}

// String returns the origin after "the key is that of", "" for none.
func (k KeyOrigin) String() string {
	switch {
	case k.Variable != "":
		return "the variable " + k.Variable
	case k.Place == credentials.InKeychain:
		return "the keychain of the system"
	case k.Place == credentials.InFile:
		return "the file " + k.Path
	case k.Place == credentials.InProcess:
		return "this session"
	}
	return ""
}

// In adds the origin to an error about a key, and returns it.
func (k KeyOrigin) In(err error) error {
	e := (*model.Error)(nil)
	if !errors.As(err, &e) || e.Kind != model.Unauthenticated || k.String() == "" {
		return err
	}
	e.Message = strings.TrimSpace(strings.TrimRight(strings.TrimSpace(e.Message), ".") + " (the key is that of " + k.String() + ")")
	return err
}

// ModelListing lists the model providers. It is the JSON form of fettle models.
type ModelListing struct {
	Auto      string            `json:"auto,omitempty"` // the model that "auto" selects; "": none
	Providers []ProviderInfo    `json:"providers"`
	Aliases   map[string]string `json:"aliases"` // models by short name
}

// ListModels returns the providers and the short names of models for the variables of
// a session. It sends no requests.
func ListModels(all Providers, v config.Variables) ModelListing {
	models := all.Models(v)
	l := ModelListing{Providers: all.List(v), Aliases: map[string]string{}}
	if auto, err := models.Resolve(""); err == nil {
		l.Auto = auto.String()
	}
	for short, name := range models.Aliases() {
		l.Aliases[short] = name.String()
	}
	return l
}

// Models resolves model names and returns the keys of their providers.
type Models interface {
	Resolve(name string) (model.Name, error) // "" and "auto" select a default model
	Defaults() []string                      // of the providers with a key
	Aliases() map[string]model.Name          // models with a short name
	Secrets() []string                       // the keys that variables have
	Origin(provider string) KeyOrigin        // where the key of a provider is
}

// ServerOptions configures the connections to MCP servers.
type ServerOptions struct {
	Version     string                                      // of the program
	OpenURL     func(ctx context.Context, url string) error // nil: no sign-in is possible
	Interactive bool                                        // OpenURL is called when a server requires it
}
