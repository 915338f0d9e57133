package servers

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/mcp"
	"github.com/fettle-dev/fettle/core/policy"
)

// Set is the set of servers of a session.
type Set struct {
	Own               []mcp.ServerSpec // the embedder's, which take precedence over others of their names
	Settings          Settings
	Brought           []mcp.Configured // by extensions, merged with the settings
	Allowed, Excluded []string         // by name in any case; see [Every]
}

// Owns reports whether the embedder has a server of this name.
func (s Set) Owns(name string) bool {
	return slices.ContainsFunc(s.Own, func(own mcp.ServerSpec) bool { return own.Name == name })
}

// All returns the servers, those of the embedder first. Their relative
// directories are resolved against the target.
func (s Set) All(target string) []mcp.Configured {
	var all []mcp.Configured
	for _, spec := range s.Own {
		spec.Source = cmp.Or(spec.Source, "the program")
		all = append(all, mcp.Configured{ServerSpec: spec})
	}
	for _, other := range s.others() {
		if !s.Owns(other.Name) {
			all = append(all, other)
		}
	}
	for i := range all {
		one := &all[i]
		if one.Blocked == nil {
			one.Blocked = s.blocked(one.Name)
		}
		if one.Dir == "" {
			one.Dir = target
		} else if !filepath.IsAbs(one.Dir) {
			one.Dir = filepath.Join(target, one.Dir)
		}
	}
	return all
}

// others returns the servers of the settings and of extensions; the latter
// include the settings of the same name.
func (s Set) others() []mcp.Configured {
	if len(s.Brought) == 0 {
		return s.Settings.configured
	}
	all := slices.DeleteFunc(slices.Clone(s.Settings.configured), func(one mcp.Configured) bool {
		return slices.ContainsFunc(s.Brought, func(b mcp.Configured) bool { return b.Name == one.Name })
	})
	return append(all, s.Brought...)
}

// Names returns the names of all servers, used or not.
func (s Set) Names() []string {
	var all []string
	for _, spec := range s.Own {
		all = append(all, spec.Name)
	}
	for _, one := range s.others() {
		all = append(all, one.Name)
	}
	return all
}

// Rules returns the rules for servers: the tools of a trusted one run without
// approval, unless a written rule of the same tier differs, and a project's trust
// is in the project's tier; the tools of an excluded one are denied, whatever
// their source.
func (s Set) Rules() []policy.Rule {
	var out []policy.Rule
	rule := func(server string, r policy.Rule) {
		r.Server, r.Tools, r.Tier = server, []string{"*"}, policy.TierUser
		out = append(out, r)
	}
	trusted := func(spec mcp.ServerSpec) {
		if !spec.Trusted || mcp.CheckServerName(spec.Name) != nil {
			return // it is not used, and an allowance for it might apply to another server
		}
		rule(spec.Name, policy.Rule{Name: "trusted server " + spec.Name, Decision: policy.Allow, Source: spec.Source,
			Modes: []policy.ApprovalMode{policy.ModeDefault, policy.ModeAutoEdit, policy.ModeYolo}})
		if s.Settings.ofProject[spec.Name] {
			out[len(out)-1].Tier = policy.TierWorkspace
		}
	}
	for _, spec := range s.Own {
		trusted(spec)
	}
	for _, one := range s.Settings.configured {
		if !s.Owns(one.Name) {
			trusted(one.ServerSpec)
		}
	}
	for _, name := range s.Excluded {
		denied := policy.Rule{Name: "excluded server " + name, Decision: policy.Deny, Priority: 900, Restricts: true}
		switch {
		case name == Every:
			denied.Name = "all servers are excluded"
		case mcp.CheckServerName(name) != nil:
			continue // not a valid name
		}
		rule(name, denied)
	}
	return out
}

// blocked returns the reason why a server may not be used, or nil.
func (s Set) blocked(name string) error {
	is := func(other string) bool { return other == Every || strings.EqualFold(name, other) }
	switch {
	case slices.ContainsFunc(s.Excluded, is):
		return blockedBy("it is in mcp.excluded", "Remove it from that list.")
	case s.Allowed != nil && !slices.ContainsFunc(s.Allowed, is):
		return blockedBy("it is not in mcp.allowed", "Add it to that list.")
	}
	return nil
}

// longestTimeout is the maximum timeout of a server, in milliseconds.
const longestTimeout = 86_400_000

// OfExtension returns a server of an extension, merged with the settings of the
// same name.
func (s Settings) OfExtension(extension, name string, server settings.MCPServer) mcp.Configured {
	source := "extension " + extension
	if configured, ok := s.settings[name]; ok {
		server = merged(server, configured)
		source = cmp.Or(s.sourceOf[name], source)
	}
	spec, err := specOf(name, server)
	if err == nil && (server.Timeout < 0 || server.Timeout > longestTimeout) {
		err = blockedBy("its timeout is invalid", "Set milliseconds, at most a day.")
		spec.Timeout, spec.ConnectTimeout = 0, 0
	}
	spec.Source = source
	return mcp.Configured{ServerSpec: spec, Blocked: err}
}

// merged merges a server of an extension with the settings: settings take
// precedence, tools that both include are included, tools that one excludes are
// excluded, and variables are combined.
func merged(s, configured settings.MCPServer) settings.MCPServer {
	include, exclude := s.IncludeTools, slices.Concat(s.ExcludeTools, configured.ExcludeTools)
	switch {
	case include == nil:
		include = configured.IncludeTools
	case configured.IncludeTools != nil:
		include = slices.DeleteFunc(slices.Clone(include), func(name string) bool { return !slices.Contains(configured.IncludeTools, name) })
	}
	env, headers := maps.Clone(s.Env), maps.Clone(s.Headers)
	if configured.Command != "" || configured.URL != "" || configured.HTTPURL != "" || configured.TCP != "" { // at another location than the extension's
		s.Command, s.Args, s.Cwd, s.URL, s.HTTPURL, s.TCP, s.Type, headers, s.OAuth = "", nil, "", "", "", "", "", nil, nil
		if configured.Command == "" {
			env = nil // a remote server receives no variables
		}
	}
	s.Command, s.Cwd = cmp.Or(configured.Command, s.Command), cmp.Or(configured.Cwd, s.Cwd)
	s.URL, s.HTTPURL, s.TCP, s.Type = cmp.Or(configured.URL, s.URL), cmp.Or(configured.HTTPURL, s.HTTPURL), cmp.Or(configured.TCP, s.TCP), cmp.Or(configured.Type, s.Type)
	s.Timeout, s.Description = cmp.Or(configured.Timeout, s.Timeout), cmp.Or(configured.Description, s.Description)
	s.AuthProviderType = cmp.Or(configured.AuthProviderType, s.AuthProviderType)
	if configured.Args != nil {
		s.Args = configured.Args
	}
	if configured.OAuth != nil {
		s.OAuth = configured.OAuth
	}
	s.Env, s.Headers = both(env, configured.Env), both(headers, configured.Headers)
	s.Sandbox = s.Sandbox || configured.Sandbox
	s.Trust, s.IncludeTools, s.ExcludeTools = configured.Trust, include, exclude
	return s
}

// both merges two maps; the second takes precedence.
func both(a, b map[string]string) map[string]string {
	if len(a) == 0 {
		return b
	}
	a = maps.Clone(a)
	maps.Copy(a, b)
	return a
}

// Exchange shuts down servers that were removed or changed, and starts the new
// ones, all of them if the manager has just been opened with them; if it has not
// been started, only if start is set.
func Exchange(ctx context.Context, m *mcp.Manager, now []mcp.Configured, opened, start bool) error {
	wanted := map[string]mcp.Configured{}
	for _, server := range now {
		if _, first := wanted[server.Name]; !first {
			wanted[server.Name] = server
		}
	}
	var gone []error
	for _, has := range m.Servers() {
		if server, there := wanted[has.Name]; !there || !same(has, server) {
			gone = append(gone, m.Remove(ctx, has.Name))
		}
	}
	if err := errors.Join(gone...); err != nil {
		return err
	}
	var added []string
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		has := m.Has(name)
		if !has {
			m.Add(wanted[name])
		}
		if !has || opened {
			added = append(added, name)
		}
	}
	if len(added) > 0 && (m.Running() || start) {
		m.Start(context.WithoutCancel(ctx), added...) // Close ends it
	}
	return nil
}

// same reports whether two servers of one name have the same spec.
func same(a, b mcp.Configured) bool {
	blocked := func(err error) string {
		if err == nil {
			return ""
		}
		return err.Error()
	}
	if a.InProcess != nil && b.InProcess != nil { // funcs, which only the embedder sets
		a.InProcess, b.InProcess = nil, nil
	}
	if blocked(a.Blocked) != blocked(b.Blocked) {
		return false
	}
	a.Blocked, b.Blocked = nil, nil
	return reflect.DeepEqual(a, b)
}
