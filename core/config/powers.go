package config

import (
	"context"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/agent/subagent"
	"github.com/fettle-dev/fettle/core/commands"
	"github.com/fettle-dev/fettle/core/config/layout"
	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/policy/rulefile"
	"github.com/fettle-dev/fettle/core/services/trust"
	"github.com/fettle-dev/fettle/core/skills"
)

// ProjectPowers lists what the files of the project in p.TargetDir do once its
// directory is trusted and do not do before: settings, variables of .env files,
// rules that allow, slash commands, agents and skills, in this order; and behind
// the variables which tools they switch off, which they do in any case. Of a
// directory outside of the project, which trust alone does not cover, Outside is
// set. It reads the files as they are now, and starts, runs and connects to
// nothing. Errors are of code invalid_config or cancelled.
func ProjectPowers(ctx context.Context, p Parameters) ([]settings.Power, error) {
	if reflect.ValueOf(p.Layout).IsZero() {
		p.Layout = layout.Fettle()
	}
	if p.Settings == nil {
		p.Settings = &settings.Options{}
	}
	p.Trust = trust.Trusted
	r, err := settings.Load(ctx, p.settingsOptions())
	if err != nil {
		return nil, err
	}
	all := slices.DeleteFunc((&settingsChecker{given: &p, loaded: r}).powers(), func(power settings.Power) bool {
		return power.Variable != "" && !trust.Covers([]string{p.target()}, power.Source) // of a directory above, which is trusted itself
	})
	for _, s := range r.Switches() {
		if !slices.ContainsFunc(all, func(p settings.Power) bool { return p.Key == s.Key }) {
			all = append(all, settings.Power{Key: s.Key, Source: s.Source, Line: s.Line, Text: s.Text})
		}
	}
	dir, user := filepath.Join(p.target(), p.Layout.Dir), filepath.Join(p.home(), p.Layout.Dir)
	if sameFolder(dir, user) {
		return nil, nil // the user's own files, which need no trust
	}
	all = append(all, powersOfRules(ctx, filepath.Join(dir, policyFile), filepath.Join(dir, policyFolder))...)
	more, err := powersOfTexts(ctx, &p, dir)
	switch {
	case ctx.Err() != nil:
		return nil, cancelled("ProjectPowers", ctx.Err())
	case err != nil:
		return nil, err
	}
	return append(all, more...), nil
}

// powers are those of the settings and .env files, with the directories outside of
// the project marked.
func (c *settingsChecker) powers() []settings.Power {
	own := c.ownDirectories()
	var all []settings.Power
	for _, power := range c.loaded.Powers() {
		if power.Key == keyInclude {
			path := c.given.absolute(power.Entry)
			if path == "" || trust.Covers(own, path) {
				continue // nothing that it has not without trust
			}
			power.Outside, power.Text = path, "reads and writes "+path+", outside of the project"
		}
		all = append(all, power)
	}
	return all
}

// powersOfRules are those of the project's policy files: what they allow.
func powersOfRules(ctx context.Context, paths ...string) []settings.Power {
	var all []settings.Power
	files, _ := rulefile.Load(ctx, paths, rulefile.Options{Tier: policy.TierWorkspace}) // mistakes are reported by each session
	for _, f := range files {
		for _, rule := range f.Rules {
			if rule.Decision == policy.Allow {
				what := strings.TrimPrefix(rule.String(), string(policy.Allow)+" ")
				all = append(all, settings.Power{Source: rule.Source, Line: rule.Line, Text: "allows " + what + " without asking"})
			}
		}
	}
	return all
}

// powersOfTexts are those of what the project gives the model and its user: slash
// commands, agents and skills.
func powersOfTexts(ctx context.Context, p *Parameters, dir string) ([]settings.Power, error) {
	var all []settings.Power
	found, _, err := commands.NewFiles(commands.FileOptions{Folders: []commands.Folder{{Path: filepath.Join(dir, commandsFolder)}}}).Load(ctx)
	if err != nil {
		return nil, err
	}
	for _, c := range found {
		all = append(all, settings.Power{Source: c.Source, Text: "adds the command /" + c.Name + ", whose text may run shell commands once you use it"})
	}
	agents, _, err := subagent.Load(ctx, subagent.LoadOptions{Folders: []subagent.Folder{{Path: filepath.Join(dir, agentsFolder), Scope: subagent.ScopeProject}}})
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
	var folders []skills.Folder
	for _, path := range projectSkillFolders(p.target(), p.Layout.Dir) {
		folders = append(folders, skills.Folder{Path: path, Scope: skills.ScopeWorkspace, Within: p.target()})
	}
	if err := m.Discover(ctx, nil, folders); err != nil {
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

// ProjectPowers lists what the settings file and the .env files of the project do
// in this session because their directories are trusted; what has no effect here,
// as a directory outside of the project without an approval, is left out.
// Of a project that is not trusted it lists variables of a trusted directory above
// it alone. The error is of code not_initialized.
func (c *Config) ProjectPowers() ([]settings.Power, error) {
	r, err := c.settingsResult("ProjectPowers")
	if err != nil {
		return nil, err
	}
	p := *c.params()
	if p.Settings == nil {
		return nil, nil
	}
	all := (&settingsChecker{given: &p, loaded: r}).powers()
	kept := all[:0]
	for _, power := range all {
		if power.Outside == "" || trust.Covers(p.IncludeDirs, power.Outside) {
			kept = append(kept, power)
		}
	}
	return kept, nil
}

// ProjectSwitches lists the settings by which the project switches tools, servers,
// agents or skills off. The error is of code not_initialized.
func (c *Config) ProjectSwitches() ([]settings.Switch, error) {
	r, err := c.settingsResult("ProjectSwitches")
	if err != nil {
		return nil, err
	}
	return r.Switches(), nil
}

// ApproveOutside records that the user lets the project in p.TargetDir include
// these directories outside of it, in the place of those that were recorded; none
// withdraws that. It holds in sessions that begin later, while the project is
// trusted. Errors are of code invalid_config, read_content_failure,
// file_write_failure or cancelled.
func ApproveOutside(ctx context.Context, p Parameters, directories []string) error {
	if reflect.ValueOf(p.Layout).IsZero() {
		p.Layout = layout.Fettle()
	}
	store := p.outside()
	if store == nil {
		return fault.New(fault.InvalidConfig, "config.approveOutside", "There is no home directory, where approvals are recorded.", "Set HOME.")
	}
	return store.Record(ctx, p.target(), directories)
}

// ApprovedOutside returns the directories that ApproveOutside has recorded of the
// project in p.TargetDir. The error is of code invalid_config.
func ApprovedOutside(p Parameters) ([]string, error) {
	if reflect.ValueOf(p.Layout).IsZero() {
		p.Layout = layout.Fettle()
	}
	store := p.outside()
	if store == nil {
		return nil, nil
	}
	return store.Of(p.target())
}
