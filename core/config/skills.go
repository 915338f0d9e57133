package config

import (
	"context"

	"github.com/fettle-dev/fettle/core/config/internal/skillset"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/trust"
	"github.com/fettle-dev/fettle/core/skills"
	"github.com/fettle-dev/fettle/core/tools"
)

// Skills configures the skills of a session. The zero value uses those of files
// and fettle's own.
type Skills struct {
	Disabled bool // no skills, whatever the settings contain
	// Off lists the names, in any case, of skills that cannot be activated. nil:
	// those of the settings, else none; empty: none.
	Off []string
	// Definitions are skills of the embedder. They count as built in: activating one
	// requires no approval, and one of a file replaces one of the same name.
	Definitions []skills.Skill
	// Dirs are additional directories of skills. Within their scope they come
	// before the default ones.
	Dirs []skills.Dir
}

// loadSkills finds the skills of the session, again if that was done before. The
// error has code cancelled, or is a mistake in fettle.
func (c *Config) loadSkills(ctx context.Context, sh *shared) error {
	p := c.params()
	claudeUser, claudeProject := p.claudeDirs(sh.workspace.Target())
	return skillset.Sources{
		ClaudeUser: claudeUser, ClaudeProject: claudeProject,
		Disabled: p.Skills.Disabled, Off: p.Skills.Off, Definitions: p.Skills.Definitions, Dirs: p.Skills.Dirs, Extensions: c.brought().Skills,
		Home: p.Environment.home(), Target: sh.workspace.Target(), Dir: p.Environment.Layout.Dir, Trusted: p.Policy.Trust == trust.Trusted, Logger: p.Environment.Logger,
	}.Load(ctx, sh.skills)
}

// openSkills creates the store of a conversation's active skills.
func (c *Config) openSkills(sh *shared, s *session, r *tools.Registry) (err error) {
	s.skills, err = skillset.New(skillset.Options{
		Skills: sh.skills, Workspace: sh.workspace, State: s.state, Registry: r, OnDefect: c.onDefect, Logger: c.params().Environment.Logger,
		Selected: func(spec tools.Spec) bool { return c.selection().Includes(spec, true) },
	})
	return err
}

// Manager returns the skill manager of the session; derived Configs share it. The
// error has code not_initialized.
func (x SkillService) Manager() (*skills.SkillManager, error) {
	c := x.c

	sh, err := c.services("Skills.Manager")
	if err != nil {
		return nil, err
	}
	return sh.skills, nil
}

// Reload searches for skills again, in the same directories. Their manager
// reports problems in them. The error has code not_initialized or cancelled.
func (x SkillService) Reload(ctx context.Context) error {
	c := x.c

	sh, err := c.services("Skills.Reload")
	if err != nil {
		return err
	}
	return c.loadSkills(ctx, sh)
}

// Activate adds the instructions of a skill to the system prompt of this
// conversation, like /skill, and lets the session read its directory. They stay
// through compaction, until StartNewSession or until the history is cleared. It
// requires no approval, because the user requests it. The error has code
// not_initialized, cancelled, invalid_tool_params if no skill of that name can be
// activated, or invalid_config if its directory is missing.
func (x SkillService) Activate(ctx context.Context, name string) (skills.Skill, error) {
	c := x.c

	s, err := c.own("Skills.Activate")
	if err != nil {
		return skills.Skill{}, err
	}
	return s.skills.Activate(ctx, name)
}

// Active returns the names of this conversation's active skills, in the
// order of their activation. The error has code not_initialized.
func (x SkillService) Active() ([]string, error) {
	c := x.c

	s, err := c.own("Skills.Active")
	if err != nil {
		return nil, err
	}
	return s.skills.Names(), nil
}

// SetEnabled sets whether a skill can be activated for the rest of the
// session; settings are unchanged. The error has code not_initialized, or
// invalid_tool_params for an unknown name.
func (x SkillService) SetEnabled(name string, on bool) error {
	c := x.c

	sh, err := c.services("Skills.SetEnabled")
	if err != nil {
		return err
	}
	skill, ok := sh.skills.Get(name)
	if !ok {
		return fault.New(fault.InvalidToolParams, "config.skills", "Unknown skill "+tools.Quote(name, 120)+".", "fettle skills list --all lists the skills.")
	}
	sh.skills.SetEnabled(skill.Name, on)
	return nil
}
