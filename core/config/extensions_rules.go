package config

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"

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
	problems []rulefile.Problem
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
// is in force: what a third party wrote must not stop the session.
func (c *Config) bringRules(ctx context.Context, r *rules) error {
	brought := c.brought()
	var next rulesOfExtensions
	for _, f := range brought.policies {
		files, problems := rulefile.Load(ctx, []string{f.Path}, rulefile.Options{Tier: policy.TierExtension, Label: "extension " + f.Extension})
		next.problems = append(next.problems, problems...)
		if at := slices.IndexFunc(problems, func(p rulefile.Problem) bool { return p.Severity == rulefile.Error }); at >= 0 ||
			slices.ContainsFunc(files, func(file rulefile.File) bool { return len(file.StandIns) > 0 }) {
			line := 0
			path := f.Path
			if at >= 0 {
				path, line = problems[at].Path, problems[at].Line
			}
			next.problems = append(next.problems, rulefile.Problem{Path: path, Line: line, Kind: rulefile.KindSchema, Severity: rulefile.Error,
				Message: fmt.Sprintf("The policy of the extension %s is not understood: nothing of it is in force.", f.Extension),
				Remedy:  "Correct the mistake, disable the extension, or write the rules into your own policies."})
			continue
		}
		next.files = append(next.files, files...)
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
