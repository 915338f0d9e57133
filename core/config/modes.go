package config

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strconv"
	"sync/atomic"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/config/internal/apply"
	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/services/filestate"
	"github.com/fettle-dev/fettle/core/services/trust"
	"github.com/fettle-dev/fettle/core/tools"
	"github.com/fettle-dev/fettle/core/tools/communicate"
	"github.com/fettle-dev/fettle/core/tools/plan"
)

// modeAtStart is the approval mode to begin with: what a call has set, else what
// the parameters say.
func (c *Config) modeAtStart() (policy.ApprovalMode, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.startingMode()
}

// startingMode is modeAtStart; c.mu is held.
func (c *Config) startingMode() (policy.ApprovalMode, error) {
	p := c.params()
	if c.modeCalled {
		return p.permittedMode(p.cautious(c.mode))
	}
	return p.permittedMode(p.cautious(p.ApprovalMode))
}

// permittedMode reads a mode and refuses what an untrusted directory may not have
// (AR-27), and what the person has forbidden.
func (p *Parameters) permittedMode(m policy.ApprovalMode) (policy.ApprovalMode, error) {
	mode, err := policy.ParseApprovalMode(string(m))
	switch {
	case err != nil:
		return "", err
	case mode == policy.ModeYolo && p.Trust == trust.Untrusted:
		return "", fault.New(fault.UntrustedFolder, "config.mode", "The approval mode yolo is refused, as this directory is recorded as untrusted.",
			"Choose another mode, or trust the directory with fettle trust.")
	case p.cautious(mode) != mode:
		return "", fault.New(fault.InvalidConfig, "config.mode", fmt.Sprintf("The approval mode %s is refused, as %s could not be read, which may forbid it.", mode, p.unread[0].Path),
			"Choose another mode, or mend the file and begin a new session.")
	case mode == policy.ModeYolo && p.Protections.NoYolo:
		return "", fault.New(fault.InvalidConfig, "config.mode", "The approval mode yolo is refused: security.disableYoloMode forbids it.",
			"Choose another mode, or change that setting.")
	}
	return mode, nil
}

// ceiling is an approval mode that a settings file has brought while the family
// runs: whoever has a less strict one takes it on, once. What is set later by a
// call holds.
type ceiling struct {
	mode   policy.ApprovalMode
	origin string // path of the file, or "default"
	turn   int64
}

// lower puts a ceiling over all modes of now.
func (f *family) lower(mode policy.ApprovalMode, origin string) {
	next := &ceiling{mode: mode, origin: origin, turn: 1}
	if now := f.ceiling.Load(); now != nil {
		next.turn = now.turn + 1
	}
	f.ceiling.Store(next) // by one reload at a time
}

// heedCeiling takes on a ceiling that is new, and reports whether the mode has
// changed by it, which it announces then; c.mu is held.
func (c *Config) heedCeiling() bool {
	now := c.family.ceiling.Load()
	if now == nil || now.turn <= c.heeded {
		return false
	}
	c.heeded = now.turn
	changed := apply.Stricter(now.mode, c.mode)
	if changed {
		c.setMode(now.mode)
		c.announce(keyMode, now.mode, now.origin)
	}
	switch {
	case now.mode == policy.ModePlan:
		c.beforePlan = "" // nothing looser comes back
	case c.beforePlan != "" && apply.Stricter(now.mode, c.beforePlan):
		c.beforePlan = now.mode
	}
	return changed
}

// lowerMode puts a mode of a file in force wherever a less strict one is, and
// announces what is in force now.
func (c *Config) lowerMode(mode policy.ApprovalMode, origin string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.family.lower(mode, origin)
	if !c.heedCeiling() {
		c.announce(keyMode, c.mode, origin)
	}
}

// cautious is a mode as it counts at the start of a session: where a file that
// may forbid it could not be read, one that asks less than default is that.
func (p *Parameters) cautious(m policy.ApprovalMode) policy.ApprovalMode {
	mode, err := policy.ParseApprovalMode(string(m))
	if len(p.unread) > 0 && err == nil && apply.Stricter(policy.ModeDefault, mode) {
		return policy.ModeDefault
	}
	return m
}

// planMode is how a conversation's tools enter and leave plan mode (TO-18):
// they change the mode of their own Config.
type planMode struct{ c *Config }

func (p planMode) Mode() string { return string(p.c.ApprovalMode()) }

// EnterPlan puts plan mode in force, where there is a way out of it again.
func (p planMode) EnterPlan(context.Context) error {
	if !p.c.mayLeavePlan() {
		return fault.New(fault.NoApprover, "config.enterPlan", "Plan mode was not entered: nobody is there who could approve the plan, so it could not be left.",
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
	return !asked && sh.settings.current().OriginOf(keyMode).Layer == settings.LayerProject
}

// plansDir is the directory of plans, which plan mode may write to (CR-22): that of
// an extension, where one names some when the session begins.
func (c *Config) plansDir(target string) string {
	if dir := c.family.extensions.PlansDir(); dir != "" {
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

// hatchAtStart is the hatch's first position: parameter, then environment.
func hatchAtStart(p *Parameters) bool {
	if p.FileReadCacheDisabled != nil {
		return *p.FileReadCacheDisabled
	}
	if p.Getenv == nil || p.Settings != nil { // these know the variable
		return false
	}
	on, err := strconv.ParseBool(p.Getenv(p.Layout.EnvPrefix + "FILE_READ_CACHE_DISABLED"))
	return err == nil && on
}

// hatch is the switch that turns the file-read cache off (RC-28). A derived
// Config's follows its parent's until it has a position of its own (RC-30).
type hatch struct {
	parent *hatch        // nil for a Config made by New
	turns  *atomic.Int64 // of the family
	own    atomic.Pointer[filestate.Hatch]
}

func (h *hatch) set(disabled bool) {
	p := filestate.Hatch{Disabled: disabled, Turn: h.position().Turn}
	if disabled {
		p.Turn = h.turns.Add(1)
	}
	h.own.Store(&p)
}

// position returns the position in force.
func (h *hatch) position() filestate.Hatch {
	for ; h != nil; h = h.parent {
		if p := h.own.Load(); p != nil {
			return *p
		}
	}
	return filestate.Hatch{}
}

// The keys of the knobs, by which changes are announced.
const (
	keyMode  = apply.KeyMode
	keyModel = "model.name"
	keyHatch = apply.KeyHatch
)

// changeMode puts a mode in force and announces it; c.mu is held.
func (c *Config) changeMode(mode policy.ApprovalMode) {
	c.heedCeiling()
	before := c.mode
	c.setMode(mode)
	c.modeCalled, c.planAsked = true, mode == policy.ModePlan
	if before != mode {
		c.announce(keyMode, mode, "")
	}
}

// setMode changes the mode; c.mu is held.
func (c *Config) setMode(mode policy.ApprovalMode) {
	switch {
	case mode != policy.ModePlan:
		c.beforePlan = ""
	case c.mode != policy.ModePlan:
		c.beforePlan = c.mode
	}
	c.mode, c.planAsked = mode, false
}

// announce tells front ends of a value that is in force from now on; c.mu is
// held, so that messages come in the order of the changes.
func (c *Config) announce(key string, value any, origin string) {
	text, err := json.Marshal(value)
	if err != nil {
		return // values of settings can be written
	}
	_ = c.bus.Publish(bus.ConfigChanged{SessionID: c.sessionID, Subagent: c.subagent, Key: key, Value: text, Origin: origin}) // a closed bus has nobody to tell
}

// ApprovalMode returns the mode in force.
func (c *Config) ApprovalMode() policy.ApprovalMode {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.heedCeiling()
	return c.mode
}

// SetApprovalMode changes the mode from the next call on, and announces it as
// bus.ConfigChanged. The error is of code invalid_config, or untrusted_folder
// where yolo is refused (AR-27).
func (c *Config) SetApprovalMode(m policy.ApprovalMode) error {
	c.mu.Lock() // first, as Initialize judges the mode under it once it knows what is permitted
	defer c.mu.Unlock()
	mode, err := c.params().permittedMode(m)
	if err != nil {
		return err
	}
	c.changeMode(mode)
	return nil
}

// Model returns the name of the model, "auto" for the program's choice.
func (c *Config) Model() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.modelInForce()
}

// modelInForce is Model; c.mu is held.
func (c *Config) modelInForce() string {
	return cmp.Or(c.model, c.params().Model, "auto")
}

// SetModel changes the model of this conversation from the next turn on, and
// announces it as bus.ConfigChanged. "" is the one that Parameters or settings
// name.
func (c *Config) SetModel(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.modelInForce()
	c.model = name
	if now := c.modelInForce(); now != before {
		c.announce(keyModel, now, "")
	}
}

// SetFileReadCacheDisabled turns the file-read cache off or on again, from the
// next check on, and announces it as bus.ConfigChanged. Turning it off empties
// it, so that turning it on starts from nothing (RC-29). Derived Configs without
// a setting of their own follow.
func (c *Config) SetFileReadCacheDisabled(disabled bool) { c.turnHatch(disabled, "") }

// turnHatch turns the hatch as origin says, the path of a file or "" for a call.
func (c *Config) turnHatch(disabled bool, origin string) {
	c.mu.Lock()
	changed := c.hatch.position().Disabled != disabled
	c.hatch.set(disabled)
	c.hatchCalled = c.hatchCalled || origin == ""
	if changed || origin != "" {
		c.announce(keyHatch, disabled, origin)
	}
	s := c.session
	c.mu.Unlock()
	if s != nil {
		s.state.HeedHatch()
	}
}

// FileReadCacheDisabled reports whether the file-read cache is off.
func (c *Config) FileReadCacheDisabled() bool { return c.hatch.position().Disabled }
