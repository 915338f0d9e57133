package config

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/config/layout"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/policy/checker"
	"github.com/fettle-dev/fettle/core/policy/rulefile"
	"github.com/fettle-dev/fettle/core/services/gitdir"
	"github.com/fettle-dev/fettle/core/services/process"
	"github.com/fettle-dev/fettle/core/services/trust"
	"github.com/fettle-dev/fettle/core/services/workspace"
)

// rules are the policy in force: what a Config shares with those derived from
// it (AR-05), approvals of the session included.
type rules struct {
	*policy.Engine
	files    []rulefile.File
	problems []fault.Problem
	saveTo   string                   // file of the user's saved approvals; "" if there is no home folder
	noSaving bool                     // approvals are not saved
	roots    atomic.Pointer[[]string] // workspace folders, also as they are once links are followed
	repos    *gitdir.Watch
	checks   *checker.Runner
	brought  broughtRules // by extensions
	log      *slog.Logger
}

// loadRules reads the policy files, whose mistakes are problems and no
// errors, and makes the engine.
func (c *Config) loadRules(ctx context.Context, ws *workspace.Workspace) (*rules, error) {
	r := &rules{log: c.params().Logger, noSaving: c.params().Protections.NoSaving, repos: gitdir.NewWatch(ws.Folders()...)}
	r.setRoots(ws)
	userDir, err := c.userDir()
	if err != nil {
		c.params().Logger.Warn("no home folder, so there is no user policy")
	} else {
		r.saveTo = filepath.Join(userDir, policyFolder, savedApprovals)
	}
	load := func(o rulefile.Options, paths ...string) {
		files, problems := rulefile.Load(ctx, paths, o)
		r.files, r.problems = append(r.files, files...), append(r.problems, problems...)
	}
	admin := filepath.Join(c.params().Layout.SystemDir, policyFolder)
	if problem := rulefile.CheckAdmin(admin); problem != nil {
		r.problems = append(r.problems, *problem)
	} else {
		load(rulefile.Options{Tier: policy.TierAdmin}, admin)
	}
	switch {
	case c.params().PolicyPaths != nil:
		load(rulefile.Options{Tier: policy.TierUser}, c.params().PolicyPaths...)
		if r.saveTo != "" && !slices.Contains(c.params().PolicyPaths, r.saveTo) {
			load(rulefile.Options{Tier: policy.TierUser}, r.saveTo)
		}
	case userDir != "":
		load(rulefile.Options{Tier: policy.TierUser}, filepath.Join(userDir, policyFile), filepath.Join(userDir, policyFolder))
	}
	if projectDir := filepath.Join(ws.Target(), c.params().Layout.Dir); !sameFolder(projectDir, userDir) {
		load(rulefile.Options{Tier: policy.TierWorkspace, TightenOnly: c.params().Trust != trust.Trusted},
			filepath.Join(projectDir, policyFile), filepath.Join(projectDir, policyFolder))
	}
	if err := ctx.Err(); err != nil {
		return nil, cancelled("Initialize", err)
	}
	o := policy.Options{
		DisableAlwaysAllow: c.params().Protections.NoAlwaysAllow,
		PlansDir:           c.plansDir(ws.Target()),
		Servers:            c.serverNames(),
		Protected:          c.protectedPaths(userDir),
	}
	for _, f := range r.files {
		o.Rules, o.Checkers = slices.Concat(o.Rules, f.Rules, f.StandIns), append(o.Checkers, f.Checkers...)
	}
	flags, err := c.rulesOfParameters()
	if err != nil {
		return nil, err
	}
	o.Rules = append(o.Rules, flags...)
	if r.Engine, err = policy.NewEngine(o); err != nil {
		return nil, err
	}
	programs := checkerPrograms(userDir)
	r.problems = append(r.problems, missingPrograms(o.Checkers, programs, filepath.Join(userDir, checkerFolder))...)
	r.checks = checker.New(checker.Options{
		Dir: ws.Target(), Roots: *r.roots.Load(), Programs: programs, RealPath: realPath, Logger: c.params().Logger,
	})
	if c.params().Commands.Confinement.Kind != process.Unconfined {
		r.problems = append(r.problems, uncovered(o.Rules)...)
	}
	for _, p := range r.problems {
		c.params().Logger.Warn("policy file", slog.String("problem", p.String()))
	}
	return r, c.bringRules(ctx, r)
}

// uncovered tells of the first rule that allows confined commands: what confines them
// leaves the workspace writable, so that they are asked about.
func uncovered(rules []policy.Rule) []fault.Problem {
	for _, rule := range rules {
		if rule.Confined == nil || !*rule.Confined || rule.Decision != policy.Allow || rule.Approval || rule.Line == 0 {
			continue
		}
		return []fault.Problem{{
			Path: rule.Source, Line: rule.Line, Key: "rule.confined", Kind: rulefile.KindSchema, Severity: rulefile.Warning,
			Message: "Rules that allow what is confined cover no command here: it can write .git and other protected paths of the workspace, which decide what runs later.",
			Remedy:  "Allow by a rule without confined what may run, or answer the questions.",
		}}
	}
	return nil
}

// protectedPaths are the protected paths that this session has beside those of the
// table.
func (c *Config) protectedPaths(userDir string) []policy.ProtectedPath {
	p := c.params()
	own := policy.ProtectedPath{What: "the session's settings", Why: "later sessions take rules, hooks and servers from them"}
	own.Names = []string{p.Layout.Dir, layout.Fettle().Dir, layout.Gemini().Dir, p.Layout.SystemDir}
	if userDir != "" {
		own.Names = append(own.Names, userDir, realAsFarAsThere(userDir))
	}
	steering := policy.ProtectedPath{What: "the session's instruction files", Why: "later sessions follow what they say"}
	for _, name := range append(slices.Clone(p.Instructions.Names), p.Layout.ContextFile) {
		if name = strings.TrimPrefix(filepath.ToSlash(filepath.Clean(name)), "./"); name != "" && name != "." {
			steering.Names = append(steering.Names, name)
		}
	}
	return []policy.ProtectedPath{own, steering}
}

// Names of policy files and folders, below the user's and the project's
// settings folder.
const (
	policyFile     = "policies.toml"
	policyFolder   = "policies"
	savedApprovals = "auto-saved.toml"
	plansFolder    = "plans"
	checkerFolder  = "checkers" // the user's only: programs that are safety checkers
)

// Remember puts in force, and where scope says so saves, what approving c
// always means. Nothing is saved that would not have allowed c itself, which would be
// asked about again, or that was not shown.
func (r *rules) Remember(ctx context.Context, c policy.Call, scope policy.Scope, shown []string) ([]policy.Rule, error) {
	r.lookAtRepositories(&c)
	narrowed, err := r.NarrowAs(c, scope, shown)
	if err != nil {
		return nil, err
	}
	if scope == policy.ScopeSaved {
		if r.noSaving {
			return nil, fault.New(fault.NotRemembered, "config.remember", "The approval was not saved: security.enablePermanentToolApproval forbids it.",
				"Approve for this session only.")
		}
		if r.saveTo == "" {
			return nil, fault.New(fault.NotRemembered, "config.remember", "The approval was not saved, as there is no home folder.",
				"Set HOME, or approve for this session only.")
		}
		for i := range narrowed {
			narrowed[i].Source = r.saveTo
		}
		if backup, err := rulefile.Append(ctx, r.saveTo, narrowed); err != nil {
			return nil, err
		} else if backup != "" {
			r.log.Warn("the file of saved approvals could not be read and was begun anew", slog.String("copy", backup))
		}
	}
	return narrowed, r.Add(narrowed...)
}

// CanRemember returns the rules that Remember would find, without their source.
func (r *rules) CanRemember(c policy.Call, scope policy.Scope) []policy.Rule {
	if scope == policy.ScopeSaved && (r.saveTo == "" || r.noSaving) {
		return nil
	}
	r.lookAtRepositories(&c)
	narrowed, err := r.Narrow(c, scope)
	if err != nil {
		return nil
	}
	return narrowed
}

// Decide decides about a call with what speaks against the repositories in which it
// would run git.
func (r *rules) Decide(call policy.Call) policy.Decision {
	r.lookAtRepositories(&call)
	return r.Engine.Decide(call)
}

// lookAtRepositories fills in what speaks against the repositories in which a call
// would run git.
func (r *rules) lookAtRepositories(call *policy.Call) {
	dirs := r.GitDirs(*call)
	if len(dirs) == 0 {
		return
	}
	call.Repositories = make(map[string]string, len(dirs))
	for _, dir := range dirs {
		call.Repositories[dir] = r.repos.Against(dir)
	}
}

// situate fills in what the session knows of a call.
func (c *Config) situate(call *policy.Call, sh *shared) {
	call.Subagent, call.Within = c.subagent, nil
	for _, d := range c.agents {
		call.Within = append(call.Within, d.Name)
	}
	call.Untrusted = c.params().Trust == trust.Untrusted
	call.PlanOfStranger = c.planOfStranger(sh)
	call.Dir, call.Roots = sh.workspace.Target(), *sh.rules.roots.Load()
	call.Confined = c.confined(call.Tool)
	if sh.isOwnSkill(call) {
		call.Kind = skillOfOwnKind
	}
}

// mayShow reports whether read_file would show a file to this agent without
// asking anybody or anything (PR-29): where a safety checker is due, it would
// not.
func (c *Config) mayShow(sh *shared, path string) bool {
	args, err := json.Marshal(map[string]string{"file_path": path})
	if err != nil {
		return false
	}
	call, _ := policy.WellKnown("read_file")
	call.Params, call.Mode = args, c.ApprovalMode()
	call.Headless = !c.bus.Listening(bus.TypeToolConfirmationRequest)
	c.situate(&call, sh)
	if !sh.rules.follow(&call) {
		return false
	}
	d := sh.rules.Decide(call)
	return d.Decision == policy.Allow && len(d.Checkers) == 0
}

// follow fills in where the paths of a call lead, and reports whether that can
// be told.
func (r *rules) follow(call *policy.Call) bool {
	r.Prepare(call)
	for _, path := range r.Paths(*call) {
		real, err := workspace.RealPath(path)
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

// PolicyEngine returns the rules in force. Derived Configs share it.
func (c *Config) PolicyEngine() (*policy.Engine, error) {
	sh, err := c.services("PolicyEngine")
	if err != nil {
		return nil, err
	}
	return sh.rules.Engine, nil
}

// Decide says what the rules in force decide about a call in this session's
// folder, as the scheduler would ask them: folders and links are filled in, and
// the call is of an untrusted folder if it says so or the session's is one. The
// rest is taken as it is, what confines the command too. For a call of a tool
// with its arguments see [scheduler.Scheduler.Explain].
func (c *Config) Decide(call policy.Call) (policy.Decision, error) {
	sh, err := c.services("Decide")
	if err != nil {
		return policy.Decision{}, err
	}
	given := call
	c.situate(&call, sh)
	call.Subagent, call.Confined, call.Untrusted = given.Subagent, given.Confined, given.Untrusted || call.Untrusted
	if !sh.rules.follow(&call) {
		call.RealPaths = nil
	}
	return sh.rules.Decide(call), nil
}

// PolicyFiles returns the policy files that were read, with their rules and
// tests.
func (c *Config) PolicyFiles() ([]rulefile.File, error) {
	sh, err := c.services("PolicyFiles")
	if err != nil {
		return nil, err
	}
	return slices.Concat(sh.rules.files, sh.rules.brought.read().files), nil
}

// PolicyProblems returns what is wrong in policy files. What a problem speaks
// of is not in force, the rest is (CF-05).
func (c *Config) PolicyProblems() ([]fault.Problem, error) {
	sh, err := c.services("PolicyProblems")
	if err != nil {
		return nil, err
	}
	return slices.Concat(sh.rules.problems, sh.rules.brought.read().problems), nil
}

// realPath is [workspace.RealPath] until ctx ends.
func realPath(ctx context.Context, path string) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	return workspace.RealPath(path)
}

func sameFolder(a, b string) bool {
	if a == b {
		return true
	}
	infoA, err := os.Stat(a)
	if err != nil {
		return false
	}
	infoB, err := os.Stat(b)
	return err == nil && os.SameFile(infoA, infoB)
}

// missingPrograms tells of safety checkers whose program is not there: the calls
// that they are due for are denied.
func missingPrograms(checkers []policy.Checker, programs map[string]string, folder string) []fault.Problem {
	var missing []fault.Problem
	for _, ch := range checkers {
		if _, found := programs[ch.Name]; ch.External && !found {
			missing = append(missing, fault.Problem{
				Path: ch.Source, Line: ch.Line, Key: "checker.name", Kind: rulefile.KindSchema, Severity: rulefile.Error,
				Message: fmt.Sprintf("There is no program %.80q for this safety checker: each call that it is due for is denied.", ch.Name),
				Remedy:  "Put the program into " + folder + ", or correct the name.",
			})
		}
	}
	return missing
}

// checkerPrograms are the programs in the user's folder of safety checkers, by
// name.
func checkerPrograms(userDir string) map[string]string {
	if userDir == "" {
		return nil
	}
	dir := filepath.Join(userDir, checkerFolder)
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
