package config

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/mcp"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/policy/rulefile"
	"github.com/fettle-dev/fettle/core/services/instructions"
	"github.com/fettle-dev/fettle/core/services/workspace"
)

// broughtRules are what extensions have brought to the rules in force.
type broughtRules struct {
	mu  sync.Mutex
	now rulesOfExtensions
}

type rulesOfExtensions struct {
	files    []rulefile.File
	problems []fault.Problem
	rules    []policy.Rule
	checkers []policy.Checker
}

func (b *broughtRules) read() rulesOfExtensions {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.now
}

// bringRules puts the rules of the active extensions in force, in the place of
// those that were: of their policies folders, in which nothing can be allowed, and
// of the tools that they exclude. Of an extension with a mistake in its policy no rule
// is in force, and its own tools are asked about: what a third party wrote must not
// stop the session.
func (c *Config) bringRules(ctx context.Context, r *rules) error {
	brought := c.brought()
	var next rulesOfExtensions
	for _, f := range brought.policies {
		files, problems, understood := ExtensionRules(ctx, f.Path, f.Extension)
		next.problems = append(next.problems, problems...)
		if understood {
			next.files = append(next.files, files...)
			continue
		}
		next.rules = append(next.rules, brought.insteadOfRules(f)...)
	}
	if err := ctx.Err(); err != nil {
		return cancelled("Initialize", err)
	}
	for _, f := range next.files {
		next.rules, next.checkers = slices.Concat(next.rules, f.Rules, f.StandIns), append(next.checkers, f.Checkers...)
	}
	next.rules = append(next.rules, exclusions(brought.exclude, brought.excluded)...)
	if userDir, err := c.userDir(); err == nil {
		next.problems = append(next.problems, missingPrograms(next.checkers, checkerPrograms(userDir), filepath.Join(userDir, checkerFolder))...)
	}
	b := &r.brought
	b.mu.Lock()
	defer b.mu.Unlock()
	before := b.now
	if err := r.Change(policy.Change{Remove: before.rules, RemoveCheckers: before.checkers, Add: next.rules, AddCheckers: next.checkers, Servers: c.serverNames()}); err != nil {
		return err
	}
	b.now = next
	for _, p := range next.problems {
		if !slices.Contains(before.problems, p) {
			c.params().Logger.Warn("policy file", slog.String("problem", p.String()))
		}
	}
	return nil
}

// ExtensionRules reads the rules in the policies directory of an extension. If a
// mistake in it denies, asks or checks less than is written, understood is false and
// nothing of it counts; the last problem says so. It changes nothing.
func ExtensionRules(ctx context.Context, dir, extension string) (files []rulefile.File, problems []fault.Problem, understood bool) {
	files, problems = rulefile.Load(ctx, []string{dir}, rulefile.Options{Tier: policy.TierExtension, Label: "extension " + extension})
	at := slices.IndexFunc(problems, func(p fault.Problem) bool { return p.Severity == rulefile.Error })
	if at < 0 && !slices.ContainsFunc(files, func(file rulefile.File) bool { return len(file.StandIns) > 0 }) {
		return files, problems, true
	}
	path, line := dir, 0
	if at >= 0 {
		path, line = problems[at].Path, problems[at].Line
	}
	return nil, append(problems, fault.Problem{Path: path, Line: line, Kind: rulefile.KindSchema, Severity: rulefile.Error,
		Message: fmt.Sprintf("The policy of the extension %s is not understood: nothing of it is in force, and each call of a tool of its own servers is asked about.", extension),
		Remedy:  "Correct the mistake, disable the extension, or write the rules into your own policies."}), false
}

// insteadOfRules are the rules in place of those of an extension that are not
// understood: they ask about the tools of its own servers, and about nothing else.
func (b *contributed) insteadOfRules(f contributedFolder) []policy.Rule {
	var all []policy.Rule
	for _, s := range b.servers {
		if b.serversOf[s.Name] == f.Extension && mcp.CheckServerName(s.Name) == nil {
			all = append(all, policy.Rule{Name: "in place of the policy of the extension " + f.Extension + ", which is not understood", Server: s.Name, Tools: []string{"*"},
				Decision: policy.AskUser, Priority: 999, TightensOnly: true, Tier: policy.TierExtension, Source: f.Path})
		}
	}
	return all
}

// instructionsOf is a context file of an extension.
func (c *Config) instructionsOf(ctx context.Context, file contributedFile, known func(key string) bool) ([]instructions.Document, error) {
	ws, err := workspace.Open(filepath.Dir(file.Path))
	if err != nil {
		return nil, nil // it is gone
	}
	defer ws.Close() //nolint:errcheck // nothing was written
	p, err := ws.Resolve(file.Path)
	if err != nil {
		return nil, nil
	}
	return instructions.New(ws, instructions.Options{
		Names: []string{filepath.Base(file.Path)}, Imports: c.params().Instructions.Imports,
		MayShow: func(p workspace.Path) bool { return p.String() == file.Path || filepath.Ext(p.Base()) == ".md" },
	}).For(ctx, p, known)
}
