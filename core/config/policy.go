package config

import (
	"context"
	"encoding/json"
	"log/slog"
	"path/filepath"
	"slices"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/config/internal/powers"
	"github.com/fettle-dev/fettle/core/config/internal/rules"
	"github.com/fettle-dev/fettle/core/config/internal/skillset"
	"github.com/fettle-dev/fettle/core/config/internal/toolrules"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/internal/gitdir"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/policy/rulefile"
	"github.com/fettle-dev/fettle/core/services/trust"
	"github.com/fettle-dev/fettle/core/services/workspace"
)

// loadRules loads the policy of the session.
func (c *Config) loadRules(ctx context.Context, ws *workspace.Workspace) (*rules.Rules, error) {
	p := c.params()
	userDir, _ := c.userDir() // "": there is none
	own, err := c.rulesOfParameters()
	if err != nil {
		return nil, err
	}
	var approved []string
	if store := p.before().Git(); store != nil && p.Policy.Trust == trust.Trusted {
		if approved, err = store.Approved(ws.Target()); err != nil {
			p.Environment.Logger.Warn("approved settings of repositories", slog.Any("err", err)) // they ask
		}
	}
	r, err := rules.Open(ctx, rules.Options{
		ApprovedGit: func(s gitdir.Setting) bool { return slices.Contains(approved, powers.Digest(s)) },
		Workspace:   ws, AdminDir: p.Environment.Layout.SystemDir, UserDir: userDir, ProjectDir: filepath.Join(ws.Target(), p.Environment.Layout.Dir), Paths: p.Policy.Paths,
		Trusted: p.Policy.Trust == trust.Trusted, Own: own, NoSaving: p.Policy.NoSaving, Confined: p.Tools.Shell.confines(), Warn: p.Environment.Logger.Warn,
		Environ: p.Tools.Shell.environ(),
		Engine: policy.Options{
			ReadOnlyTable:      !p.Policy.NoReadOnlyTable,
			DisableAlwaysAllow: p.Policy.NoAlwaysAllow, PlansDir: c.plansDir(ws.Target()), Servers: c.servers().Names(), Protected: rules.Protected(p.Environment.Layout, userDir, p.Instructions.Names),
		},
	})
	if err != nil {
		return nil, err
	}
	return r, r.Apply(ctx, rules.Brought(c.brought().Rules(ctx)), c.servers().Names())
}

// rulesOfParameters returns the rules derived from lists of tools and servers,
// and those of the embedder.
func (c *Config) rulesOfParameters() ([]policy.Rule, error) {
	p := c.params()
	allowed, err := toolrules.Listed(p.Policy.AllowedTools, placesIn(p.Policy.allowedFrom, "--allowed-tools"), toolrules.Allowed)
	if err != nil {
		return nil, err
	}
	confirmed, err := toolrules.Listed(p.Policy.ConfirmationRequired, placesIn(p.Policy.confirmationFrom, "ConfirmationRequired"), toolrules.Confirmed)
	if err != nil {
		return nil, err
	}
	return slices.Concat(p.Policy.Rules, allowed, confirmed, c.servers().Rules(), toolrules.StandIns(p.unread),
		toolrules.Restrictions(p.Tools.Core, placesIn(p.Tools.coreFrom, "--core-tools")),
		toolrules.Exclusions(p.Tools.Exclude, placesIn(p.Tools.excludedFrom, "--exclude-tools"))), nil
}

// placesIn returns a function for the positions of the entries of a list. An
// entry without a position in from is attributed to the flag.
func placesIn(from map[string]toolrules.Place, flag string) func(entry string) toolrules.Place {
	return func(entry string) toolrules.Place {
		if place, ok := from[entry]; ok {
			return toolrules.Place(place)
		}
		return toolrules.Place{Source: flag}
	}
}

// situate adds the facts of the session to a call.
func (c *Config) situate(call *policy.Call, sh *shared) {
	call.Subagent, call.Within = c.subagent, nil
	for _, d := range c.agents {
		call.Within = append(call.Within, d.Name)
	}
	call.Untrusted = c.params().Policy.Trust == trust.Untrusted
	call.PlanByUntrusted = c.planByUntrusted(sh)
	call.Dir, call.Roots = sh.workspace.Target(), sh.rules.Roots()
	c.confine(call, sh)
	if skillset.IsOwn(sh.skills, call) {
		call.Kind = skillset.OwnKind
	}
}

// mayShow reports whether read_file would show a file to this agent without
// approval and without a safety checker.
func (c *Config) mayShow(sh *shared, path string) bool {
	args, err := json.Marshal(struct {
		FilePath string `json:"file_path"`
	}{path})
	if err != nil {
		return false
	}
	call, _ := policy.WellKnown("read_file")
	call.Params, call.Mode = args, c.ApprovalMode()
	call.Headless = !c.bus.Listening(bus.ToolConfirmationRequest{})
	c.situate(&call, sh)
	if !sh.rules.Follow(&call) {
		return false
	}
	d := sh.rules.Decide(call)
	return d.Decision == policy.Allow && len(d.Checkers) == 0
}

// Engine returns the current rules. Derived Configs share it.
func (x PolicyService) Engine() (*policy.Engine, error) {
	c := x.c

	sh, err := c.services("Policy.Engine")
	if err != nil {
		return nil, err
	}
	return sh.rules.Engine, nil
}

// Decide returns the policy's decision about a call in this session's directory,
// as the scheduler would request it: directories and links are filled in, and the
// call is from an untrusted directory if call states that or the session's
// directory is untrusted. The other fields are used unchanged, including the
// confinement of the command. For a call of a tool with its arguments see
// [scheduler.Scheduler.Explain].
func (x PolicyService) Decide(call policy.Call) (policy.Decision, error) {
	c := x.c

	sh, err := c.services("Policy.Decide")
	if err != nil {
		return policy.Decision{}, err
	}
	given := call
	c.situate(&call, sh)
	call.Subagent, call.Untrusted = given.Subagent, given.Untrusted || call.Untrusted
	call.Confined, call.Confinable, call.Sealed, call.Readable = given.Confined, given.Confinable, given.Sealed, given.Readable
	if !sh.rules.Follow(&call) {
		call.RealPaths = nil
	}
	return sh.rules.Decide(call), nil
}

// Suggest returns rules that would have answered questions about recorded calls; see
// [policy.Engine.Suggest]. For the facts of a call see [scheduler.Scheduler.Subject].
func (x PolicyService) Suggest(approved, refused []policy.Call, least int) ([]policy.Suggestion, error) {
	sh, err := x.c.services("Policy.Suggest")
	if err != nil {
		return nil, err
	}
	return sh.rules.Suggest(approved, refused, least)
}

// SaveSuggestions adds suggested rules with their tests to the user's file of saved
// approvals, whose path it returns, and puts them in force. The error has code
// approval_not_remembered if the settings or a missing home directory prevent it,
// and otherwise those of [rulefile.Append].
func (x PolicyService) SaveSuggestions(ctx context.Context, suggested []policy.Suggestion) (path string, err error) {
	sh, err := x.c.services("Policy.SaveSuggestions")
	if err != nil {
		return "", err
	}
	return sh.rules.SaveTo, sh.rules.SaveSuggestions(ctx, suggested)
}

// Files returns the policy files that were read, with their rules and
// tests.
func (x PolicyService) Files() ([]rulefile.File, error) {
	c := x.c

	sh, err := c.services("Policy.Files")
	if err != nil {
		return nil, err
	}
	return sh.rules.Files(), nil
}

// Problems returns the problems in policy files. The parts they refer to
// are ignored; the rest applies.
func (x PolicyService) Problems() ([]fault.Problem, error) {
	c := x.c

	sh, err := c.services("Policy.Problems")
	if err != nil {
		return nil, err
	}
	return sh.rules.Problems(), nil
}
