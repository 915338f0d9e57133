// Package rules maintains the policy of a session: that of policy files, of the
// session's own lists and of extensions, with the approvals given in the session.
package rules

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"

	"github.com/fettle-dev/fettle/core/config/internal/paths"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/internal/gitdir"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/policy/rulefile"
)

// Names of policy files and directories, below the user's and the project's
// settings directory.
const (
	File       = "policies.toml"
	DirName    = "policies"
	saved      = "auto-saved.toml"
	checkerDir = "checkers" // the user's only: programs that are safety checkers
)

// Workspace provides the directories against which rules are evaluated.
type Workspace interface {
	Target() string
	Directories() []string
	RealDirectories() []string // with links resolved
	RealPath(path string) (string, error)
}

// Options configure [Rules].
type Options struct {
	Workspace  Workspace
	AdminDir   string   // the system's settings directory
	UserDir    string   // the user's; "": there is none
	ProjectDir string   // the project's
	Paths      []string // files and directories that replace the user's; nil: none
	Trusted    bool     // the project's rules may allow
	Own        []policy.Rule
	// ApprovedGit reports whether the user has approved a setting of a repository;
	// nil: none.
	ApprovedGit func(gitdir.Setting) bool
	NoSaving    bool            // approvals are not saved
	Confined    bool            // commands are confined
	Engine      policy.Options  // without rules and checkers
	Environ     func() []string // the environment of commands; nil: [os.Environ]
	// Warn logs; nil: nothing is logged. It is a function because a program that links
	// log/slog is larger.
	Warn func(message string, args ...any)
}

// Brought is the part of the policy that extensions contribute.
type Brought struct {
	Files    []rulefile.File
	Problems []fault.Problem
	Rules    []policy.Rule
	Checkers []policy.Checker
}

// Rules is the current policy, which a Config shares with those derived from it,
// including approvals of the session. It is safe for concurrent use.
type Rules struct {
	*policy.Engine
	Programs map[string]string // the safety checkers of the user, by name
	SaveTo   string            // file of the user's saved approvals; "" without a home directory

	workspace   Workspace
	uppers      map[string]string // the changes of forked directories
	noSaving    bool
	environ     func() []string
	warn        func(message string, args ...any)
	files       []rulefile.File
	problems    []fault.Problem
	roots       atomic.Pointer[[]string] // workspace directories, also with links resolved
	repos       *gitdir.Watch
	approvedGit func(gitdir.Setting) bool
	tree        tree
	brought     *atomic.Pointer[Brought] // of all directories
}

// Open reads the policy files, whose mistakes are problems and not errors, and
// creates the engine. The error has code cancelled, or invalid_config for a
// mistake in Options.
func Open(ctx context.Context, o Options) (*Rules, error) {
	r := &Rules{brought: new(atomic.Pointer[Brought]), workspace: o.Workspace, noSaving: o.NoSaving, environ: o.Environ, warn: o.Warn, repos: gitdir.NewWatch(o.ApprovedGit, o.Workspace.Directories()...), approvedGit: o.ApprovedGit}
	if r.warn == nil {
		r.warn = func(string, ...any) {}
	}
	r.brought.Store(&Brought{})
	r.setRoots()
	if o.UserDir == "" {
		r.warn("no home directory, so there is no user policy")
	} else {
		r.SaveTo = filepath.Join(o.UserDir, DirName, saved)
	}
	load := func(of rulefile.Options, from ...string) {
		files, problems := rulefile.Load(ctx, from, of)
		r.files, r.problems = append(r.files, files...), append(r.problems, problems...)
	}
	admin := filepath.Join(o.AdminDir, DirName)
	if problem := rulefile.CheckAdmin(admin); problem != nil {
		r.problems = append(r.problems, *problem)
	} else {
		load(rulefile.Options{Tier: policy.TierAdmin}, admin)
	}
	switch {
	case o.Paths != nil:
		load(rulefile.Options{Tier: policy.TierUser}, o.Paths...)
		if r.SaveTo != "" && !slices.Contains(o.Paths, r.SaveTo) {
			load(rulefile.Options{Tier: policy.TierUser}, r.SaveTo)
		}
	case o.UserDir != "":
		load(rulefile.Options{Tier: policy.TierUser}, filepath.Join(o.UserDir, File), filepath.Join(o.UserDir, DirName))
	}
	if !paths.Same(o.ProjectDir, o.UserDir) {
		load(rulefile.Options{Tier: policy.TierWorkspace, TightenOnly: !o.Trusted},
			filepath.Join(o.ProjectDir, File), filepath.Join(o.ProjectDir, DirName))
	}
	if err := ctx.Err(); err != nil {
		return nil, fault.WasCancelled("config.Initialize", err)
	}
	e := o.Engine
	if own := r.Steering(nil); len(own) > 0 {
		e.Protected = append(slices.Clip(e.Protected), policy.ProtectedPath{Names: own, What: "git's own files", Why: "git runs the hooks and the programs that they name"})
	}
	for _, f := range r.files {
		e.Rules, e.Checkers = slices.Concat(e.Rules, f.Rules, f.StandIns), append(e.Checkers, f.Checkers...)
	}
	e.Rules = append(e.Rules, o.Own...)
	var err error
	if r.Engine, err = policy.NewEngine(e); err != nil {
		return nil, err
	}
	r.Programs = checkerPrograms(o.UserDir)
	r.problems = append(r.problems, missingPrograms(e.Checkers, r.Programs, filepath.Join(o.UserDir, checkerDir))...)
	if o.Confined {
		r.problems = append(r.problems, uncovered(e.Rules)...)
	}
	for _, p := range r.problems {
		r.warn("policy file", "problem", p.String())
	}
	return r, nil
}

// Apply replaces the rules of extensions. It must not be called concurrently.
func (r *Rules) Apply(ctx context.Context, next Brought, servers []string) error {
	if err := ctx.Err(); err != nil {
		return fault.WasCancelled("config.Initialize", err)
	}
	if r.SaveTo != "" {
		userDir := filepath.Dir(filepath.Dir(r.SaveTo))
		next.Problems = append(next.Problems, missingPrograms(next.Checkers, checkerPrograms(userDir), filepath.Join(userDir, checkerDir))...)
	}
	before := r.brought.Load()
	if err := r.Change(policy.Change{Remove: before.Rules, RemoveCheckers: before.Checkers, Add: next.Rules, AddCheckers: next.Checkers, Servers: servers}); err != nil {
		return err
	}
	r.brought.Store(&next)
	for _, p := range next.Problems {
		if !slices.Contains(before.Problems, p) {
			r.warn("policy file", "problem", p.String())
		}
	}
	return nil
}

// Files returns the policy files that were read, with their rules and tests.
func (r *Rules) Files() []rulefile.File { return slices.Concat(r.files, r.brought.Load().Files) }

// Problems returns the problems in policy files.
func (r *Rules) Problems() []fault.Problem {
	return slices.Concat(r.problems, r.brought.Load().Problems)
}

// Roots returns the directories of the workspace, also with links resolved.
func (r *Rules) Roots() []string { return *r.roots.Load() }

// Added updates the directories of the workspace after the given one was added.
func (r *Rules) Added(dir string) {
	r.setRoots()
	r.repos.Add(dir)
}

// setRoots updates the directories of the workspace.
func (r *Rules) setRoots() {
	roots := r.workspace.Directories()
	for _, real := range r.workspace.RealDirectories() {
		if !slices.Contains(roots, real) {
			roots = append(roots, real)
		}
	}
	r.roots.Store(&roots)
}

// Remember adds the rules for a lasting approval of c and, if scope requests it,
// saves them. It adds only rules that were shown. They must allow c, because otherwise
// c would require approval again.
func (r *Rules) Remember(ctx context.Context, c policy.Call, scope policy.Scope, shown []string) ([]policy.Rule, error) {
	r.lookAtRepositories(&c)
	narrowed, err := r.NarrowAs(c, scope, shown)
	if err != nil {
		return nil, err
	}
	if scope == policy.ScopeSaved {
		if err := r.maySave(); err != nil {
			return nil, err
		}
		for i := range narrowed {
			narrowed[i].Source = r.SaveTo
		}
		if err := r.save(ctx, narrowed, nil); err != nil {
			return nil, err
		}
	}
	return narrowed, r.Add(narrowed...)
}

// CanRemember returns the rules that Remember would add, without their source.
func (r *Rules) CanRemember(c policy.Call, scope policy.Scope) []policy.Rule {
	if scope == policy.ScopeSaved && (r.SaveTo == "" || r.noSaving) {
		return nil
	}
	r.lookAtRepositories(&c)
	narrowed, err := r.Narrow(c, scope)
	if err != nil {
		return nil
	}
	return narrowed
}

// Suggest calls [policy.Engine.Suggest] with the state of the repositories in which
// the calls would run git.
func (r *Rules) Suggest(approved, refused []policy.Call, least int) ([]policy.Suggestion, error) {
	for _, calls := range [][]policy.Call{approved, refused} {
		for i := range calls {
			r.lookAtRepositories(&calls[i])
		}
	}
	return r.Engine.Suggest(approved, refused, least)
}

// SaveSuggestions adds suggested rules and their tests to the file of saved
// approvals, and the rules to the session.
func (r *Rules) SaveSuggestions(ctx context.Context, suggested []policy.Suggestion) error {
	if err := r.maySave(); err != nil {
		return err
	}
	var rules []policy.Rule
	var tests []rulefile.Test
	for _, s := range suggested {
		s.Rule.Source = r.SaveTo
		rules = append(rules, s.Rule)
		for _, c := range s.Tests {
			tests = append(tests, rulefile.Test{Call: c.Call, Expect: c.Expect})
		}
	}
	if err := r.save(ctx, rules, tests); err != nil {
		return err
	}
	return r.Add(rules...)
}

// maySave returns an error if approvals cannot be saved.
func (r *Rules) maySave() error {
	switch {
	case r.noSaving:
		return fault.New(fault.NotRemembered, "config.remember", "The approval was not saved: security.enablePermanentToolApproval forbids it.",
			"Approve for this session only.")
	case r.SaveTo == "":
		return fault.New(fault.NotRemembered, "config.remember", "The approval was not saved, because there is no home directory.",
			"Set HOME, or approve for this session only.")
	}
	return nil
}

// save adds rules and tests to the file of saved approvals.
func (r *Rules) save(ctx context.Context, rules []policy.Rule, tests []rulefile.Test) error {
	backup, err := rulefile.Append(ctx, r.SaveTo, rules, tests...)
	if err == nil && backup != "" {
		r.warn("the file of saved approvals could not be read and is written again", "copy", backup)
	}
	return err
}

// Decide decides about a call, including the state of the repositories in which
// it would run git.
func (r *Rules) Decide(call policy.Call) policy.Decision {
	r.lookAtRepositories(&call)
	return r.Engine.Decide(call)
}

// lookAtRepositories adds the facts about the repositories in which a call would
// run git, and then about the paths that it reads, unless it has them.
func (r *Rules) lookAtRepositories(call *policy.Call) {
	if call.Repositories == nil {
		r.findRepositories(call)
	}
	if call.Found == nil {
		r.lookUp(call)
	}
}

func (r *Rules) findRepositories(call *policy.Call) {
	dirs := r.GitDirs(*call)
	if len(dirs) == 0 {
		return
	}
	call.Repositories = make(map[string]policy.Repository, len(dirs))
	for _, dir := range dirs {
		call.Repositories[dir] = policy.Repository{Objection: r.repos.UnsafeReason(dir)}
	}
	if !bytes.Contains(call.Params, []byte("--show-toplevel")) {
		return
	}
	for _, dir := range dirs {
		call.Repositories[dir] = policy.Repository{Objection: call.Repositories[dir].Objection, Top: gitdir.Top(dir)}
	}
	for _, dir := range r.GitDirs(*call) { // more, now that the top directories are known
		if _, known := call.Repositories[dir]; !known {
			call.Repositories[dir] = policy.Repository{Objection: r.repos.UnsafeReason(dir)}
		}
	}
}

// Follow resolves the paths of a call, and reports whether they can be resolved.
func (r *Rules) Follow(call *policy.Call) bool {
	r.Prepare(call)
	r.lookAtRepositories(call)
	for _, path := range r.Paths(*call) {
		real, err := r.workspace.RealPath(path)
		if err != nil {
			return false
		}
		if call.RealPaths == nil {
			call.RealPaths = map[string]string{}
		}
		call.RealPaths[path] = real
	}
	return true
}

// At returns the same rules for other directories, such as those of a fork. Both share the approvals of the
// session. uppers are the directories with the changes of overlays, by the directories that show them.
func (r *Rules) At(w Workspace, uppers map[string]string) *Rules {
	other := &Rules{
		Engine: r.Engine, Programs: r.Programs, SaveTo: r.SaveTo, workspace: w, uppers: uppers, noSaving: r.noSaving, environ: r.environ, warn: r.warn,
		files: r.files, problems: r.problems, repos: r.repos, approvedGit: r.approvedGit, brought: r.brought,
	}
	if !slices.Equal(w.Directories(), r.workspace.Directories()) { // copies of repositories are not changed ones
		other.repos = gitdir.NewWatch(r.approvedGit, w.Directories()...)
	}
	other.setRoots()
	return other
}

// RealPath resolves the links of an absolute path until ctx ends, as the workspace shows them.
func (r *Rules) RealPath(ctx context.Context, path string) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	return r.workspace.RealPath(path)
}

// uncovered reports the first rule that allows confined commands: the confinement
// leaves the workspace writable, so that they require approval.
func uncovered(rules []policy.Rule) []fault.Problem {
	for _, rule := range rules {
		if rule.Confined == nil || !*rule.Confined || rule.Decision != policy.Allow || rule.Approval || rule.Line == 0 {
			continue
		}
		return []fault.Problem{{
			Path: rule.Source, Line: rule.Line, Key: "rule.confined", Kind: rulefile.KindSchema, Severity: rulefile.Warning,
			Message: "Rules that allow confined commands apply to no command here, because the confinement leaves .git and other protected paths of the workspace writable, and these affect later commands.",
			Remedy:  "Allow commands by a rule without confined, or approve each call.",
		}}
	}
	return nil
}

// missingPrograms reports safety checkers whose program is missing: the calls
// that require them are denied.
func missingPrograms(checkers []policy.Checker, programs map[string]string, dir string) []fault.Problem {
	var missing []fault.Problem
	for _, ch := range checkers {
		if _, found := programs[ch.Name]; ch.External && !found {
			missing = append(missing, fault.Problem{
				Path: ch.Source, Line: ch.Line, Key: "checker.name", Kind: rulefile.KindSchema, Severity: rulefile.Error,
				Message: fmt.Sprintf("The program %.80q of this safety checker does not exist; each call that it would check is denied.", ch.Name),
				Remedy:  "Put the program into " + dir + ", or correct the name.",
			})
		}
	}
	return missing
}

// checkerPrograms returns the programs in the user's directory of safety
// checkers, by name.
func checkerPrograms(userDir string) map[string]string {
	if userDir == "" {
		return nil
	}
	dir := filepath.Join(userDir, checkerDir)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	programs := make(map[string]string, len(entries))
	for _, e := range entries {
		programs[e.Name()] = filepath.Join(dir, e.Name())
	}
	return programs
}
