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
	"github.com/fettle-dev/fettle/core/services/trust"
	"github.com/fettle-dev/fettle/core/tools"
	"github.com/fettle-dev/fettle/core/tools/communicate"
	"github.com/fettle-dev/fettle/core/tools/plan"
)

// modeAtStart returns the initial approval mode: the one set by a call, else that
// of the parameters.
func (c *Config) modeAtStart() (policy.ApprovalMode, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.startingMode()
}

// startingMode implements modeAtStart. The caller holds c.mu.
func (c *Config) startingMode() (policy.ApprovalMode, error) {
	p := c.params()
	if c.modeCalled {
		return p.permittedMode(p.cautious(c.mode))
	}
	return p.permittedMode(p.cautious(p.Policy.ApprovalMode))
}

// permittedMode validates a mode. It refuses yolo in an untrusted directory, and
// modes forbidden by the user's protections.
func (p *stored) permittedMode(m policy.ApprovalMode) (policy.ApprovalMode, error) {
	mode, err := policy.ParseApprovalMode(string(m))
	switch {
	case err != nil:
		return "", err
	case mode == policy.ModeYolo && p.Policy.Trust == trust.Untrusted:
		return "", fault.New(fault.UntrustedFolder, "config.mode", "The approval mode yolo is refused, because this directory is recorded as untrusted.",
			"Choose another mode, or trust the directory with fettle trust.")
	case p.cautious(mode) != mode:
		return "", fault.New(fault.InvalidConfig, "config.mode", fmt.Sprintf("The approval mode %s is refused, because %s, which may forbid it, could not be read.", mode, p.unread[0].Path),
			"Choose another mode, or repair the file and start a new session.")
	case mode == policy.ModeYolo && p.Policy.NoYolo:
		return "", fault.New(fault.InvalidConfig, "config.mode", "The approval mode yolo is refused: security.disableYoloMode forbids it.",
			"Choose another mode, or change that setting.")
	}
	return mode, nil
}

// ceiling is an approval mode that a settings file has set while the family runs.
// Each Config with a less strict mode adopts it, once. Later calls may change the
// mode again.
type ceiling struct {
	mode   policy.ApprovalMode
	origin string // path of the file, or "default"
	turn   int64
}

// lower sets a ceiling for the current modes of the family.
func (f *family) lower(mode policy.ApprovalMode, origin string) {
	next := &ceiling{mode: mode, origin: origin, turn: 1}
	if now := f.ceiling.Load(); now != nil {
		next.turn = now.turn + 1
	}
	f.ceiling.Store(next) // by one reload at a time
}

// applyCeiling adopts and announces a new ceiling, and reports whether that
// changed the mode. The caller holds c.mu.
func (c *Config) applyCeiling() bool {
	now := c.family.ceiling.Load()
	if now == nil || now.turn <= c.appliedCeiling {
		return false
	}
	c.appliedCeiling = now.turn
	changed := now.mode.Stricter(c.mode)
	if changed {
		c.setMode(now.mode)
		c.announce(keyMode, now.mode, now.origin)
	}
	switch {
	case now.mode == policy.ModePlan:
		c.beforePlan = "" // do not restore a less strict mode
	case c.beforePlan != "" && now.mode.Stricter(c.beforePlan):
		c.beforePlan = now.mode
	}
	return changed
}

// lowerMode adopts the mode of a file in all Configs with a less strict one, and
// announces the result.
func (c *Config) lowerMode(mode policy.ApprovalMode, origin string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.family.lower(mode, origin)
	if !c.applyCeiling() {
		c.announce(keyMode, c.mode, origin)
	}
}

// cautious returns the initial mode for a requested one: if a file that may
// forbid the mode could not be read, a mode less strict than default becomes
// default.
func (p *stored) cautious(m policy.ApprovalMode) policy.ApprovalMode {
	mode, err := policy.ParseApprovalMode(string(m))
	if len(p.unread) > 0 && err == nil && policy.ModeDefault.Stricter(mode) {
		return policy.ModeDefault
	}
	return m
}

// planMode lets a conversation's tools enter and leave plan mode: they change the
// mode of their own Config.
type planMode struct{ c *Config }

func (p planMode) Mode() string { return string(p.c.ApprovalMode()) }

// EnterPlan enters plan mode, if the model can leave it again.
func (p planMode) EnterPlan(context.Context) error {
	if !p.c.mayLeavePlan() {
		return fault.New(fault.NoApprover, "config.enterPlan", "Plan mode was not entered: no approver is available to approve the plan, so it could not be left.",
			"Continue without it, or put the plan into your answer.")
	}
	return p.c.SetApprovalMode(policy.ModePlan)
}

// mayLeavePlan reports whether an approver or a rule could let the model leave
// plan mode.
func (c *Config) mayLeavePlan() bool {
	if c.bus.Listening(bus.ToolConfirmationRequest{}) {
		return true
	}
	leave, known := policy.WellKnown(plan.ExitPlanMode)
	leave.Params, leave.Mode, leave.Headless = json.RawMessage(`{}`), policy.ModePlan, true
	leave.Subagent = c.subagent
	d, err := c.Policy().Decide(leave)
	return known && err == nil && d.Decision == policy.Allow
}

// LeavePlan restores the mode before plan mode, but never yolo.
func (p planMode) LeavePlan(context.Context) (string, error) {
	p.c.mu.Lock()
	defer p.c.mu.Unlock()
	p.c.applyCeiling()
	if p.c.mode == policy.ModePlan { // unless it has been left already
		p.c.changeMode(policy.ApprovalMode(plan.ModeAfter(string(p.c.beforePlan))))
	}
	return string(p.c.mode), nil
}

// planByUntrusted reports whether the settings of an untrusted project, and not
// the user, requested plan mode.
func (c *Config) planByUntrusted(sh *shared) bool {
	if sh.settings == nil || c.params().Policy.Trust == trust.Trusted {
		return false
	}
	c.mu.Lock()
	asked := c.planAsked
	c.mu.Unlock()
	return !asked && sh.settings.current().OriginOf(keyMode).Layer == settings.LayerProject
}

// plansDir returns the directory of plans, to which plan mode may write: that of
// an extension, if one sets it when the session begins.
func (c *Config) plansDir(target string) string {
	if dir := c.family.extensions.PlansDir(); dir != "" {
		return dir
	}
	return filepath.Join(target, c.params().Environment.Layout.Plans())
}

// hidden returns the names of tools that have no use at the moment: entering the
// current mode, leaving another mode, and questions to the user when no front end
// listens.
func (c *Config) hidden() []string {
	names := plan.Hidden(string(c.ApprovalMode()))
	if !c.bus.Listening(bus.ToolConfirmationRequest{}) {
		names = append(names, plan.EnterPlanMode)
	}
	if !c.bus.Listening(bus.AskUserRequest{}) {
		names = append(names, communicate.AskUser)
	}
	return names
}

// Todos returns the conversation's todo list as set by write_todos; nil if it is
// empty.
func (c *Config) Todos() ([]tools.Todo, error) {
	s, err := c.own("Todos")
	if err != nil {
		return nil, err
	}
	return s.todos.List(), nil
}

// killSwitchAtStart returns the initial state of the kill switch: the parameter, else
// the environment variable.
func killSwitchAtStart(p *stored) bool {
	if p.Session.FileReadCacheDisabled != nil {
		return *p.Session.FileReadCacheDisabled
	}
	if p.Environment.Getenv == nil || p.Settings != nil { // Settings include the variable
		return false
	}
	on, err := strconv.ParseBool(p.Environment.Getenv(p.Environment.Layout.EnvPrefix + "FILE_READ_CACHE_DISABLED"))
	return err == nil && on
}

// killSwitch is the kill switch of the file-read cache. That of a derived Config
// follows its parent's until it is set itself.
type killSwitch struct {
	parent *killSwitch   // nil for a Config made by New
	turns  *atomic.Int64 // of the family
	own    atomic.Pointer[switched]
}

func (h *killSwitch) set(disabled bool) {
	_, turn := h.position()
	if disabled {
		turn = h.turns.Add(1)
	}
	h.own.Store(&switched{disabled, turn})
}

// switched is one setting of a kill switch, with the number of the latest disabling.
type switched struct {
	disabled bool
	turn     int64
}

// position returns the current state.
func (h *killSwitch) position() (disabled bool, turn int64) {
	for ; h != nil; h = h.parent {
		if p := h.own.Load(); p != nil {
			return p.disabled, p.turn
		}
	}
	return false, 0
}

func (h *killSwitch) isDisabled() bool {
	disabled, _ := h.position()
	return disabled
}

// Keys under which changes are announced.
const (
	keyMode       = apply.KeyMode
	keyModel      = "model.name"
	keyKillSwitch = apply.KeyKillSwitch
)

// changeMode sets the mode and announces it. The caller holds c.mu.
func (c *Config) changeMode(mode policy.ApprovalMode) {
	c.applyCeiling()
	before := c.mode
	c.setMode(mode)
	c.modeCalled, c.planAsked = true, mode == policy.ModePlan
	if before != mode {
		c.announce(keyMode, mode, "")
	}
}

// setMode sets the mode. The caller holds c.mu.
func (c *Config) setMode(mode policy.ApprovalMode) {
	switch {
	case mode != policy.ModePlan:
		c.beforePlan = ""
	case c.mode != policy.ModePlan:
		c.beforePlan = c.mode
	}
	c.mode, c.planAsked = mode, false
}

// announce publishes the new value of a key to front ends. The caller holds c.mu,
// so that messages have the order of the changes.
func (c *Config) announce(key string, value any, origin string) {
	text, err := json.Marshal(value)
	if err != nil {
		return // values of settings can be encoded
	}
	m := bus.ConfigChanged{SessionID: c.sessionID, Subagent: c.subagent, Key: key, Value: text, Origin: origin}
	if key == keyMode && value == policy.ModeAuto {
		m.Notice = c.autoNotice()
	}
	_ = c.bus.Publish(m) // a closed bus has no subscribers
}

// autoNotice returns the notice that the mode auto is the same as autoEdit in this
// session; "" if it is not, or if the notice has been given before. Before
// Initialize it is not known.
func (c *Config) autoNotice() string {
	o := c.params().Tools.Shell
	if c.phase != initialized || o.confinesByMounts() || c.family.autoNoticed.Swap(true) {
		return ""
	}
	notice := ""
	if o.autoNotice != nil {
		notice = o.autoNotice()
	}
	return cmp.Or(notice, apply.AutoNotice("this session does not confine single commands by namespaces."))
}

// ApprovalMode returns the current mode.
func (c *Config) ApprovalMode() policy.ApprovalMode {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.applyCeiling()
	return c.mode
}

// SetApprovalMode changes the mode from the next call on, and announces it as
// bus.ConfigChanged. The error has code invalid_config, or untrusted_folder if
// yolo is refused.
func (c *Config) SetApprovalMode(m policy.ApprovalMode) error {
	c.mu.Lock() // before the check, because Initialize checks the mode under the lock once it knows the permitted ones
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

// modelInForce implements Model. The caller holds c.mu.
func (c *Config) modelInForce() string {
	return cmp.Or(c.model, c.params().Conversation.Model, "auto")
}

// SetModel changes the model of this conversation from the next turn on, and
// announces it as bus.ConfigChanged. "" restores the model of the Parameters or
// settings.
func (c *Config) SetModel(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.modelInForce()
	c.model = name
	if now := c.modelInForce(); now != before {
		c.announce(keyModel, now, "")
	}
}

// SetFileReadCacheDisabled turns the file-read cache off or on, from the next
// check on, and announces it as bus.ConfigChanged. Turning it off empties it, so
// that it is empty when it is turned on again. Derived Configs without a value of
// their own follow.
func (c *Config) SetFileReadCacheDisabled(disabled bool) { c.setKillSwitch(disabled, "") }

// setKillSwitch sets the kill switch. origin is the path of a file, or "" for a call.
func (c *Config) setKillSwitch(disabled bool, origin string) {
	c.mu.Lock()
	changed := c.killSwitch.isDisabled() != disabled
	c.killSwitch.set(disabled)
	c.killSwitchCalled = c.killSwitchCalled || origin == ""
	if changed || origin != "" {
		c.announce(keyKillSwitch, disabled, origin)
	}
	s := c.session
	c.mu.Unlock()
	if s != nil {
		s.state.ApplyKillSwitch()
	}
}

// FileReadCacheDisabled reports whether the file-read cache is off.
func (c *Config) FileReadCacheDisabled() bool { return c.killSwitch.isDisabled() }
