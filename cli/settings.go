package cli

import (
	"cmp"
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
type variables struct {
	process func(string) string
	added   map[string]string
}

// get returns a variable, "" where it is not set.
func (v variables) get(name string) string { return cmp.Or(v.process(name), v.added[name]) }

// all returns the variables in the form of [os.Environ].
func (v variables) all() []string {
	all := os.Environ()
	for _, name := range slices.Sorted(maps.Keys(v.added)) {
		all = append(all, name+"="+v.added[name])
	}
	return all
}

// apply sets parameters as the settings say. Folders and files are absolute
// afterwards, those of settings files counting from the target folder.
func apply(p *config.Parameters, r *settings.Result, env variables) error {
	s := r.Settings
	mode, err := policy.ParseApprovalMode(s.General.DefaultApprovalMode)
	if err != nil {
		return err
	}
	p.ApprovalMode = mode
	p.IncludeDirs = absolute(p.TargetDir, s.Context.IncludeDirectories)
	if p.PolicyPaths == nil { // --policy goes in the place of the setting
		p.PolicyPaths = absolute(p.TargetDir, s.PolicyPaths)
	}
	p.CoreTools, p.AllowedTools, p.ExcludeTools = s.Tools.Core, s.Tools.Allowed, s.Tools.Exclude
	p.AllowedToolsSource, p.ExcludeToolsSource = sourceOf(r, "tools.allowed"), sourceOf(r, "tools.exclude")
	if !s.UseWriteTodos {
		p.ExcludeTools = append(p.ExcludeTools, "write_todos")
	}
	p.FileReadCacheDisabled = &s.Tools.FileReadCacheDisabled
	p.FileFiltering = config.FileFiltering{
		NoGitIgnore: !s.Context.FileFiltering.RespectGitIgnore, NoOwnIgnore: !s.Context.FileFiltering.RespectFettleIgnore,
		CustomFiles: s.Context.FileFiltering.CustomIgnoreFilePaths, MaxFiles: s.Context.FileFiltering.MaxFileCount,
	}
	p.Commands = config.Commands{
		Idle: s.Tools.Shell.Idle(), Total: s.Tools.Shell.Total(),
		Terminal:    s.Tools.Shell.EnableInteractiveShell && process.TerminalsExist,
		Confinement: confinement(p.TargetDir, s.Tools.Sandbox),
		Environ:     env.all,
	}
	p.ToolCommands = config.ToolCommands{Discovery: s.Tools.DiscoveryCommand, Call: s.Tools.CallCommand}
	agent := "fettle/" + versionOf().Version
	p.WebFetch = webfetch.Options{AllowPrivate: s.Web.AllowPrivateAddresses, Allow: s.Web.AllowedHosts, UserAgent: agent, Proxy: http.ProxyFromEnvironment}
	return applySearch(p, s.Web.Search, env, websearch.Transport{UserAgent: agent, Proxy: http.ProxyFromEnvironment})
}

// applySearch sets who searches the web: the service of the settings, else
// Gemini where there is a key for it, else nobody.
func applySearch(p *config.Parameters, s settings.Search, env variables, t websearch.Transport) error {
	if s.URL != "" {
		service, err := websearch.NewJSON(websearch.JSONOptions{
			URL: s.URL, Method: s.Method, Headers: s.Headers, Body: s.Body, ResultsPath: s.ResultsPath, TitlePath: s.TitlePath,
			URLPath: s.URLPath, SnippetPath: s.SnippetPath, AnswerPath: s.AnswerPath, Limit: s.Limit, Transport: t,
		})
		if err != nil {
			return err
		}
		p.WebSearch = service
		return nil
	}
	if key := env.get("GEMINI_API_KEY"); key != "" {
		service, err := websearch.NewGemini(websearch.GeminiOptions{Key: key, BaseURL: env.get("GOOGLE_GEMINI_BASE_URL"), Transport: t})
		if err != nil {
			return err
		}
		p.WebSearch = service
	}
	return nil
}

// confinement is what the settings say about commands.
func confinement(target string, s settings.Sandbox) process.Confinement {
	c := process.Confinement{Writable: absolute(target, s.AllowedPaths), NoTCP: !s.NetworkAccess}
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

// sourceOf names where the strongest value of a key comes from, "" for a flag
// and for the default.
func sourceOf(r *settings.Result, key string) string {
	for _, o := range r.Origins(key) {
		switch {
		case o.Refused != "":
		case o.Layer == settings.LayerFlags, o.Layer == settings.LayerDefault:
			return ""
		default:
			return o.Source
		}
	}
	return ""
}
