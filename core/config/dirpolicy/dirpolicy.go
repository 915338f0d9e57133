// Package dirpolicy decides about tool calls by the policy of a directory, without a
// session: by the policy files of the administrator, of the user and of the project,
// with the trust in the directory. It links neither settings nor tools, so a program
// built on it is small and starts fast.
//
// A decision equals that of a session whose settings are the defaults, except that no
// command is confined: another program runs it. [Policy.Beyond] reports the files that
// may contain more rules, which only a session reads.
package dirpolicy

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"slices"

	"github.com/fettle-dev/fettle/core/config/internal/rules"
	"github.com/fettle-dev/fettle/core/config/layout"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/services/trust"
	"github.com/fettle-dev/fettle/core/services/workspace"
)

// Options select the policy.
type Options struct {
	Dir     string        // the project's directory; "": the current one
	Layout  layout.Layout // names of files; zero: layout.Fettle()
	Paths   []string      // policy files and directories that replace the user's; nil: none
	Servers []string      // names of the known MCP servers; see [policy.Options]
}

// Policy is the policy of a directory. It is safe for concurrent use.
type Policy struct {
	rules     *rules.Rules
	workspace *workspace.Workspace
	state     trust.State
	beyond    []string
}

// Open reads the policy. Mistakes in policy files are problems, and their effect is
// that of package rulefile. The error has code cancelled, or invalid_config for an
// invalid directory, missing Paths, or trust that cannot be read.
func Open(ctx context.Context, o Options) (*Policy, error) {
	if o.Layout.Name == "" {
		o.Layout = layout.Fettle()
	}
	for _, path := range o.Paths {
		if _, err := os.Stat(path); err != nil {
			return nil, fault.Wrap(fault.InvalidConfig, "dirpolicy.open", "The policy "+path+" cannot be read.", "Name an existing file or directory.", err)
		}
	}
	ws, err := workspace.Open(cmp.Or(o.Dir, "."))
	if err != nil {
		return nil, err
	}
	p := &Policy{workspace: ws}
	if err := p.open(ctx, o); err != nil {
		_ = ws.Close() // nothing was opened in it
		return nil, err
	}
	return p, nil
}

func (p *Policy) open(ctx context.Context, o Options) (err error) {
	var store *trust.Store
	target, userDir := p.workspace.Target(), ""
	home, _ := os.UserHomeDir() // "": there is no user policy
	if home != "" {
		userDir = filepath.Join(home, o.Layout.Dir)
		store = trust.Open(filepath.Join(userDir, trust.FileName))
	}
	if p.state, err = store.OfSession(ctx, os.Getenv, o.Layout.TrustVariables, []string{target}); err != nil {
		return err
	}
	p.rules, err = rules.Open(ctx, rules.Options{
		Workspace: directory{target, p.workspace.Directories(), p.workspace.RealDirectories()}, AdminDir: o.Layout.SystemDir, UserDir: userDir, ProjectDir: filepath.Join(target, o.Layout.Dir), Paths: o.Paths,
		Trusted: p.state == trust.Trusted, NoSaving: true,
		Engine: policy.Options{
			ReadOnlyTable: true, PlansDir: filepath.Join(target, o.Layout.Plans()), Servers: o.Servers,
			Protected: rules.Protected(o.Layout, userDir, nil),
		},
	})
	if err != nil {
		return err
	}
	p.beyond = beyond(o.Layout, home, target)
	return nil
}

// directory describes a directory that is no fork. It has no workspace, whose methods a program would link.
type directory struct {
	target     string
	dirs, real []string
}

func (d directory) Target() string                       { return d.target }
func (d directory) Directories() []string                { return d.dirs }
func (d directory) RealDirectories() []string            { return d.real }
func (d directory) RealPath(path string) (string, error) { return workspace.RealPath(path) }

// Close releases the directory.
func (p *Policy) Close() error { return p.workspace.Close() }

// Dir returns the absolute name of the directory.
func (p *Policy) Dir() string { return p.workspace.Target() }

// Trust returns the trust in the directory. The rules of a directory that is not
// trusted only tighten.
func (p *Policy) Trust() trust.State { return p.state }

// Problems returns the problems in policy files.
func (p *Policy) Problems() []fault.Problem { return p.rules.Problems() }

// Beyond returns the files and variables that may contain more rules: settings other
// than those about appearance and models, and extensions. Then only a session knows
// the whole policy.
func (p *Policy) Beyond() []string { return p.beyond }

// Contains reports whether a file is in the directory, with links resolved. A relative
// path is in the directory unless it leads out of it. Not if that is unknown.
func (p *Policy) Contains(path string) bool {
	if !filepath.IsAbs(path) {
		path = filepath.Join(p.workspace.Target(), path)
	}
	real, err := workspace.RealPath(path)
	return err == nil && slices.ContainsFunc(p.workspace.RealDirectories(), func(dir string) bool {
		rel, err := filepath.Rel(dir, real)
		return err == nil && filepath.IsLocal(rel)
	})
}

// Decide decides about a call, whose tool, arguments, mode, server and subagent are
// used unchanged. The facts about the directory and about paths are added. A call that
// changes a path whose target is unknown is not allowed.
func (p *Policy) Decide(call policy.Call) policy.Decision {
	call.Untrusted = p.state == trust.Untrusted
	call.Dir, call.Roots, call.RealPaths = p.workspace.Target(), p.rules.Roots(), map[string]string{}
	unresolved := ""
	p.rules.Prepare(&call)
	for _, path := range p.rules.Paths(call) {
		real, err := workspace.RealPath(path)
		if err != nil {
			unresolved = path
			continue
		}
		call.RealPaths[path] = real
	}
	d := p.rules.Decide(call)
	if unresolved != "" && call.Mutates && d.Decision == policy.Allow {
		d.Decision, d.Rule, d.Source, d.Line = policy.AskUser, "", "", 0
		d.Reason = "The target of " + unresolved + " is unknown."
	}
	return d
}
