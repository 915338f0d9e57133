package config

import (
	"context"
	"encoding/json"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/services/trust"
	"github.com/fettle-dev/fettle/core/services/workspace"
	"github.com/fettle-dev/fettle/core/skills"
	"github.com/fettle-dev/fettle/core/tools"
)

// Names of folders of skills (CF-02): below the user's and the project's settings
// folder, and below the folder that several programs look into.
const (
	skillsFolder = "skills"
	agentsShared = ".agents"
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
	// Folders are more folders of skills. Within their scope they come before those
	// that a session looks into by itself.
	Folders []skills.Folder
}

// activeSkills are the skills of one conversation (EX-04). The zero value is none.
type activeSkills struct {
	mu     sync.Mutex
	names  []string      // of all, in the order in which they were activated
	prompt []promptSkill // of those whose instructions are in the system prompt

	unbind   func()     // ends the watching of changes; nil: there is none
	renewing sync.Mutex // held while the tool is made anew, so that the newest stays
}

// promptSkill is a skill as the system prompt holds it.
type promptSkill struct{ name, text string }

func (a *activeSkills) add(name string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !slices.Contains(a.names, name) {
		a.names = append(a.names, name)
	}
}

// tell puts a skill's instructions into the system prompt, in the place of what
// they were.
func (a *activeSkills) tell(name, text string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.prompt = slices.DeleteFunc(slices.Clone(a.prompt), func(p promptSkill) bool { return p.name == name })
	a.prompt = append(a.prompt, promptSkill{name, text})
}

func (a *activeSkills) clear() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.names, a.prompt = nil, nil
}

func (a *activeSkills) texts() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	var all []string
	for _, p := range a.prompt {
		all = append(all, p.text)
	}
	return all
}

// end ends the watching of changes.
func (a *activeSkills) end() {
	if a.unbind != nil {
		a.unbind()
	}
}

// loadSkills has the skills of the session found, anew where that was done before.
// The error is of code cancelled, or a mistake in fettle.
func (c *Config) loadSkills(ctx context.Context, sh *shared) error {
	p := c.params()
	if !sh.skills.Discovered() {
		sh.skills.SetDisabled(p.Skills.Off)
	}
	if p.Skills.Disabled {
		return sh.skills.Discover(ctx, nil, nil)
	}
	own, err := skills.BuiltIn()
	if err != nil {
		return err
	}
	given := own
	for _, s := range p.Skills.Given {
		s.Scope = skills.ScopeBuiltIn
		given = append(given, s)
	}
	if err := sh.skills.Discover(ctx, given, c.skillFolders(sh)); err != nil {
		return err
	}
	for _, problem := range sh.skills.Problems() {
		p.Logger.Warn("skills", slog.String("problem", problem.String()))
	}
	return nil
}

// skillFolders are the folders that may hold skills. The project's are among them
// where it is trusted.
func (c *Config) skillFolders(sh *shared) []skills.Folder {
	p := c.params()
	folders := slices.Clone(p.Skills.Folders)
	for _, f := range c.brought().skills {
		folders = append(folders, skills.Folder{
			Path: f.Path, Scope: skills.ScopeExtension, Extension: f.Extension, Within: f.Variables["extensionPath"], Expand: expandVariables(f.Variables),
		})
	}
	var users []string
	if home := p.home(); home != "" {
		users = []string{filepath.Join(home, p.Layout.Dir, skillsFolder), filepath.Join(home, agentsShared, skillsFolder)}
	}
	for _, path := range users {
		folders = append(folders, skills.Folder{Path: path, Scope: skills.ScopeUser})
	}
	if p.Trust != trust.Trusted {
		return folders
	}
	for _, path := range projectSkillFolders(sh.workspace.Target(), p.Layout.Dir) {
		if slices.ContainsFunc(users, func(user string) bool { return sameFolder(path, user) }) {
			continue
		}
		folders = append(folders, skills.Folder{Path: path, Scope: skills.ScopeWorkspace, Within: sh.workspace.Target()})
	}
	return folders
}

// projectSkillFolders are those of a project, the later one going before.
func projectSkillFolders(target, dir string) []string {
	return []string{filepath.Join(target, dir, skillsFolder), filepath.Join(target, agentsShared, skillsFolder)}
}

// expandVariables puts in what stands for ${NAME}; nil for no variables.
func expandVariables(variables map[string]string) func(text string) string {
	if len(variables) == 0 {
		return nil
	}
	var pairs []string
	for name, value := range variables {
		pairs = append(pairs, "${"+name+"}", value)
	}
	return strings.NewReplacer(pairs...).Replace
}

// bindSkillTool registers the tool that activates skills, or takes it away where
// there are none, and does so again when the skills change.
func (c *Config) bindSkillTool(sh *shared, s *session, r *tools.Registry) error {
	s.skills.unbind = sh.skills.Watch(func() {
		if err := c.renewSkillTool(sh, s, r); err != nil {
			c.onDefect(err)
		}
	})
	return c.renewSkillTool(sh, s, r)
}

func (c *Config) renewSkillTool(sh *shared, s *session, r *tools.Registry) error {
	s.skills.renewing.Lock()
	defer s.skills.renewing.Unlock()
	factories, err := skills.Factories()
	if err != nil {
		return err
	}
	for _, f := range factories {
		if !c.selection().Includes(f.Spec(), true) {
			continue
		}
		tool, err := sh.skills.Bind(f, skillSession{sh, s})
		if err != nil {
			return err
		}
		if tool == nil {
			r.Unregister(f.Spec().Name)
			continue
		}
		if err := r.Renew(tool); err != nil {
			return err
		}
	}
	return nil
}

// skillSession is the conversation that skills are activated in.
type skillSession struct {
	shared  *shared
	session *session
}

// Activated implements skills.Session.
func (s skillSession) Activated(ctx context.Context, skill skills.Skill) error {
	if skill.Dir != "" {
		if err := workspace.Usable(skill.Dir); err != nil {
			return err
		}
	}
	s.session.state.WhenShown(ctx, func() {
		_ = s.activate(skill) // a directory that is gone since cannot be read anyway
	})
	return nil
}

// activate notes that a skill is active, and lets the session read its folder.
func (s skillSession) activate(skill skills.Skill) error {
	if skill.Dir != "" {
		if err := s.shared.workspace.AddReadOnly(skill.Dir); err != nil {
			return err
		}
	}
	s.session.skills.add(skill.Name)
	return nil
}

// skillOfOwnKind is the kind that rules see in the activation of a built-in skill.
const skillOfOwnKind = string(tools.KindThink)

// isOwnSkill reports whether a call activates a skill that is built in, which
// nobody is asked about.
func (sh *shared) isOwnSkill(call *policy.Call) bool {
	if call.Tool != skills.ActivateSkill {
		return false
	}
	var p skills.ActivateSkillParams
	if json.Unmarshal(call.Params, &p) != nil {
		return false
	}
	s, ok := sh.skills.Get(p.Name)
	return ok && s.Scope == skills.ScopeBuiltIn
}

// reopenSkills lets a session that is resumed read again what belongs to the
// skills that its history shows to have been activated, as far as they are there.
func (c *Config) reopenSkills(sh *shared, s *session, history []model.Content) {
	names := map[string]string{} // of skills, by call
	for _, turn := range history {
		for _, p := range turn.Parts {
			if p.Call != nil && p.Call.Name == skills.ActivateSkill {
				var params skills.ActivateSkillParams
				if json.Unmarshal(p.Call.Args, &params) == nil {
					names[p.Call.ID] = params.Name
				}
			}
			if p.Response == nil || p.Response.Name != skills.ActivateSkill || names[p.Response.ID] == "" || failedResponse(p.Response.Response) ||
				!skills.Tells(outputOf(p.Response.Response)) {
				continue
			}
			skill, err := sh.skills.Activatable(names[p.Response.ID])
			if err == nil {
				err = skillSession{sh, s}.activate(skill)
			}
			if err != nil {
				c.params().Logger.Info("a skill of the history is not there any more", slog.String("skill", names[p.Response.ID]), slog.Any("error", err))
			}
		}
	}
}

// failedResponse reports whether a call ended with an error.
func failedResponse(response json.RawMessage) bool {
	var r struct{ Error *json.RawMessage }
	return json.Unmarshal(response, &r) != nil || r.Error != nil
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

// ReloadSkills looks for skills again, in the same folders. What is wrong with
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
// conversation, as /skill does (EX-04), and lets the session read its folder. It
// stays there through compaction, until StartNewSession or until the history is
// cleared. Nobody is asked: it is the person who does it. The error is of code
// not_initialized, cancelled, invalid_tool_params where no skill of that name can
// be activated, or invalid_config where its folder is gone.
func (c *Config) ActivateSkill(ctx context.Context, name string) (skills.Skill, error) {
	s, err := c.own("ActivateSkill")
	if err != nil {
		return skills.Skill{}, err
	}
	sh, err := c.services("ActivateSkill")
	if err != nil {
		return skills.Skill{}, err
	}
	skill, err := sh.skills.Activatable(name)
	if err != nil {
		return skills.Skill{}, err
	}
	text, err := skills.Text(ctx, skill)
	if err != nil {
		return skills.Skill{}, cancelled("ActivateSkill", err)
	}
	if err := (skillSession{sh, s}).activate(skill); err != nil {
		return skills.Skill{}, err
	}
	s.skills.tell(skill.Name, text)
	return skill, nil
}

// ActiveSkills returns the names of the skills of this conversation that are
// active, in the order in which they were activated. The error is of code
// not_initialized.
func (c *Config) ActiveSkills() ([]string, error) {
	s, err := c.own("ActiveSkills")
	if err != nil {
		return nil, err
	}
	s.skills.mu.Lock()
	defer s.skills.mu.Unlock()
	return slices.Clone(s.skills.names), nil
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
