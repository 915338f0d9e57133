// Package powers determines the effects that the files of a project have only
// once its directory is trusted.
package powers

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/agent/subagent"
	"github.com/fettle-dev/fettle/core/commands/commandfile"
	"github.com/fettle-dev/fettle/core/config/internal/apply"
	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/internal/gitdir"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/policy/rulefile"
	"github.com/fettle-dev/fettle/core/services/trust"
	"github.com/fettle-dev/fettle/core/skills"
)

// Files are the possible files of a project, as absolute paths; they need not
// exist.
type Files struct {
	Policies []string // files and directories of rules
	Commands string   // directory of slash commands
	Agents   string   // directory of definitions of agents
	Skills   []skills.Dir
	Claude   string // directory of settings of Claude Code; "": not read
}

// OfProject returns the effects that require trust, in this order: settings,
// variables of .env files, tools that the settings disable, rules that allow, slash
// commands, agents, skills, and settings by which git may run a program. r contains
// the settings of the trusted project. OfProject starts nothing.
func OfProject(ctx context.Context, g apply.Input, r *settings.Result, files Files) ([]settings.Power, error) {
	all := slices.DeleteFunc(apply.Powers(g, r), func(power settings.Power) bool {
		return power.Variable != "" && !trust.Covers([]string{g.Target}, power.Source) // of a directory above, which is trusted itself
	})
	for _, s := range r.Switches() {
		if !slices.ContainsFunc(all, func(p settings.Power) bool { return p.Key == s.Key }) {
			all = append(all, settings.Power{Key: s.Key, Source: s.Source, Line: s.Line, Text: s.Text})
		}
	}
	all = append(all, powersOfRules(ctx, files.Policies...)...)
	more, err := powersOfTexts(ctx, files)
	switch {
	case ctx.Err() != nil:
		return nil, fault.WasCancelled("config.ProjectPowers", ctx.Err())
	case err != nil:
		return nil, err
	}
	return slices.Concat(all, more, powersOfGit(g.Target)), nil
}

// powersOfGit returns the settings by which git may run something in a directory.
func powersOfGit(dir string) []settings.Power {
	var all []settings.Power
	for _, s := range gitdir.Foreign(dir) {
		if s.Problem == "" { // an unreadable file cannot be approved
			text := strings.Join(strings.Fields(s.String()), " ")
			all = append(all, settings.Power{Source: s.File, Line: s.Line, Text: "makes git run with " + text, Digest: Digest(s)})
		}
	}
	return all
}

// powersOfRules returns the calls allowed by the project's policy files.
func powersOfRules(ctx context.Context, paths ...string) []settings.Power {
	var all []settings.Power
	files, _ := rulefile.Load(ctx, paths, rulefile.Options{Tier: policy.TierWorkspace}) // each session reports mistakes
	for _, f := range files {
		for _, rule := range f.Rules {
			if rule.Decision == policy.Allow {
				what := strings.TrimPrefix(rule.String(), string(policy.Allow)+" ")
				all = append(all, settings.Power{Source: rule.Source, Line: rule.Line, Text: "allows " + what + " without approval"})
			}
		}
	}
	return all
}

// powersOfTexts returns the texts that the project provides to the model and its
// user: slash commands, agents and skills.
func powersOfTexts(ctx context.Context, files Files) ([]settings.Power, error) {
	var all []settings.Power
	commandDirs, agentDirs := []commandfile.Dir{{Path: files.Commands}}, []subagent.Dir{{Path: files.Agents, Scope: subagent.ScopeProject}}
	if files.Claude != "" {
		commandDirs = append(commandDirs, commandfile.Dir{Path: filepath.Join(files.Claude, filepath.Base(files.Commands)), Markdown: true})
		agentDirs = append(agentDirs, subagent.Dir{Path: filepath.Join(files.Claude, filepath.Base(files.Agents)), Scope: subagent.ScopeProject, Claude: true})
	}
	found, _, err := commandfile.New(commandfile.Options{Dirs: commandDirs}).Load(ctx)
	if err != nil {
		return nil, err
	}
	for _, c := range found {
		all = append(all, settings.Power{Source: c.Source, Text: "adds the command /" + c.Name + ", whose text may run shell commands when you use it"})
	}
	agents, _, err := subagent.Load(ctx, subagent.LoadOptions{Dirs: agentDirs})
	if err != nil {
		return nil, err
	}
	for _, d := range agents {
		text := "adds the agent " + d.Name
		if d.Model != "" {
			text += ", which sends its conversation to the model " + d.Model
		}
		if d.Remote != nil {
			text += ", which sends its conversation to " + remoteAddress(d.Remote)
		}
		all = append(all, settings.Power{Source: d.Source.Path, Line: d.Source.Line, Text: text})
	}
	m := &skills.SkillManager{}
	if err := m.Discover(ctx, nil, files.Skills); err != nil {
		return nil, err
	}
	for _, s := range m.All() {
		all = append(all, settings.Power{Source: s.Path, Text: "adds the skill " + s.Name})
	}
	return all, nil
}

func remoteAddress(r *subagent.Remote) string {
	if r.CardURL != "" {
		return r.CardURL
	}
	return "the server that its card names"
}

// Digest returns what an approval of a setting of a repository records.
func Digest(s gitdir.Setting) string {
	sum := sha256.Sum256([]byte(s.Identity()))
	return hex.EncodeToString(sum[:])
}
