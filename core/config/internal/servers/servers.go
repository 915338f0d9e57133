// Package servers determines the MCP servers of a session, those of the embedder,
// of settings and of extensions, and their specs.
package servers

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/internal/discovered"
	"github.com/fettle-dev/fettle/core/mcp"
)

// commandServer is the name of the server of mcp.serverCommand.
const commandServer = "mcp"

// Every stands for all servers in mcp.allowed and mcp.excluded, as it does in
// rules.
const Every = "*"

// Settings are the servers of settings. It is immutable and replaced as a whole.
type Settings struct {
	configured []mcp.Configured              // by name
	ofProject  map[string]bool               // set by the project's settings
	settings   map[string]settings.MCPServer // the settings of servers, including those of extensions
	sourceOf   map[string]string             // their sources
}

// OfSettings returns the servers of settings.
func OfSettings(s settings.Settings, r *settings.Result) Settings {
	m := Settings{ofProject: map[string]bool{}, settings: maps.Clone(s.MCPServers), sourceOf: map[string]string{}}
	if s.MCP.ServerCommand != "" {
		spec := mcp.ServerSpec{Name: commandServer, Source: r.OriginOf("mcp.serverCommand").Source}
		words, err := discovered.Words("mcp.serverCommand", s.MCP.ServerCommand)
		if err == nil {
			spec.Command, spec.Args = words[0], words[1:]
		}
		spec.Sandbox = sandboxed(r, commandServer)
		m.configured = append(m.configured, mcp.Configured{ServerSpec: spec, Blocked: err})
	}
	for name, server := range s.MCPServers {
		if name == commandServer && s.MCP.ServerCommand != "" {
			continue
		}
		server.Sandbox = sandboxed(r, name)
		m.settings[name] = server
		spec, err := specOf(name, server)
		from := originOfServer(r, name)
		spec.Source = from.Source
		m.sourceOf[name] = from.Source
		if from.Layer == settings.LayerProject {
			m.ofProject[name] = true
		}
		m.configured = append(m.configured, mcp.Configured{ServerSpec: spec, Blocked: err})
	}
	slices.SortFunc(m.configured, func(a, b mcp.Configured) int { return cmp.Compare(a.Name, b.Name) })
	return m
}

// originOfServer returns the origin of a server: the layer with the highest
// precedence that contains it.
func originOfServer(r *settings.Result, name string) settings.Origin {
	for _, o := range r.Origins("mcpServers") {
		if servers, ok := o.Value.(map[string]any); ok && servers[name] != nil && o.Refused == "" {
			return o
		}
	}
	return settings.Origin{}
}

// sandboxed reports whether any layer that has an effect confines a server: no
// entry of the same name undoes that.
func sandboxed(r *settings.Result, name string) bool {
	return slices.ContainsFunc(r.Origins("mcpServers"), func(o settings.Origin) bool {
		servers, _ := o.Value.(map[string]any)
		server, _ := servers[name].(map[string]any)
		return o.Refused == "" && server["sandbox"] == true
	})
}

// specOf converts a server of the settings. The error is the reason why it cannot
// be used.
func specOf(name string, s settings.MCPServer) (mcp.ServerSpec, error) {
	spec := mcp.ServerSpec{
		Name: name, Description: s.Description, TCP: s.TCP,
		Args: s.Args, Env: s.Env, Dir: s.Cwd, Sandbox: s.Sandbox, Headers: s.Headers,
		Timeout: time.Duration(s.Timeout) * time.Millisecond, ConnectTimeout: time.Duration(s.Timeout) * time.Millisecond,
		Trusted: s.Trust, IncludeTools: s.IncludeTools, ExcludeTools: s.ExcludeTools,
	}
	if err := mcp.CheckServerName(name); err != nil {
		return spec, err
	}
	switch {
	case s.HTTPURL != "":
		spec.URL, spec.Transport = s.HTTPURL, mcp.TransportHTTP
	case s.URL != "":
		spec.URL = s.URL
		if s.Type != "" {
			spec.Transport = mcp.Transport(s.Type)
		}
	case s.Command != "":
		spec.Command = s.Command
	case s.TCP == "":
		return spec, blockedBy("it has neither command nor url nor httpUrl", "Add to mcpServers."+name+" how to reach it.")
	}
	if spec.URL != "" || spec.Command != "" {
		spec.TCP = ""
	}
	if o := s.OAuth; o != nil {
		spec.OAuth = &mcp.OAuthSpec{
			Enabled: o.Enabled, ClientID: o.ClientID, ClientSecret: o.ClientSecret, AuthorizationURL: o.AuthorizationURL, TokenURL: o.TokenURL,
			RegistrationURL: o.RegistrationURL, Issuer: o.Issuer, Scopes: o.Scopes, Audiences: o.Audiences, RedirectURI: o.RedirectURI, TokenParamName: o.TokenParamName,
		}
	}
	switch {
	case spec.URL != "" && spec.Transport == mcp.TransportStdio:
		return spec, blockedBy("its type is stdio, but it has a url", "Set a command, or the type http or sse.")
	case spec.Command != "" && s.Type != "" && s.Type != string(mcp.TransportStdio):
		return spec, blockedBy("its type is "+s.Type+" but it has no url", "Set a url, or remove the type.")
	case s.AuthProviderType != "" && s.AuthProviderType != "dynamic_discovery":
		return spec, blockedBy("fettle does not support the sign-in by "+s.AuthProviderType, "Remove authProviderType, and put a token into headers.")
	}
	return spec, nil
}

// blockedBy returns the reason why a server is not started.
func blockedBy(why, remedy string) *fault.Error {
	return fault.New(fault.InvalidConfig, "config.mcp", "The server is not used: "+why+".", remedy)
}
