// Package skillset finds the skills of a session, and manages the active skills
// of a conversation.
package skillset

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"sync"

	"github.com/fettle-dev/fettle/core/config/internal/history"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/services/workspace"
	"github.com/fettle-dev/fettle/core/skills"
	"github.com/fettle-dev/fettle/core/tools"
)

// Options configure [Active].
type Options struct {
	Skills    *skills.SkillManager
	Workspace *workspace.Workspace
	State     interface {
		// WhenShown calls shown once the result of the call of ctx has been shown
		// to the model.
		WhenShown(ctx context.Context, shown func())
	}
	Registry *tools.Registry
	Selected func(tools.Spec) bool // reports whether a tool is registered
	OnDefect func(error)
	Logger   *slog.Logger
}

// Active manages the skills of one conversation. It is safe for concurrent use.
type Active struct {
	o Options

	mu     sync.Mutex
	names  []string      // of all, in the order of activation
	prompt []promptSkill // of those whose instructions are in the system prompt

	unbind   func()     // stops watching for changes; nil: not watching
	renewing sync.Mutex // held while the tool is replaced, so that the newest stays
}

// promptSkill is a skill as it is in the system prompt.
type promptSkill struct{ name, text string }

// New returns the skills of a conversation, and registers the tool that activates
// them while there are any.
func New(o Options) (*Active, error) {
	a := &Active{o: o}
	a.unbind = o.Skills.Watch(func() {
		if err := a.renew(); err != nil {
			o.OnDefect(err)
		}
	})
	return a, a.renew()
}

// renew registers the tool that activates skills, or removes it if there are
// none.
func (a *Active) renew() error {
	a.renewing.Lock()
	defer a.renewing.Unlock()
	spec, err := skills.ToolSpec()
	if err != nil || !a.o.Selected(spec) {
		return err
	}
	tool, err := a.o.Skills.Tool(a.activated)
	if err != nil {
		return err
	}
	if tool == nil {
		a.o.Registry.Unregister(spec.Name)
		return nil
	}
	return a.o.Registry.Renew(tool)
}

// activated records that a skill is active once the conversation has received the result
// of the call that ctx belongs to.
func (a *Active) activated(ctx context.Context, skill skills.Skill) error {
	if skill.Dir != "" {
		if err := workspace.Validate(skill.Dir); err != nil {
			return err
		}
	}
	a.o.State.WhenShown(ctx, func() {
		_ = a.activate(skill) // a removed directory cannot be read anyway
	})
	return nil
}

// activate records a skill as active, and lets the session read its directory.
func (a *Active) activate(skill skills.Skill) error {
	if skill.Dir != "" {
		if err := a.o.Workspace.AddReadOnly(skill.Dir); err != nil {
			return err
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if !slices.Contains(a.names, skill.Name) {
		a.names = append(a.names, skill.Name)
	}
	return nil
}

// Activate adds the instructions of a skill to the system prompt, and lets the
// session read its directory. The error has code cancelled, invalid_tool_params
// if no skill of that name can be activated, or invalid_config if its directory
// is missing.
func (a *Active) Activate(ctx context.Context, name string) (skills.Skill, error) {
	skill, err := a.o.Skills.Activatable(name)
	if err != nil {
		return skills.Skill{}, err
	}
	text, err := skills.Text(ctx, skill)
	if err != nil {
		return skills.Skill{}, fault.WasCancelled("config.ActivateSkill", err)
	}
	if err := a.activate(skill); err != nil {
		return skills.Skill{}, err
	}
	a.tell(skill.Name, text)
	return skill, nil
}

// Names returns the names of the active skills, in the order of activation.
func (a *Active) Names() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.names)
}

// tell adds or replaces a skill's instructions in the system prompt.
func (a *Active) tell(name, text string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.prompt = slices.DeleteFunc(slices.Clone(a.prompt), func(p promptSkill) bool { return p.name == name })
	a.prompt = append(a.prompt, promptSkill{name, text})
}

// Clear deactivates all skills; the directories stay readable.
func (a *Active) Clear() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.names, a.prompt = nil, nil
}

// Texts returns the instructions in the system prompt.
func (a *Active) Texts() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	var all []string
	for _, p := range a.prompt {
		all = append(all, p.text)
	}
	return all
}

// End stops watching for changes.
func (a *Active) End() {
	if a.unbind != nil {
		a.unbind()
	}
}

// Reopen lets a resumed session read the directories of the skills that were
// activated according to its history, if they exist.
func (a *Active) Reopen(turns []model.Content) {
	names := map[string]string{} // of skills, by call
	for _, turn := range turns {
		for _, p := range turn.Parts {
			if p.Call != nil && p.Call.Name == skills.ActivateSkill {
				var params skills.ActivateSkillParams
				if json.Unmarshal(p.Call.Args, &params) == nil {
					names[p.Call.ID] = params.Name
				}
			}
			if p.Response == nil || p.Response.Name != skills.ActivateSkill || names[p.Response.ID] == "" || failedResponse(p.Response.Response) ||
				!skills.Tells(history.Output(p.Response.Response)) {
				continue
			}
			skill, err := a.o.Skills.Activatable(names[p.Response.ID])
			if err == nil {
				err = a.activate(skill)
			}
			if err != nil {
				a.o.Logger.Info("a skill of the history does not exist any more", slog.String("skill", names[p.Response.ID]), slog.Any("error", err))
			}
		}
	}
}

// failedResponse reports whether a call ended with an error.
func failedResponse(response json.RawMessage) bool {
	var r struct{ Error *json.RawMessage }
	return json.Unmarshal(response, &r) != nil || r.Error != nil
}

// OwnKind is the tool kind that rules see for the activation of a built-in skill.
const OwnKind = string(tools.KindThink)

// IsOwn reports whether a call activates a built-in skill, which requires no
// approval.
func IsOwn(m *skills.SkillManager, call *policy.Call) bool {
	if call.Tool != skills.ActivateSkill {
		return false
	}
	var p skills.ActivateSkillParams
	if json.Unmarshal(call.Params, &p) != nil {
		return false
	}
	s, ok := m.Get(p.Name)
	return ok && s.Scope == skills.ScopeBuiltIn
}
