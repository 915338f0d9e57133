package config

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/tools"
	"github.com/fettle-dev/fettle/core/tools/file"
)

// autoDialect reports whether the model selects the edit dialect.
func (t *Tools) autoDialect() bool {
	return t.Core == nil && slices.Contains(t.EditDialect, file.AutoDialect)
}

// inDefaultSet reports whether a file tool is in the default set, or may become a member of it with another model.
func (t *Tools) inDefaultSet(name string) bool {
	if t.EditDialect == nil || !slices.Contains(file.EditDialects(), name) {
		return file.InDefaultSet(name)
	}
	return t.autoDialect() || slices.Contains(t.EditDialect, name)
}

// checkDialect returns an error for a name that is no edit dialect, and for auto next to names.
func (t *Tools) checkDialect() error {
	names := strings.Join(file.EditDialects(), ", ")
	for _, name := range t.EditDialect {
		if name != file.AutoDialect && !slices.Contains(file.EditDialects(), name) {
			return fault.New(fault.InvalidConfig, "config.new", fmt.Sprintf("%q is not an edit dialect.", name), "Use auto, or one or more of "+names+".")
		}
	}
	if len(t.EditDialect) > 1 && slices.Contains(t.EditDialect, file.AutoDialect) {
		return fault.New(fault.InvalidConfig, "config.new", "The edit dialect auto does not go with names of tools.", "Use auto, or one or more of "+names+".")
	}
	return nil
}

// dialects are the edit dialects of a session whose model selects one. The tool of a previous model stays registered, because
// the history has calls of it, and is no longer declared. The zero value is of a session with fixed dialects. It is safe
// for concurrent use.
type dialects struct {
	bound map[string]tools.DeclarativeTool // by name; nil: the dialects are fixed

	mu        sync.Mutex
	requested string // name of the model, possibly an alias
	resolved  string // name of the model that it led to
}

// openDialects returns the file tools to register now. If the model selects the dialect, these are the ones of the
// current model, and the others are kept for later.
func (c *Config) openDialects(s *session, files []tools.DeclarativeTool) ([]tools.DeclarativeTool, error) {
	if !c.params().Tools.autoDialect() {
		return files, nil
	}
	d := &s.dialects
	d.bound = make(map[string]tools.DeclarativeTool)
	if c.parent == nil {
		d.requested = c.Model()
	} else { // c.mu is held
		d.requested = c.modelInForce()
	}
	d.resolved = d.requested
	if c.parent != nil {
		parent, err := c.parent.own("Tools")
		if err != nil {
			return nil, err
		}
		d.resolved = parent.dialects.resolve(d.requested)
	}
	return slices.DeleteFunc(files, func(t tools.DeclarativeTool) bool {
		name := t.Spec().Name
		if !slices.Contains(file.EditDialects(), name) {
			return false
		}
		d.bound[name] = t
		return name != file.DialectOf(d.resolved)
	}), nil
}

// resolve returns the model to which a name led last, else the name.
func (d *dialects) resolve(name string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if name == d.requested && d.resolved != "" {
		return d.resolved
	}
	return name
}

// hidden returns the names of the dialects that are not the model's.
func (d *dialects) hidden() []string {
	if d.bound == nil {
		return nil
	}
	d.mu.Lock()
	current := file.DialectOf(d.resolved)
	d.mu.Unlock()
	return slices.DeleteFunc(file.EditDialects(), func(name string) bool { return name == current })
}

// useModel selects the dialect of a model, by its requested name and the name to which that led.
func (c *Config) useModel(s *session, requested, resolved string) {
	d := &s.dialects
	if d.bound == nil {
		return
	}
	d.mu.Lock()
	d.requested, d.resolved = requested, resolved
	d.mu.Unlock() // subscribers of the registry may ask for the hidden dialects
	t := d.bound[file.DialectOf(resolved)]
	if t == nil || slices.Contains(s.registry.Names(), t.Spec().Name) {
		return
	}
	if err := s.registry.Renew(t); err != nil { // not for a built-in tool; a concurrent call may have registered it
		c.params().Environment.Logger.Warn("registering an edit dialect", slog.Any("error", err))
	}
}

// models returns the session's source of models. The dialect follows the model that it returns. That of a subagent is
// decided when the run begins, as its other tools are.
func (c *Config) models(s *session) model.Source {
	source := c.params().Conversation.Models
	if s.dialects.bound == nil || c.ofAgent {
		return source
	}
	return func(ctx context.Context, name string) (model.Generator, error) {
		g, err := source(ctx, name)
		if err == nil && g != nil {
			resolved := name
			if known := model.NameOf(g); known != (model.Name{}) {
				resolved = known.String()
			}
			c.useModel(s, name, resolved)
		}
		return g, err
	}
}
