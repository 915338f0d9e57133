package config

import (
	"context"
	"encoding/json"
	"path/filepath"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/services/trust"
	"github.com/fettle-dev/fettle/core/tools"
	"github.com/fettle-dev/fettle/core/tools/communicate"
	"github.com/fettle-dev/fettle/core/tools/plan"
)

// planMode is how a conversation's tools enter and leave plan mode (TO-18):
// they change the mode of their own Config.
type planMode struct{ c *Config }

func (p planMode) Mode() string { return string(p.c.ApprovalMode()) }

// EnterPlan puts plan mode in force, where there is a way out of it again.
func (p planMode) EnterPlan(context.Context) error {
	if !p.c.mayLeavePlan() {
		return fault.New(fault.NobodyToAsk, "config.enterPlan", "Plan mode was not entered: nobody is there who could approve the plan, so it could not be left.",
			"Work without it, or write the plan into your answer.")
	}
	return p.c.SetApprovalMode(policy.ModePlan)
}

// mayLeavePlan reports whether somebody, or a rule, could let the model leave
// plan mode.
func (c *Config) mayLeavePlan() bool {
	if c.bus.Listening(bus.TypeToolConfirmationRequest) {
		return true
	}
	leave, known := policy.WellKnown(plan.ExitPlanMode)
	leave.Params, leave.Mode, leave.Headless = json.RawMessage(`{}`), policy.ModePlan, true
	leave.Subagent = c.subagent
	d, err := c.Decide(leave)
	return known && err == nil && d.Decision == policy.Allow
}

// LeavePlan puts the mode from before in force, but never yolo.
func (p planMode) LeavePlan(context.Context) (string, error) {
	p.c.mu.Lock()
	defer p.c.mu.Unlock()
	p.c.heedCeiling()
	if p.c.mode == policy.ModePlan { // unless somebody else has left it
		p.c.changeMode(policy.ApprovalMode(plan.ModeAfter(string(p.c.beforePlan))))
	}
	return string(p.c.mode), nil
}

// planOfStranger reports whether plan mode is what the settings of a project
// want that is not trusted, and nothing that the person has asked for.
func (c *Config) planOfStranger(sh *shared) bool {
	if sh.settings == nil || c.params().Trust == trust.Trusted {
		return false
	}
	c.mu.Lock()
	asked := c.planAsked
	c.mu.Unlock()
	return !asked && originOf(sh.settings.current(), keyMode).Layer == settings.LayerProject
}

// plansDir is the folder of plans, which plan mode may write to (CR-22): that of
// an extension, where one names some when the session begins.
func (c *Config) plansDir(target string) string {
	if dir := c.family.extended.plansDir(); dir != "" {
		return dir
	}
	return filepath.Join(target, c.params().Layout.Dir, plansFolder)
}

// hidden names the tools that are of no use now: the way into the mode that is
// in force, or out of one that is not, and what somebody has to answer where
// nobody listens.
func (c *Config) hidden() []string {
	names := plan.Hidden(string(c.ApprovalMode()))
	if !c.bus.Listening(bus.TypeToolConfirmationRequest) {
		names = append(names, plan.EnterPlanMode)
	}
	if !c.bus.Listening(bus.TypeAskUserRequest) {
		names = append(names, communicate.AskUser)
	}
	return names
}

// Todos returns the todo list of this conversation, as write_todos has left it;
// nil where it is empty.
func (c *Config) Todos() ([]tools.Todo, error) {
	s, err := c.own("Todos")
	if err != nil {
		return nil, err
	}
	return s.todos.List(), nil
}
