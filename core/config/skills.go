package config

import (
	"context"

	"github.com/fettle-dev/fettle/core/config/internal/skillset"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/trust"
	"github.com/fettle-dev/fettle/core/skills"
	"github.com/fettle-dev/fettle/core/tools"
)

// Skills say which skills a session has. The zero value is those of files and
// fettle's own.
type Skills struct {
	Disabled bool // there are none, whatever the settings say
	// Off are names of skills, in any letter case, that cannot be activated. nil:
	// the settings', else none; empty: none.
	Off []string
	// Given are the embedder's own. They are built in: activating one is not asked
	// about, and one of a file takes the place of one of its name.
	Given []skills.Skill
	// Folders are more directories of skills. Within their scope they come before those
	// that a session looks into by itself.
	Folders []skills.Folder
}

// loadSkills has the skills of the session found, anew where that was done before.
// The error is of code cancelled, or a mistake in fettle.
func (c *Config) loadSkills(ctx context.Context, sh *shared) error {
	p := c.params()
	return skillset.Sources{
		Disabled: p.Skills.Disabled, Off: p.Skills.Off, Given: p.Skills.Given, Folders: p.Skills.Folders, Extensions: c.brought().Skills,
		Home: p.home(), Target: sh.workspace.Target(), Dir: p.Layout.Dir, Trusted: p.Trust == trust.Trusted, Logger: p.Logger,
	}.Load(ctx, sh.skills)
}

// openSkills makes what keeps the active skills of a conversation.
func (c *Config) openSkills(sh *shared, s *session, r *tools.Registry) (err error) {
	s.skills, err = skillset.New(skillset.Options{
		Skills: sh.skills, Workspace: sh.workspace, State: s.state, Registry: r, OnDefect: c.onDefect, Logger: c.params().Logger,
		Selected: func(spec tools.Spec) bool { return c.selection().Includes(spec, true) },
	})
	return err
}

// Skills returns what knows the skills of the session (AR-01); derived Configs
// have the same. The error is of code not_initialized.
func (c *Config) Skills() (*skills.SkillManager, error) {
	sh, err := c.services("Skills")
	if err != nil {
		return nil, err
	}
	return sh.skills, nil
}

// ReloadSkills looks for skills again, in the same directories. What is wrong with
// them is for their manager to say. The error is of code not_initialized or
// cancelled.
func (c *Config) ReloadSkills(ctx context.Context) error {
	sh, err := c.services("ReloadSkills")
	if err != nil {
		return err
	}
	return c.loadSkills(ctx, sh)
}

// ActivateSkill puts the instructions of a skill into the system prompt of this
// conversation, as /skill does (EX-04), and lets the session read its directory. It
// stays there through compaction, until StartNewSession or until the history is
// cleared. Nobody is asked: it is the person who does it. The error is of code
// not_initialized, cancelled, invalid_tool_params where no skill of that name can
// be activated, or invalid_config where its directory is gone.
func (c *Config) ActivateSkill(ctx context.Context, name string) (skills.Skill, error) {
	s, err := c.own("ActivateSkill")
	if err != nil {
		return skills.Skill{}, err
	}
	return s.skills.Activate(ctx, name)
}

// ActiveSkills returns the names of the skills of this conversation that are
// active, in the order in which they were activated. The error is of code
// not_initialized.
func (c *Config) ActiveSkills() ([]string, error) {
	s, err := c.own("ActiveSkills")
	if err != nil {
		return nil, err
	}
	return s.skills.Names(), nil
}

// SetSkillEnabled says whether a skill can be activated for the rest of the
// session; settings stay as they are. The error is of code not_initialized, or
// invalid_tool_params where there is no skill of that name.
func (c *Config) SetSkillEnabled(name string, on bool) error {
	sh, err := c.services("SetSkillEnabled")
	if err != nil {
		return err
	}
	skill, ok := sh.skills.Get(name)
	if !ok {
		return fault.New(fault.InvalidToolParams, "config.skills", "There is no skill "+tools.Quote(name, 120)+".", "fettle skills list --all lists them.")
	}
	sh.skills.SetEnabled(skill.Name, on)
	return nil
}
