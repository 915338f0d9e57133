package config

import (
	"context"
	"path/filepath"
	"reflect"

	"github.com/fettle-dev/fettle/core/config/internal/agentset"
	"github.com/fettle-dev/fettle/core/config/internal/apply"
	"github.com/fettle-dev/fettle/core/config/internal/paths"
	"github.com/fettle-dev/fettle/core/config/internal/powers"
	"github.com/fettle-dev/fettle/core/config/internal/rules"
	"github.com/fettle-dev/fettle/core/config/internal/skillset"
	"github.com/fettle-dev/fettle/core/config/internal/slash"
	"github.com/fettle-dev/fettle/core/config/layout"
	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/trust"
)

// ProjectPowers returns the effects that the files of the project in p.TargetDir
// have only once its directory is trusted: settings, variables of .env files,
// rules that allow, slash commands, agents, skills, and settings by which git may
// run something, in this order; and, after the variables, the tools that they disable, which takes effect in any case.
// Outside is set for a directory outside of the project, which trust alone does
// not cover. It reads the current files, and starts, runs and connects to
// nothing. Errors have code invalid_config or cancelled.
func ProjectPowers(ctx context.Context, p Parameters) ([]settings.Power, error) {
	if reflect.ValueOf(p.Environment.Layout).IsZero() {
		p.Environment.Layout = layout.Fettle()
	}
	if p.Settings == nil {
		p.Settings = &settings.Options{}
	}
	p.Policy.Trust = trust.Trusted
	r, err := settings.Load(ctx, p.settingsOptions())
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(p.target(), p.Environment.Layout.Dir)
	if paths.Same(dir, filepath.Join(p.Environment.home(), p.Environment.Layout.Dir)) {
		return nil, nil // the user's own files, which need no trust
	}
	p.fillExtensions(r.Settings)
	_, claude := p.store().claudeDirs(p.target())
	return powers.OfProject(ctx, p.store().before(), r, powers.Files{
		Claude:   claude,
		Policies: []string{filepath.Join(dir, rules.File), filepath.Join(dir, rules.DirName)}, Commands: filepath.Join(dir, slash.DirName),
		Agents: filepath.Join(dir, agentset.DirName), Skills: skillset.OfProject(p.target(), p.Environment.Layout.Dir, claude),
	})
}

// ProjectPowers returns the effects in this session of the project's settings
// file and .env files that require trusted directories. Entries without an effect
// are omitted, for example a directory outside of the project without an
// approval. For an untrusted project it returns only the variables of a trusted
// directory above it. The error has code not_initialized.
func (x SettingsService) ProjectPowers() ([]settings.Power, error) {
	c := x.c

	r, err := c.settingsResult("Settings.ProjectPowers")
	if err != nil {
		return nil, err
	}
	p := c.params()
	if p.Settings == nil {
		return nil, nil
	}
	all := apply.Powers(p.before(), r)
	kept := all[:0]
	for _, power := range all {
		if power.Outside == "" || trust.Covers(p.IncludeDirs, power.Outside) {
			kept = append(kept, power)
		}
	}
	return kept, nil
}

// ProjectSwitches returns the settings by which the project disables tools,
// servers, agents or skills. The error has code not_initialized.
func (x SettingsService) ProjectSwitches() ([]settings.Switch, error) {
	c := x.c

	r, err := c.settingsResult("Settings.ProjectSwitches")
	if err != nil {
		return nil, err
	}
	return r.Switches(), nil
}

// ApproveOutside records that the user lets the project in p.TargetDir include
// the given directories outside of it, replacing the recorded ones; an empty list
// revokes the approval. It applies to later sessions while the project is
// trusted. Errors have code invalid_config, read_content_failure,
// file_write_failure or cancelled.
func ApproveOutside(ctx context.Context, p Parameters, directories []string) error {
	if reflect.ValueOf(p.Environment.Layout).IsZero() {
		p.Environment.Layout = layout.Fettle()
	}
	store := p.store().before().Outside()
	if store == nil {
		return fault.New(fault.InvalidConfig, "config.approveOutside", "There is no home directory, in which approvals are recorded.", "Set HOME.")
	}
	return store.Record(ctx, p.target(), directories)
}

// ApprovedOutside returns the directories that ApproveOutside has recorded for
// the project in p.TargetDir. The error has code invalid_config.
func ApprovedOutside(p Parameters) ([]string, error) {
	if reflect.ValueOf(p.Environment.Layout).IsZero() {
		p.Environment.Layout = layout.Fettle()
	}
	store := p.store().before().Outside()
	if store == nil {
		return nil, nil
	}
	return store.Approved(p.target())
}

// ApproveGit records that the user lets git use the settings of repositories with
// the given digests, see [settings.Power], in sessions of the project in
// p.TargetDir while it is trusted. It replaces the recorded ones; an empty list
// revokes the approval. Errors have code invalid_config, read_content_failure,
// file_write_failure or cancelled.
func ApproveGit(ctx context.Context, p Parameters, digests []string) error {
	if reflect.ValueOf(p.Environment.Layout).IsZero() {
		p.Environment.Layout = layout.Fettle()
	}
	store := p.store().before().Git()
	if store == nil {
		return fault.New(fault.InvalidConfig, "config.approveGit", "There is no home directory, in which approvals are recorded.", "Set HOME.")
	}
	return store.Record(ctx, p.target(), digests)
}
