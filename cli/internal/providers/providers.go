// Package providers implements [program.Providers] with all model providers of the
// program. Only package cli imports it.
package providers

import (
	"context"
	"fmt"

	"github.com/fettle-dev/fettle/cli/internal/program"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/mcp"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/model/replay"
	"github.com/fettle-dev/fettle/core/services/credentials"
	"github.com/fettle-dev/fettle/core/standard"
	"github.com/fettle-dev/fettle/core/standard/servers"
)

// All implements [program.Providers] with core/standard.
type All struct {
	Keys func() *credentials.Store // the stored keys; nil: none
}

// Names returns the prefixes of model names.
func (All) Names() []string {
	var names []string
	for _, p := range standard.Providers() {
		names = append(names, p.Name)
	}
	return names
}

// Models returns the models for the variables of a session.
func (a All) Models(v config.Variables) program.Models {
	return models{standard.ModelOptionsOf(a.with(v)), a, v}
}

// List returns the providers for the variables of a session.
func (a All) List(v config.Variables) []program.ProviderInfo {
	source := standard.Models(standard.ModelOptionsOf(a.with(v)))
	var list []program.ProviderInfo
	for _, p := range standard.Providers() {
		_, err := source(context.Background(), p.Name+":any") // does no I/O
		list = append(list, program.ProviderInfo{
			Name: p.Name, Default: p.Default, Keys: names(p.Keys), Address: p.Address.Name, Others: names(p.Others), Ready: err == nil,
			Key: a.origin(v, p.Name),
		})
	}
	return list
}

func names(variables []standard.Variable) []string {
	all := []string{}
	for _, v := range variables {
		all = append(all, v.Name)
	}
	return all
}

// ModelNames asks the server of a provider for the names of its models.
func (a All) ModelNames(ctx context.Context, v config.Variables, provider string) ([]string, error) {
	g, err := standard.Models(standard.ModelOptionsOf(a.with(v)))(ctx, provider+":any")
	if err != nil {
		return nil, err
	}
	lister, ok := g.(interface {
		ModelNames(context.Context) ([]string, error)
	})
	if !ok {
		return nil, fmt.Errorf("%s does not list models", provider)
	}
	return lister.ModelNames(ctx)
}

// Parameters is [standard.Parameters] with the stored keys.
func (a All) Parameters(p config.Parameters) config.Parameters {
	given := p.Conversation
	p = standard.Parameters(p)
	if given.Models == nil && given.Providers == nil {
		p.Conversation.Providers = a.source
	}
	if check := p.Agents.CheckModel; check != nil {
		p.Agents.CheckModel = func(name string, v config.Variables) error { return check(name, a.with(v)) }
	}
	return p
}

// Recording is [standard.Recording].
func (All) Recording(source model.Source, r *replay.Recorder) model.Source {
	return standard.Recording(source, r)
}

// Servers is [servers.Dialers].
func (All) Servers(o program.ServerOptions) func(config.MCPEnvironment) mcp.Dialer {
	return servers.Dialers(servers.Options(o))
}

// SignIn is [servers.SignIn].
func (All) SignIn(ctx context.Context, c *config.Config, server string, o program.ServerOptions) error {
	return servers.SignIn(ctx, c, server, servers.Options(o))
}

// SignOut is [servers.SignOut].
func (All) SignOut(ctx context.Context, c *config.Config, server string) (bool, error) {
	return servers.SignOut(ctx, c, server)
}
