package config

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/extensions"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/mcp"
)

// EnableExtension has an extension contribute what it has, for this session and
// whatever else disables it, as [Config.ReloadExtensions] does. To enable it for
// good, see [extensions.Store.SetEnabled]. The error is of code invalid_config
// where there is none of that name, or one of ReloadExtensions.
func (c *Config) EnableExtension(ctx context.Context, name string) error {
	return c.switchExtension(ctx, "EnableExtension", name, true)
}

// DisableExtension has an extension contribute nothing any more in this session:
// its servers have ended when it returns. The errors are those of EnableExtension.
func (c *Config) DisableExtension(ctx context.Context, name string) error {
	return c.switchExtension(ctx, "DisableExtension", name, false)
}

// ReloadExtensions reads the extensions again, and puts in force what they
// contribute now (AR-32): tools of servers and agents, exclusions, rules, hooks,
// skills and context files come and go; servers that are gone, or are reached in
// another way, are ended and waited for, new ones are begun to connect where the
// session's are. Where plans are written stays. What derived Configs have been
// given as tools they keep until they are closed. A call that runs meanwhile may
// find a tool gone. The error is of code not_initialized or cancelled; then some of
// it may not be in force, and calling it again puts it right. In a derived Config it
// is the reload of the one that all are derived from.
func (c *Config) ReloadExtensions(ctx context.Context) error {
	root, err := c.extensionsRoot("ReloadExtensions")
	if err != nil {
		return err
	}
	x := &root.family.extended
	x.changing.Lock()
	defer x.changing.Unlock()
	return root.reloadExtensions(ctx)
}

// extensionsRoot is the Config that all of a family are derived from.
func (c *Config) extensionsRoot(what string) (*Config, error) {
	for {
		if err := c.checkPhase(what, c.currentPhase()); err != nil || c.parent == nil {
			return c, err
		}
		c = c.parent
	}
}

func (c *Config) switchExtension(ctx context.Context, what, name string, on bool) error {
	root, err := c.extensionsRoot(what)
	if err != nil {
		return err
	}
	x := &root.family.extended
	x.changing.Lock()
	defer x.changing.Unlock()
	e, ok := x.named(name)
	if !ok { // it may have been installed since
		if err := root.reloadExtensions(ctx); err != nil {
			return err
		}
		e, ok = x.named(name)
	}
	if !ok {
		return fault.New(fault.InvalidConfig, "config.extensions", fmt.Sprintf("There is no extension %q.", escape.ClipBytes(name, 60)), "fettle extensions list shows those that there are.")
	}
	x.mu.Lock()
	switched := maps.Clone(x.switched)
	if switched == nil {
		switched = map[string]bool{}
	}
	switched[e.Name] = on
	x.switched = switched
	x.mu.Unlock()
	return root.reloadExtensions(ctx)
}

// named returns the extension of a name in any case of letters.
func (x *extended) named(name string) (extensions.Extension, bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	i := slices.IndexFunc(x.found, func(e extensions.Extension) bool { return strings.EqualFold(e.Name, name) })
	if i < 0 {
		return extensions.Extension{}, false
	}
	return x.found[i], true
}

// reloadExtensions is ReloadExtensions of the root; x.changing is held.
func (c *Config) reloadExtensions(ctx context.Context) error {
	sh, err := c.services("ReloadExtensions")
	if err != nil {
		return err
	}
	s, err := c.own("ReloadExtensions")
	if err != nil {
		return err
	}
	before := c.brought()
	if err := c.findExtensions(ctx, sh.workspace.Target()); err != nil {
		return err
	}
	if err := c.bringRules(ctx, sh.rules); err != nil {
		return err
	}
	c.loadHooks(sh)
	if err := c.loadSkills(ctx, sh); err != nil {
		return err
	}
	s.tracker.ForgetInstructions()
	if err := c.exchangeServers(ctx, sh, s); err != nil {
		return err
	}
	if err := c.renewAgents(ctx, sh, s); err != nil {
		return err
	}
	return c.renewTools(ctx, sh, s, before.exclude)
}

// exchangeServers ends the servers of extensions that are gone, or are others now,
// and begins the new ones.
func (c *Config) exchangeServers(ctx context.Context, sh *shared, s *session) error {
	wanted := map[string]mcp.Configured{}
	for _, server := range c.mcpServers(sh.workspace.Target()) {
		if _, first := wanted[server.Name]; !first {
			wanted[server.Name] = server
		}
	}
	var added []string
	m := sh.servers.Load()
	if m == nil {
		if m = c.openServers(sh); m == nil {
			return nil
		}
		sh.servers.Store(m)
		added = slices.Sorted(maps.Keys(wanted))
		for _, t := range c.resourceTools(sh) {
			if err := s.registry.Register(t); err != nil {
				return err
			}
		}
	}
	var gone []error
	for _, has := range m.Servers() {
		now, there := wanted[has.Name]
		if there && sameServer(has, now) {
			continue
		}
		gone = append(gone, m.Remove(ctx, has.Name))
	}
	if err := errors.Join(gone...); err != nil {
		return err
	}
	for name, server := range wanted {
		if !m.Has(name) {
			m.Add(server)
			added = append(added, name)
		}
	}
	if len(added) > 0 && (m.Running() || !c.params().MCP.Later) {
		m.Start(context.WithoutCancel(ctx), added...) // Close ends it
	}
	return nil
}

// sameServer reports whether two servers of one name are reached alike.
func sameServer(a, b mcp.Configured) bool {
	blocked := func(err error) string {
		if err == nil {
			return ""
		}
		return err.Error()
	}
	if a.InProcess != nil && b.InProcess != nil { // funcs, which only the embedder gives
		a.InProcess, b.InProcess = nil, nil
	}
	if blocked(a.Blocked) != blocked(b.Blocked) {
		return false
	}
	a.Blocked, b.Blocked = nil, nil
	return reflect.DeepEqual(a, b)
}

// renewTools takes the tools away that are excluded now, and brings those back that
// no longer are.
func (c *Config) renewTools(ctx context.Context, sh *shared, s *session, before []string) error {
	others := c.offers()
	for _, t := range s.registry.All() {
		if spec := t.Spec(); !others.Includes(spec, true) {
			s.registry.Unregister(spec.Name)
		}
	}
	now := c.brought().exclude
	if !slices.ContainsFunc(before, func(name string) bool { return !slices.Contains(now, name) }) {
		return nil
	}
	builtIn, err := c.bindBuiltIns(sh, s)
	if err != nil {
		return err
	}
	own, err := c.bindOwnTools(c.lentTo(sh, s))
	if err != nil {
		return err
	}
	has := s.registry.Names()
	for _, t := range append(builtIn, own...) {
		if slices.Contains(has, t.Spec().Name) {
			continue
		}
		if err := s.registry.Register(t); err != nil {
			return err
		}
	}
	if m := sh.servers.Load(); m != nil {
		for _, server := range m.Servers() {
			c.offer(server.Name)
		}
	}
	c.noteDiscovery(split(s.registry.Discover(ctx))...)
	return nil
}

// lentTo are the services that tools of the embedder's are bound to.
func (c *Config) lentTo(sh *shared, s *session) Services {
	return Services{
		Workspace: sh.workspace, FileState: s.state, Mutations: s.mutation, Tracker: s.tracker, Finder: &sh.finder, Processes: s.processes,
	}
}

// renewAgents reads the definitions of agents again: the tools of those that are
// gone go, and those of files are made anew.
func (c *Config) renewAgents(ctx context.Context, sh *shared, s *session) error {
	before := sh.agents.now()
	if err := c.findAgents(ctx, sh, s); err != nil {
		return err
	}
	for _, d := range before.defs {
		if !slices.ContainsFunc(sh.agents.now().defs, sameName(d.Name)) {
			s.registry.Unregister(d.Name)
		}
	}
	return c.registerAgents(sh, s, s.registry)
}
