package config

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/services/process"
	"github.com/fettle-dev/fettle/core/services/trust"
	"github.com/fettle-dev/fettle/core/services/webfetch"
	"github.com/fettle-dev/fettle/core/services/websearch"
	"github.com/fettle-dev/fettle/core/tools/web"
)

// begun is what Initialize begins with.
type begun struct {
	params  Parameters         // with what the settings say
	options settings.Options   // of the settings, to load them again
	result  *settings.Result   // nil without settings
	search  io.Closer          // the search service that was made of the settings; nil: there is none
	dropped []settings.Problem // what the settings ask for and cannot have
	lasting []settings.Problem // the same, of what is made at Initialize alone
	env     map[string]string  // variables of .env files
}

// load reads the settings, unless the Parameters name none, and decides on
// trust.
func (c *Config) load(ctx context.Context) (begun, error) {
	b := begun{params: c.given}
	p := &b.params
	if err := p.decideTrust(ctx); err != nil || p.Settings == nil {
		return b, err
	}
	b.options = p.settingsOptions()
	if err := b.read(ctx, c.given); err != nil {
		return b, err
	}
	if err := p.decideTrust(ctx); err != nil { // now that all folders are known
		return b, err
	}
	if b.options.Undecided && p.Trust == trust.Undecided && b.result.Trusted { // by security.folderTrust.enabled
		p.Trust = trust.Trusted
	}
	if b.result.Trusted && p.Trust != trust.Trusted { // because of a folder that the settings name
		b.options.Trusted, b.options.Undecided = false, false
		given := c.given
		given.Trust = p.Trust
		if err := b.read(ctx, given); err != nil {
			return b, err
		}
	}
	if err := checkPolicyPaths(p.PolicyPaths); err != nil {
		return b, err
	}
	b.openSearch()
	b.result.Problems = slices.Concat(b.result.Problems, b.dropped, b.lasting)
	for _, problem := range b.result.Problems {
		p.Logger.Warn("settings", slog.String("problem", problem.String()))
	}
	return b, nil
}

// read loads the settings and fills given with them.
func (b *begun) read(ctx context.Context, given Parameters) error {
	r, err := settings.Load(ctx, b.options)
	if err != nil {
		return err
	}
	state := b.params.Trust
	b.result, b.env, b.params = r, r.Env, given
	b.params.Trust = state
	b.dropped, err = b.params.fill(r)
	return err
}

// decideTrust asks whether the folders of the workspace, as far as they are
// known, are trusted.
func (p *Parameters) decideTrust(ctx context.Context) error {
	if p.TrustOf == nil {
		return nil
	}
	state, err := p.TrustOf(ctx, append([]string{p.target()}, p.IncludeDirs...))
	if err != nil {
		return err
	}
	p.Trust = state
	return nil
}

// target is the target folder, absolute unless the current folder is not known.
func (p *Parameters) target() string {
	if abs, err := filepath.Abs(p.TargetDir); err == nil {
		return abs
	}
	return p.TargetDir
}

// home is the folder in which the user's settings folder lies; "" if there is
// none.
func (p *Parameters) home() string {
	if p.HomeDir != "" {
		return p.HomeDir
	}
	dir, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return dir
}

// settingsOptions are the given ones, with what the Config knows itself.
func (p *Parameters) settingsOptions() settings.Options {
	o := *p.Settings
	o.Layout, o.HomeDir, o.ProjectDir = p.Layout, p.home(), p.target()
	o.Trusted, o.Undecided, o.DefaultTools = p.Trust == trust.Trusted, p.Trust == trust.Undecided, DefaultTools(p.Layout)
	return o
}

// fill gives the fields that are zero what the settings say; see
// [Parameters.Settings]. Paths of settings are absolute afterwards, counting
// from the target folder. Entries of files that cannot be used are left out and
// told; one of a flag is an error where it is used.
func (p *Parameters) fill(r *settings.Result) (dropped []settings.Problem, err error) {
	s := r.Settings
	if p.ApprovalMode == "" {
		mode, err := policy.ParseApprovalMode(s.General.DefaultApprovalMode)
		if err != nil {
			return nil, err // a value that is none was left out before
		}
		p.ApprovalMode = mode
	}
	p.Model = cmp.Or(p.Model, s.Model.Name)
	if p.IncludeDirs == nil {
		p.IncludeDirs = p.absolute(s.Context.IncludeDirectories)
	}
	if p.PolicyPaths == nil {
		p.PolicyPaths = p.absolute(s.PolicyPaths)
	}
	if p.CoreTools == nil {
		p.CoreTools = s.Tools.Core
	}
	if p.AllowedTools == nil {
		p.AllowedToolsSource = cmp.Or(sourceOf(r, "tools.allowed"), p.AllowedToolsSource)
		p.AllowedTools, dropped = usable(r, "tools.allowed", s.Tools.Allowed, func(entry string) error {
			_, _, err := allowedTool(entry, "")
			return err
		})
	}
	if p.ExcludeTools == nil {
		p.ExcludeTools, p.ExcludeToolsSource = slices.Clone(s.Tools.Exclude), cmp.Or(sourceOf(r, "tools.exclude"), p.ExcludeToolsSource)
		if !s.UseWriteTodos {
			p.ExcludeTools = append(p.ExcludeTools, "write_todos")
		}
	}
	if p.FileReadCacheDisabled == nil {
		p.FileReadCacheDisabled = &s.Tools.FileReadCacheDisabled
	}
	p.fillFileFiltering(s.Context.FileFiltering)
	p.fillCommands(s.Tools, r.Env)
	if p.ToolCommands == (ToolCommands{}) {
		p.ToolCommands = ToolCommands{Discovery: s.Tools.DiscoveryCommand, Call: s.Tools.CallCommand}
	}
	p.WebFetch.AllowPrivate = p.WebFetch.AllowPrivate || s.Web.AllowPrivateAddresses
	if p.WebFetch.Allow == nil {
		hosts, wrong := usable(r, "web.allowedHosts", s.Web.AllowedHosts, func(entry string) error {
			_, err := webfetch.New(webfetch.Options{Allow: []string{entry}})
			return err
		})
		p.WebFetch.Allow, dropped = hosts, append(dropped, wrong...)
	}
	return dropped, nil
}

// usable returns the entries of a key that check takes, and a problem for each
// of the others that stands in a file.
func usable(r *settings.Result, key string, entries []string, check func(entry string) error) (kept []string, dropped []settings.Problem) {
	for _, entry := range entries {
		err := check(entry)
		where, found := originOf(r, key, entry)
		if err == nil || !found || where.Layer == settings.LayerFlags {
			kept = append(kept, entry)
			continue
		}
		dropped = append(dropped, problemOf(where, key, err))
	}
	return kept, dropped
}

// originOf returns the strongest layer that gives an entry of a list.
func originOf(r *settings.Result, key, entry string) (settings.Origin, bool) {
	for _, o := range r.Origins(key) {
		if list, ok := o.Value.([]any); ok && slices.Contains(list, any(entry)) {
			return o, true
		}
	}
	for _, o := range r.Origins(key) { // its variables were filled in
		if o.Refused == "" {
			return o, true
		}
	}
	return settings.Origin{}, false
}

// problemOf tells of a value that is left out because of err.
func problemOf(o settings.Origin, key string, err error) settings.Problem {
	p := settings.Problem{Source: cmp.Or(o.Source, "the settings"), Layer: o.Layer, Line: o.Line, Column: o.Column, Key: key,
		Kind: settings.KindValue, Severity: settings.Error, Message: message(err) + " It is left out."}
	if f := fault.As(err); f != nil {
		p.Remedy = f.Remedy
	}
	return p
}

func (p *Parameters) fillFileFiltering(s settings.FileFiltering) {
	f := &p.FileFiltering
	f.NoGitIgnore = f.NoGitIgnore || !s.RespectGitIgnore
	f.NoOwnIgnore = f.NoOwnIgnore || !s.RespectFettleIgnore
	if f.CustomFiles == nil {
		f.CustomFiles = s.CustomIgnoreFilePaths
	}
	f.MaxFiles = cmp.Or(f.MaxFiles, s.MaxFileCount)
}

// fillCommands is about the commands of the shell tool, which also see the
// variables of .env files.
func (p *Parameters) fillCommands(s settings.Tools, env map[string]string) {
	c := &p.Commands
	c.Idle, c.Total = cmp.Or(c.Idle, s.Shell.Idle()), cmp.Or(c.Total, s.Shell.Total())
	c.Terminal = c.Terminal || s.Shell.EnableInteractiveShell && process.TerminalsExist
	if c.Confinement.Kind == "" {
		c.Confinement = p.confinement(s.Sandbox)
	}
	if c.Environ == nil && len(env) > 0 {
		c.Environ = func() []string {
			all := os.Environ()
			for _, name := range slices.Sorted(maps.Keys(env)) {
				all = append(all, name+"="+env[name])
			}
			return all
		}
	}
}

// confinement is what the settings say about commands.
func (p *Parameters) confinement(s settings.Sandbox) process.Confinement {
	c := process.Confinement{Writable: p.absolute(s.AllowedPaths), NoTCP: !s.NetworkAccess}
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

// absolute returns paths of settings as absolute ones: ~/ is the home folder,
// and others count from the target folder. nil stays nil, an empty path empty.
func (p *Parameters) absolute(paths []string) []string {
	var all []string
	for _, path := range paths {
		if rest, ok := strings.CutPrefix(path, "~/"); ok && p.home() != "" {
			path = filepath.Join(p.home(), rest)
		}
		if path != "" && !filepath.IsAbs(path) {
			path = filepath.Join(p.target(), path)
		}
		all = append(all, path)
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

// checkPolicyPaths refuses policy files that are not there, as rules that
// protect would be missing.
func checkPolicyPaths(paths []string) error {
	for _, path := range paths {
		err := errors.New("the path is empty")
		if path != "" {
			_, err = os.Stat(path)
		}
		if err != nil {
			return fault.Wrap(fault.InvalidConfig, "config.settings", fmt.Sprintf("The policy %s cannot be read: %v.", path, err),
				"Give --policy, or the setting policyPaths, files or folders that exist.", err)
		}
	}
	return nil
}

// openSearch makes the service that searches the web: that of the settings,
// else Gemini where there is a key for it, else none. Without one there is no
// web_search; why is one of the problems.
func (b *begun) openSearch() {
	p, s := &b.params, b.result.Settings.Web.Search
	if p.WebSearch != nil {
		return
	}
	t := websearch.Transport{UserAgent: p.WebFetch.UserAgent, Proxy: p.WebFetch.Proxy}
	if s.URL != "" {
		service, err := websearch.NewJSON(websearch.JSONOptions{
			URL: s.URL, Method: s.Method, Headers: s.Headers, Body: s.Body, ResultsPath: s.ResultsPath, TitlePath: s.TitlePath,
			URLPath: s.URLPath, SnippetPath: s.SnippetPath, AnswerPath: s.AnswerPath, Limit: s.Limit, Transport: t,
		})
		b.useSearch(service, "web.search.url", err)
	} else if key := b.variable("GEMINI_API_KEY"); key != "" {
		service, err := websearch.NewGemini(websearch.GeminiOptions{Key: key, BaseURL: b.variable("GOOGLE_GEMINI_BASE_URL"), Transport: t})
		b.useSearch(service, "", err)
	}
}

func (b *begun) useSearch(service interface {
	web.Searcher
	io.Closer
}, key string, err error) {
	if err == nil {
		b.params.WebSearch, b.search = service, service
		return
	}
	where := settings.Origin{Layer: settings.LayerEnvironment, Source: "the environment"}
	if origins := b.result.Origins(key); len(origins) > 0 {
		where = origins[0]
	}
	b.lasting = append(b.lasting, problemOf(where, key, err))
}

func (b *begun) closeSearch() error { return closeIfAny(b.search) }

func closeIfAny(c io.Closer) error {
	if c == nil {
		return nil
	}
	return c.Close()
}

// variable returns an environment variable as the settings see it.
func (b *begun) variable(name string) string {
	for _, line := range slices.Backward(b.options.Environ) {
		if value, ok := strings.CutPrefix(line, name+"="); ok && value != "" {
			return value
		}
	}
	return b.env[name]
}
