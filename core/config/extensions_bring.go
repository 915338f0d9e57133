package config

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/fettle-dev/fettle/core/agent/subagent"
	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/extensions"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/mcp"
)

// bringing gathers what extensions bring.
type bringing struct {
	c        *Config
	target   string
	all      contributed
	problems []fault.Problem
	servers  map[string]string // whose a server is
}

// bring returns what the active extensions bring, nil for nothing, and what of it
// cannot be used.
func (c *Config) bring(found []extensions.Extension, target string) (*contributed, []fault.Problem) {
	if !slices.ContainsFunc(found, func(e extensions.Extension) bool { return e.Active }) {
		return nil, nil
	}
	b := bringing{c: c, target: target, servers: map[string]string{}}
	b.all.excluded = map[string]Place{}
	for _, e := range found {
		if e.Active {
			b.extension(e)
		}
	}
	b.all.serversOf = b.servers
	return &b.all, b.problems
}

// extension adds what one brings.
func (b *bringing) extension(e extensions.Extension) {
	folder := func(path string) contributedFolder {
		return contributedFolder{Path: path, Extension: e.Name, ID: e.ID, Variables: e.Variables(b.target), Env: e.Env()}
	}
	add := func(to *[]contributedFolder, path string) {
		if path != "" {
			*to = append(*to, folder(path))
		}
	}
	add(&b.all.skills, e.SkillsDir)
	add(&b.all.commands, e.CommandsDir)
	add(&b.all.policies, e.PoliciesDir)
	if e.AgentsDir != "" {
		b.all.agents = append(b.all.agents, subagent.Folder{
			Path: e.AgentsDir, Scope: subagent.ScopeExtension, Extension: e.Name, Expand: expandVariables(e.Variables(b.target)),
		})
	}
	for _, path := range e.ContextFiles {
		b.all.context = append(b.all.context, contributedFile{contributedFolder: folder(path)})
	}
	data, err := e.UnfilledHooks()
	if err != nil {
		b.problems = append(b.problems, fault.Problem{Path: e.HooksFile, Extension: e.Name, Message: message(err), Remedy: fault.As(err).Remedy})
	} else if data != nil {
		b.all.hooks = append(b.all.hooks, contributedFile{folder(e.HooksFile), data})
	}
	for _, tool := range e.ExcludedTools {
		if err := CheckExcludedTool(tool); err != nil {
			b.problems = append(b.problems, fault.Problem{Path: e.Manifest, Extension: e.Name, Message: message(err), Remedy: fault.As(err).Remedy})
		}
		if _, known := b.all.excluded[tool]; !known {
			b.all.exclude = append(b.all.exclude, tool)
			b.all.excluded[tool] = Place{Source: "extension " + e.Name + ": " + e.Manifest}
		}
	}
	b.plans(e)
	b.mcp(e)
}

// mcp adds the servers of an extension, each with what the settings say of one of
// its name.
func (b *bringing) mcp(e extensions.Extension) {
	p := &b.c.params().MCP
	refuse := func(server, why, remedy string) {
		b.problems = append(b.problems, fault.Problem{Path: e.Manifest, Extension: e.Name,
			Message: fmt.Sprintf("The server %q of the extension %s is not used: %s.", escape.ClipBytes(server, 60), e.Name, why), Remedy: remedy})
	}
	servers := e.Servers()
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		if first, taken := b.servers[name]; taken {
			refuse(name, "the extension "+first+" brings one of that name", "Disable one of the two extensions.")
			continue
		}
		if slices.ContainsFunc(p.Servers, func(own mcp.ServerSpec) bool { return own.Name == name }) {
			refuse(name, "the program has one of that name", "")
			continue
		}
		var s settings.MCPServer
		if err := json.Unmarshal(servers[name], &s); err != nil {
			refuse(name, "what the manifest says of it is no server", "Correct it in the manifest.") // the error may hold a value
			continue
		}
		s.Trust = false // which is for the person to say
		s = withEnv(s, e)
		source := "extension " + e.Name
		if said, ok := p.said[name]; ok {
			s = mergedServer(s, said)
			source = cmp.Or(p.saidAt[name], source)
		}
		spec, err := specOf(name, s)
		if err == nil && (s.Timeout < 0 || s.Timeout > longestTimeout) {
			err = blockedBy("its timeout is none", "Give milliseconds, a day at the most.")
			spec.Timeout, spec.ConnectTimeout = 0, 0
		}
		spec.Source = source
		b.servers[name] = e.Name
		b.all.servers = append(b.all.servers, mcp.Configured{ServerSpec: spec, Blocked: err})
	}
}

// longestTimeout is that of a server, in milliseconds.
const longestTimeout = 86_400_000

// withEnv gives a server that is a program the settings of its extension, beside
// the variables that it has itself.
func withEnv(s settings.MCPServer, e extensions.Extension) settings.MCPServer {
	if s.Command == "" {
		return s
	}
	env := map[string]string{}
	for _, setting := range e.ResolvedSettings {
		env[setting.EnvVar] = setting.Value.Reveal()
	}
	maps.Copy(env, s.Env)
	s.Env = env
	return s
}

// mergedServer is a server of an extension with what the settings say of it: they
// win, tools that both include are included, tools that one excludes are excluded,
// and variables are those of both.
func mergedServer(s, said settings.MCPServer) settings.MCPServer {
	include, exclude := s.IncludeTools, slices.Concat(s.ExcludeTools, said.ExcludeTools)
	switch {
	case include == nil:
		include = said.IncludeTools
	case said.IncludeTools != nil:
		include = slices.DeleteFunc(slices.Clone(include), func(name string) bool { return !slices.Contains(said.IncludeTools, name) })
	}
	env, headers := maps.Clone(s.Env), maps.Clone(s.Headers)
	if said.Command != "" || said.URL != "" || said.HTTPURL != "" || said.TCP != "" { // another place than the extension's
		s.Command, s.Args, s.Cwd, s.URL, s.HTTPURL, s.TCP, s.Type, headers, s.OAuth = "", nil, "", "", "", "", "", nil, nil
		if said.Command == "" {
			env = nil // a server elsewhere is told nothing
		}
	}
	s.Command, s.Cwd = cmp.Or(said.Command, s.Command), cmp.Or(said.Cwd, s.Cwd)
	s.URL, s.HTTPURL, s.TCP, s.Type = cmp.Or(said.URL, s.URL), cmp.Or(said.HTTPURL, s.HTTPURL), cmp.Or(said.TCP, s.TCP), cmp.Or(said.Type, s.Type)
	s.Timeout, s.Description = cmp.Or(said.Timeout, s.Timeout), cmp.Or(said.Description, s.Description)
	s.AuthProviderType = cmp.Or(said.AuthProviderType, s.AuthProviderType)
	if said.Args != nil {
		s.Args = said.Args
	}
	if said.OAuth != nil {
		s.OAuth = said.OAuth
	}
	s.Env, s.Headers = both(env, said.Env), both(headers, said.Headers)
	s.Trust, s.IncludeTools, s.ExcludeTools = said.Trust, include, exclude
	return s
}

// both is what two maps hold; the second wins.
func both(a, b map[string]string) map[string]string {
	if len(a) == 0 {
		return b
	}
	a = maps.Clone(a)
	maps.Copy(a, b)
	return a
}

// configuredServers are the servers of the settings, and those of extensions in
// the place of what the settings add to these.
func (c *Config) configuredServers() []mcp.Configured {
	brought := c.brought().servers
	if len(brought) == 0 {
		return c.params().MCP.configured
	}
	all := slices.DeleteFunc(slices.Clone(c.params().MCP.configured), func(s mcp.Configured) bool {
		return slices.ContainsFunc(brought, func(b mcp.Configured) bool { return b.Name == s.Name })
	})
	return append(all, brought...)
}
