package cli

import (
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/services/process"
	"github.com/fettle-dev/fettle/core/services/webfetch"
	"github.com/fettle-dev/fettle/core/services/websearch"
)

// settings returns the flags that are settings, by key, as far as they were
// given. Their paths count from the current folder, whatever --cwd says.
func (g *globalFlags) settings() map[string]any {
	given := map[string]any{}
	if g.modeSet {
		given["general.defaultApprovalMode"] = g.approvalMode
	}
	if g.coreToolsSet {
		given["tools.core"] = append([]string{}, g.coreTools...) // not nil: an empty list means none
	}
	for key, list := range map[string][]string{
		"tools.allowed": g.allowedTools, "tools.exclude": g.excludeTools,
		"context.includeDirectories": absolute("", g.includeDirs),
	} {
		if len(list) > 0 {
			given[key] = list
		}
	}
	if g.noReadCache != nil {
		given["tools.fileReadCacheDisabled"] = *g.noReadCache
	}
	return given
}

// variables are those of the process and of .env files.
type variables struct{ loaded *settings.Result }

// get returns a variable, "" where it is not set, and whether a .env file of the
// project gives it.
func (v variables) get(name string) (value string, ofProject bool) {
	if value, set := os.LookupEnv(name); set {
		return value, false
	}
	return v.loaded.Env[name], v.loaded.OfProject(name)
}

// all returns the variables in the form of [os.Environ].
func (v variables) all() []string { return v.environ(func(string) bool { return true }) }

// own returns those that are not the project's.
func (v variables) own() []string {
	return v.environ(func(name string) bool { return !v.loaded.OfProject(name) })
}

func (v variables) environ(include func(name string) bool) []string {
	all := os.Environ()
	for _, name := range slices.Sorted(maps.Keys(v.loaded.Env)) {
		if include(name) {
			all = append(all, name+"="+v.loaded.Env[name])
		}
	}
	return all
}

// apply sets parameters as checked settings say. Folders and files are absolute
// afterwards, those of settings files counting from the target folder.
func apply(p *config.Parameters, usable *usable, r *settings.Result, env variables) error {
	s := usable.Settings
	mode, err := policy.ParseApprovalMode(s.General.DefaultApprovalMode)
	if err != nil {
		return err
	}
	p.ApprovalMode = mode
	p.IncludeDirs = s.Context.IncludeDirectories
	if p.PolicyPaths == nil { // --policy goes in the place of the setting
		p.PolicyPaths = s.PolicyPaths
	}
	p.CoreTools, p.AllowedTools, p.ExcludeTools = s.Tools.Core, s.Tools.Allowed, s.Tools.Exclude
	p.AllowedFrom, p.ExcludedFrom = places(r, "tools.allowed"), places(r, "tools.exclude")
	if todos := "write_todos"; !s.UseWriteTodos && !slices.Contains(p.ExcludeTools, todos) {
		o := r.Origins("useWriteTodos")[0] // somebody gives it, as it is on by itself
		p.ExcludeTools = append(slices.Clone(p.ExcludeTools), todos)
		p.ExcludedFrom[todos] = config.Place{Source: o.Source, Line: o.Line, Rule: "useWriteTodos"}
	}
	p.FileReadCacheDisabled = &s.Tools.FileReadCacheDisabled
	p.FileFiltering = config.FileFiltering{
		NoGitIgnore: !s.Context.FileFiltering.RespectGitIgnore, NoOwnIgnore: !s.Context.FileFiltering.RespectFettleIgnore,
		CustomFiles: s.Context.FileFiltering.CustomIgnoreFilePaths, MaxFiles: s.Context.FileFiltering.MaxFileCount,
	}
	p.Commands = config.Commands{
		Idle: s.Tools.Shell.Idle(), Total: s.Tools.Shell.Total(),
		Terminal:    s.Tools.Shell.EnableInteractiveShell && process.TerminalsExist,
		Confinement: confinement(s.Tools.Sandbox),
		Environ:     env.all,
	}
	if p.Commands.Confinement.Kind == process.Container || p.Commands.Confinement.Kind != process.Unconfined && s.Tools.DiscoveryCommand != "" {
		p.Commands.Environ = env.own // as it reaches a program that nothing confines
	}
	p.ToolCommands = config.ToolCommands{Discovery: s.Tools.DiscoveryCommand, Call: s.Tools.CallCommand}
	agent := "fettle/" + versionOf().Version
	p.WebFetch = webfetch.Options{AllowPrivate: s.Web.AllowPrivateAddresses, Allow: s.Web.AllowedHosts, UserAgent: agent, Proxy: http.ProxyFromEnvironment}
	if usable.search != nil {
		service, err := usable.search(websearch.Transport{UserAgent: agent, Proxy: http.ProxyFromEnvironment})
		if err != nil {
			return err // what the check has found no mistake in
		}
		p.WebSearch = service
	}
	return nil
}

// confinement is what the settings say about commands.
func confinement(s settings.Sandbox) process.Confinement {
	c := process.Confinement{Writable: s.AllowedPaths, NoTCP: !s.NetworkAccess}
	switch s.Kind() {
	case settings.SandboxNone:
		return process.Confinement{}
	case settings.SandboxLandlock:
		c.Kind = process.Landlock
	case settings.SandboxContainer:
		c.Kind, c.Program, c.Image = process.Container, s.Command, s.Image
	}
	return c
}

// absolute returns paths that count from dir, or where that is "" from the
// current folder, as absolute ones; nil stays nil, and an empty path empty. ~/
// is the home folder.
func absolute(dir string, paths []string) []string {
	var all []string
	for _, p := range paths {
		if rest, ok := strings.CutPrefix(p, "~/"); ok {
			if home, err := os.UserHomeDir(); err == nil {
				p = filepath.Join(home, rest)
			}
		}
		if p != "" {
			if dir != "" && !filepath.IsAbs(p) {
				p = filepath.Join(dir, p)
			}
			if abs, err := filepath.Abs(p); err == nil { // else the current folder is gone, which is told where it is used
				p = abs
			}
		}
		all = append(all, p)
	}
	return all
}

// places returns where the entries of a list were given, flags aside.
func places(r *settings.Result, key string) map[string]config.Place {
	all := map[string]config.Place{}
	for _, e := range r.Entries(key) {
		if e.Origin.Layer != settings.LayerFlags {
			all[e.Text] = config.Place{Source: e.Origin.Source, Line: e.Origin.Line}
		}
	}
	return all
}
