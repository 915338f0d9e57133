// Package apply converts settings into values that a session can use. It reports
// invalid values, the effects that a project has only when it is trusted, and the
// keys that may change during a session.
package apply

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/config/internal/paths"
	"github.com/fettle-dev/fettle/core/config/internal/servers"
	"github.com/fettle-dev/fettle/core/config/internal/toolrules"
	"github.com/fettle-dev/fettle/core/config/layout"
	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/mcp"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/services/process"
	"github.com/fettle-dev/fettle/core/services/trust"
	"github.com/fettle-dev/fettle/core/services/webfetch"
	"github.com/fettle-dev/fettle/core/services/websearch"
	"github.com/fettle-dev/fettle/core/tools/toollist"
	"github.com/fettle-dev/fettle/core/tools/web"
)

// Input is the part of a session that does not come from settings.
type Input struct {
	Layout  layout.Layout
	Home    string   // directory that contains the user's settings directory; "": there is none
	Target  string   // the absolute directory of the project
	Environ []string // the environment
	Tools   []string // names of the built-in tools of the default set
	// IncludeDirs are further directories of the workspace, if no setting names
	// them.
	IncludeDirs []string
	// Decides reports whether the embedder sets a key, with precedence over all
	// settings.
	Decides func(key string) bool
}

// Absolute returns a path of settings as an absolute, cleaned one: ~/ is the home
// directory, and relative paths are resolved against the target directory. An
// empty path stays empty.
func (g Input) Absolute(path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok && g.Home != "" {
		return filepath.Join(g.Home, rest)
	}
	if path != "" && !filepath.IsAbs(path) {
		return filepath.Join(g.Target, path)
	}
	if path == "" {
		return ""
	}
	return filepath.Clean(path)
}

// Validated has settings without invalid values.
type Validated struct {
	settings.Settings // with absolute paths

	Confinement process.Confinement        // of commands
	Auto        func() process.Confinement // determines that of single commands once, if the settings leave it to the machine; nil: Confinement applies
	ByDefault   bool                       // no setting requests it
	// AutoNotice explains that the mode auto is the same as auto_edit, because single
	// commands cannot be confined by mounts; it returns "" if they can be. nil: the
	// settings do not decide.
	AutoNotice func() string
	Networked  bool // a setting allows confined commands the network explicitly

	Search  func(websearch.Transport) (SearchService, error) // creates the web search service; nil: none
	Dropped []fault.Problem                                  // requested values that cannot be used
	Lasting []fault.Problem                                  // likewise, for values that are used at Initialize only
	Unread  []fault.Problem                                  // of whole files that may have contained a protection
	// Stops is the first problem that prevents a session: a protection is
	// missing. nil: there is none.
	Stops *fault.Problem
}

// SearchService searches the web.
type SearchService interface {
	web.Searcher
	io.Closer
}

// checker finds settings that the services they configure cannot use.
type checker struct {
	given  Input
	loaded *settings.Result
	usable *Validated
}

// Check validates settings, unless given takes precedence. It creates and starts
// nothing. The error has code cancelled.
func Check(ctx context.Context, given Input, r *settings.Result) (*Validated, error) {
	c := &checker{given: given, loaded: r, usable: &Validated{Settings: r.Settings, Unread: r.Unread()}}
	c.policies()
	c.checkIncluded()
	c.sandbox(ctx)
	c.commands()
	c.programs()
	c.search()
	c.core()
	c.excluded()
	c.servers()
	c.mode(ctx)
	c.usable.Lasting, c.usable.Dropped = c.usable.Dropped, nil
	c.entries()
	if err := ctx.Err(); err != nil {
		return nil, fault.WasCancelled("config.Initialize", err)
	}
	return c.usable, nil
}

// Again validates the settings that may change during a session; all others stay
// as they were at Initialize.
func (u *Validated) Again(given Input, r *settings.Result) *Validated {
	now := &Validated{Settings: r.Settings, Search: u.Search, Lasting: u.Lasting, Unread: u.Unread}
	now.PolicyPaths, now.Context.IncludeDirectories, now.Tools.Sandbox = u.PolicyPaths, u.Context.IncludeDirectories, u.Tools.Sandbox
	now.Confinement, now.Auto, now.ByDefault, now.Networked = u.Confinement, u.Auto, u.ByDefault, u.Networked
	now.Tools.DiscoveryCommand, now.Tools.CallCommand, now.Tools.DiscoverySandbox = u.Tools.DiscoveryCommand, u.Tools.CallCommand, u.Tools.DiscoverySandbox
	c := &checker{given: given, loaded: r, usable: now}
	c.entries()
	return now
}

// tell records a problem with a key whose value comes from the origin.
func (c *checker) tell(p fault.Problem, key string, origin settings.Origin) fault.Problem {
	p.Key, p.Path, p.Layer, p.Line, p.Column = key, origin.Source, origin.Layer, origin.Line, origin.Column
	if p.Kind == "" {
		p.Kind, p.Severity = settings.KindUnusable, settings.Error
	}
	if p.Nearest != "" {
		p.Remedy = fmt.Sprintf("Did you mean %s?", p.Nearest)
	}
	c.usable.Dropped = append(c.usable.Dropped, p)
	return p
}

// stop records a problem that prevents a session.
func (c *checker) stop(p fault.Problem, key string, origin settings.Origin) {
	p.Open = true
	if p = c.tell(p, key, origin); c.usable.Stops == nil {
		c.usable.Stops = &p
	}
}

// paths returns the entries of a list of paths, as absolute paths, without those
// that refused reports. missing is called for each that does not exist.
func (c *checker) paths(key string, dirs bool, refused func(e settings.Entry, path string) bool, missing func(e settings.Entry, why error)) []string {
	var all []string
	for _, e := range c.loaded.Entries(key) {
		path := c.given.Absolute(e.Text)
		if err := paths.Check(path, dirs); err != nil {
			missing(e, err)
			continue
		}
		if refused == nil || !refused(e, path) {
			all = append(all, path)
		}
	}
	return all
}

func (c *checker) policies() {
	const key = "policyPaths"
	if c.given.Decides(key) {
		return
	}
	c.usable.PolicyPaths = c.paths(key, false, nil, func(e settings.Entry, why error) {
		c.stop(fault.Problem{
			Message: fmt.Sprintf("The policy %q cannot be read: %v. Rules that protect you may be missing, so no session is started.", e.Text, why),
			Remedy:  "Name an existing file or directory, or remove the entry.",
		}, key, e.Origin)
	})
}

func (c *checker) checkIncluded() {
	const key = KeyInclude
	if c.given.Decides(key) {
		return
	}
	approved, why := c.approvedDirectories()
	outside := func(e settings.Entry, path string) bool {
		if !e.Origin.OfProject || trust.Covers(approved, path) {
			return false
		}
		p := fault.Problem{Kind: settings.KindOutside, Severity: settings.Warning,
			Message: fmt.Sprintf("The directory %s is outside the project, and trust in the project does not cover it. It is ignored.", path),
			Remedy:  "To approve it, run fettle trust --outside, or name it with --include-directories."}
		if why != nil {
			p.Message += " " + fault.MessageOf(why)
		}
		c.tell(p, key, e.Origin)
		return true
	}
	c.usable.Context.IncludeDirectories = c.paths(key, true, outside, func(e settings.Entry, why error) {
		p := fault.Problem{Message: fmt.Sprintf("The directory %q cannot be used: %v.", e.Text, why), Remedy: "Name an existing directory."}
		if e.Origin.Layer == settings.LayerFlags { // a flag must take effect at once
			c.stop(p, key, e.Origin)
			return
		}
		p.Message += " It is ignored."
		c.tell(p, key, e.Origin)
	})
}

// isSet reports whether a layer sets a key.
func (c *checker) isSet(key string) bool {
	return slices.ContainsFunc(c.loaded.Origins(key), func(o settings.Origin) bool { return o.Layer != settings.LayerDefault && o.Refused == "" })
}

// reportedAt reports whether the settings already report a mistake at the position of
// a value. That mistake then prevents the session.
func (c *checker) reportedAt(origin settings.Origin) bool {
	for _, p := range c.loaded.Problems {
		if p.Severity == settings.Error && p.Path == origin.Source && p.Line == origin.Line && p.Column == origin.Column {
			if c.usable.Stops == nil {
				c.usable.Stops = &p
			}
			return true
		}
	}
	return false
}

// outside warns if commands can write the files that configure their confinement.
func (c *checker) outside(origin settings.Origin) {
	home, further := c.given.Home, c.given.IncludeDirs
	if home == "" {
		return
	}
	if further == nil {
		further = c.usable.Context.IncludeDirectories
	}
	dir := filepath.Join(home, c.given.Layout.Dir)
	real := paths.ResolveExisting(dir)
	for _, directory := range slices.Concat([]string{c.given.Target}, further, c.usable.Tools.Sandbox.AllowedPaths) {
		below, err := filepath.Rel(paths.ResolveExisting(directory), real)
		if err == nil && filepath.IsLocal(below) {
			c.tell(fault.Problem{
				Kind: settings.KindUnusable, Severity: settings.Warning, Remedy: "Work in a narrower directory.",
				Message: fmt.Sprintf("Confined commands can write your settings directory %s, because it is inside %s. Files that they write there apply to later sessions.", dir, directory),
			}, "tools.sandbox", origin)
			return
		}
	}
}

// commands checks that a discovery command comes with a call command.
func (c *checker) commands() {
	t := &c.usable.Tools
	const discovery, call = "tools.discoveryCommand", "tools.callCommand"
	switch {
	case c.given.Decides(discovery):
		return
	case t.DiscoveryCommand != "" && t.CallCommand == "":
		c.tell(fault.Problem{Message: "No command would run the tools that it declares, so it is not run.", Remedy: "Set " + call + " too."},
			discovery, c.loaded.OriginOf(discovery))
	case t.DiscoveryCommand == "" && t.CallCommand != "":
		c.tell(fault.Problem{Message: "It has no effect, because no command declares tools.", Remedy: "Set " + discovery + " too."},
			call, c.loaded.OriginOf(call))
	default:
		return
	}
	t.DiscoveryCommand, t.CallCommand = "", ""
}

// programs reports that programs with sandbox are confined by Landlock alone.
func (c *checker) programs() {
	key := ""
	for _, server := range c.usable.MCPServers {
		if server.Sandbox && server.Command != "" {
			key = "mcpServers"
		}
	}
	if t := &c.usable.Tools; t.DiscoverySandbox && t.DiscoveryCommand != "" {
		key = "tools.discoverySandbox"
	}
	if key != "" && (process.Confinement{NoTCP: !c.usable.Networked}).Strongest().Kind == process.Landlock {
		c.tell(fault.Problem{Kind: settings.KindUnusable, Severity: settings.Warning, Message: settings.LandlockAlone, Remedy: "fettle doctor shows what the machine supports."},
			key, c.loaded.OriginOf(key))
	}
}

// otherEdits returns the names of the built-in tools that are not in the default set.
func otherEdits() []string {
	return []string{"edit", "replace", "apply_patch", "str_replace_based_edit_tool"}
}

// core warns of names that are not built-in tools, and of invalid restrictions.
func (c *checker) core() {
	const key = "tools.core"
	if c.given.Decides(key) {
		return
	}
	known := append(slices.Clone(c.given.Tools), otherEdits()...)
	for _, e := range c.loaded.Entries(key) {
		entry := toollist.ParseEntry(e.Text)
		p := fault.Problem{Kind: settings.KindUnknown, Severity: settings.Warning}
		_, err := entry.Commands()
		switch name := entry.Name; {
		case !slices.ContainsFunc(toolrules.Names(entry), func(name string) bool { return slices.Contains(known, name) }):
			p.Message = fmt.Sprintf("%q is not a built-in tool; the entry has no effect.", name)
			p.Nearest = settings.NearestOf(name, known)
			p.Remedy = "fettle tools lists the tools."
		case entry.Whole() && !c.given.Decides(keySearch) && c.usable.Search == nil && slices.Contains(toolrules.Names(entry), "web_search"),
			!c.given.Decides(keySearch) && c.usable.Search == nil && name == "google_web_search":
			p.Message = fmt.Sprintf("The tool %s is not available, because no search service is configured.", name)
			p.Remedy = "Set web.search.url, or the variable GEMINI_API_KEY."
		case entry.Whole() || entry.Shell() && err == nil:
			continue
		case entry.Shell():
			p.Message = fmt.Sprintf("The restriction of the entry %q is invalid: %v. The entry selects nothing.", e.Text, err)
			p.Remedy = "Use the beginning of a command, as in run_shell_command(git status)."
		default:
			p.Message = fmt.Sprintf("The restriction of the entry %q is invalid: only run_shell_command may have brackets. The entry selects nothing.", e.Text)
			p.Remedy = "Remove the brackets, and write a policy rule for its arguments."
		}
		c.tell(p, key, e.Origin)
	}
}

// excluded warns of exclusions that deny more than written because they cannot be
// parsed, and of names that are probably mistyped.
func (c *checker) excluded() {
	const key = "tools.exclude"
	if c.given.Decides(key) {
		return
	}
	known := append(slices.Clone(c.given.Tools), otherEdits()...)
	for _, e := range c.loaded.Entries(key) {
		p := fault.Problem{Kind: settings.KindUnknown, Severity: settings.Warning}
		entry := toollist.ParseEntry(e.Text)
		if why := toolrules.CheckExcluded(e.Text); why != nil {
			p.Message, p.Remedy = fault.As(why).Message, fault.As(why).Remedy
		} else if toolrules.NamesNothing(entry) {
			p.Severity, p.Message = settings.Error, fmt.Sprintf("The entry %q of the excluded tools is not the name of a tool. Every change, program and request requires approval.", e.Text)
			p.Remedy, p.Open = "Use the name of a tool, or for the shell the beginning of a command, as in run_shell_command(rm -rf).", true
			c.usable.Unread = append(c.usable.Unread, c.tell(p, key, e.Origin))
			continue
		} else if names := toolrules.Names(entry); !slices.ContainsFunc(names, func(name string) bool { _, ok := policy.WellKnown(name); return ok }) {
			if p.Nearest = settings.NearestOf(entry.Name, known); p.Nearest == "" {
				continue // possibly a tool of a server
			}
			p.Message = fmt.Sprintf("%q is not a built-in tool; the entry excludes nothing unless a server has such a tool.", entry.Name)
		} else {
			continue
		}
		c.tell(p, key, e.Origin)
	}
}

// entries checks the lists in which only the invalid entry is dropped.
func (c *checker) entries() {
	if !c.given.Decides("tools.allowed") {
		c.usable.Tools.Allowed = c.kept("tools.allowed", func(entry string) error {
			_, _, err := toolrules.Allowed(entry, toolrules.Place{})
			return err
		})
	}
	if key := "tools.confirmationRequired"; !c.given.Decides(key) {
		for _, e := range c.loaded.Entries(key) {
			if _, _, err := toolrules.Confirmed(e.Text, toolrules.Place{}); err != nil {
				c.stop(fault.Problem{Message: fault.As(err).Message + " The entry would protect you, so no session is started.", Remedy: fault.As(err).Remedy}, key, e.Origin)
			}
		}
	}
	if !c.given.Decides("web.allowedHosts") {
		c.usable.Web.AllowedHosts = c.kept("web.allowedHosts", func(entry string) error {
			return webfetch.Check(webfetch.Options{Allow: []string{entry}})
		})
	}
}

// servers checks the lists of MCP servers for invalid names.
func (c *checker) servers() {
	const allowed, excluded = "mcp.allowed", "mcp.excluded"
	wrong := func(key string, tell func(p fault.Problem, origin settings.Origin)) {
		for _, e := range c.loaded.Entries(key) {
			if err := fault.As(mcp.CheckServerName(e.Text)); err != nil && e.Text != servers.Every {
				tell(fault.Problem{Message: err.Message, Remedy: "Name a server, or * for all."}, e.Origin)
			}
		}
	}
	wrong(excluded, func(p fault.Problem, origin settings.Origin) {
		p.Message += " The entry would protect you, so no session is started."
		c.stop(p, excluded, origin)
	})
	wrong(allowed, func(p fault.Problem, origin settings.Origin) {
		p.Kind, p.Severity = settings.KindUnusable, settings.Warning
		p.Message += " The entry has no effect."
		c.tell(p, allowed, origin)
	})
}

// kept returns the entries of a list that check accepts. An invalid entry of a
// flag prevents the session.
func (c *checker) kept(key string, check func(entry string) error) []string {
	var kept []string
	for _, e := range c.loaded.Entries(key) {
		err := check(e.Text)
		if err == nil {
			kept = append(kept, e.Text)
			continue
		}
		p := fault.Problem{Message: fault.As(err).Message, Remedy: fault.As(err).Remedy}
		if e.Origin.Layer == settings.LayerFlags {
			c.stop(p, key, e.Origin)
			continue
		}
		p.Message += " The entry is ignored."
		c.tell(p, key, e.Origin)
	}
	return kept
}
