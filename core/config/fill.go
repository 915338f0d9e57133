package config

import (
	"cmp"
	"maps"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/config/internal/apply"
	"github.com/fettle-dev/fettle/core/config/internal/toolrules"
	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/services/instructions"
	"github.com/fettle-dev/fettle/core/services/process"
	"github.com/fettle-dev/fettle/core/tools/plan"
)

// fill sets zero fields to the valid values of the settings; see
// [Parameters.Settings].
func (p *Parameters) fill(u *apply.Validated, r *settings.Result) error {
	s := u.Settings
	if p.Policy.ApprovalMode == "" {
		mode, err := policy.ParseApprovalMode(s.General.DefaultApprovalMode)
		if err != nil {
			return err // invalid values were removed before
		}
		p.Policy.ApprovalMode = mode
	}
	p.Policy.restrict(s.Security)
	p.Policy.NoReadOnlyTable = p.Policy.NoReadOnlyTable || !s.Tools.ReadOnlyTable
	p.unread = u.Unread
	if len(u.Unread) > 0 { // an unread file could restrict approvals
		p.Policy.NoAlwaysAllow, p.Policy.NoSaving = true, true
	}
	p.Conversation.Model = cmp.Or(p.Conversation.Model, s.Model.Name)
	if p.IncludeDirs == nil {
		p.IncludeDirs = s.Context.IncludeDirectories
	}
	if p.Policy.Paths == nil {
		p.Policy.Paths = s.PolicyPaths
	}
	p.fillTools(s, r)
	if p.Session.Limits.ChangedRegionsAbove == 0 {
		if p.Session.Limits.ChangedRegionsAbove = s.Tools.ChangedRegionsAbove; p.Session.Limits.ChangedRegionsAbove <= 0 {
			p.Session.Limits.ChangedRegionsAbove = -1 // never; 0 would be the default
		}
	}
	p.Session.Limits.ResultBytes = cmp.Or(p.Session.Limits.ResultBytes, s.Tools.MaxResultBytes)
	p.Session.StaleEdits = cmp.Or(p.Session.StaleEdits, s.Tools.StaleEdits)
	p.Session.copyForks = s.Fork.Copy
	if p.Session.FileReadCacheDisabled == nil {
		p.Session.FileReadCacheDisabled = &s.Tools.FileReadCacheDisabled
	}
	p.fillFileFiltering(s.Context.FileFiltering)
	p.fillHooks(s, r)
	p.fillConversation(s)
	p.fillInstructions(s.Context)
	p.fillServers(s, r)
	p.fillExtensions(s)
	p.Agents.Disabled = p.Agents.Disabled || !s.Agents.Enabled
	if p.Skills.Disabled = p.Skills.Disabled || !s.Skills.Enabled; p.Skills.Off == nil {
		p.Skills.Off = s.Skills.Disabled
	}
	if !p.Tools.external() {
		p.Tools.DiscoveryCommand, p.Tools.CallCommand = s.Tools.DiscoveryCommand, s.Tools.CallCommand
	}
	p.Tools.DiscoverySandbox = p.Tools.DiscoverySandbox || s.Tools.DiscoverySandbox
	p.fillCommands(u, r)
	p.fillCheckpoints(s.General.Checkpointing)
	p.Tools.WebFetch.AllowPrivate = p.Tools.WebFetch.AllowPrivate || s.Web.AllowPrivateAddresses
	p.Tools.WebFetch.ProxyDecides = p.Tools.WebFetch.ProxyDecides || s.Web.ProxyDecides
	if p.Tools.WebFetch.Allow == nil {
		p.Tools.WebFetch.Allow = s.Web.AllowedHosts
	}
	return p.Tools.checkDialect()
}

// fillTools applies the lists of tools, and the positions of their entries.
func (p *Parameters) fillTools(s settings.Settings, r *settings.Result) {
	if p.Tools.Core == nil {
		p.Tools.Core, p.Tools.coreFrom = s.Tools.Core, places(r, "tools.core")
	}
	if p.Tools.EditDialect == nil {
		p.Tools.EditDialect = s.Tools.EditDialect
	}
	if p.Policy.AllowedTools == nil {
		p.Policy.AllowedTools, p.Policy.allowedFrom = s.Tools.Allowed, places(r, "tools.allowed")
	}
	if p.Tools.DeferSchemasAbove == 0 {
		if p.Tools.DeferSchemasAbove = s.Tools.DeferSchemasAbove; p.Tools.DeferSchemasAbove <= 0 {
			p.Tools.DeferSchemasAbove = -1 // never; 0 would be the default
		}
	}
	if p.Policy.ConfirmationRequired == nil {
		const key = "tools.confirmationRequired"
		p.Policy.ConfirmationRequired, p.Policy.confirmationFrom = s.Tools.ConfirmationRequired, places(r, key)
	}
	if p.Tools.Exclude != nil {
		return
	}
	const exclude = "tools.exclude"
	p.Tools.Exclude, p.Tools.excludedFrom = slices.Clone(s.Tools.Exclude), places(r, exclude)
	for entry, place := range p.Tools.excludedFrom { // so that a denial names the setting
		place.Rule = exclude + ": " + strings.TrimSpace(entry)
		p.Tools.excludedFrom[entry] = place
	}
	if todos := plan.WriteTodos; !s.UseWriteTodos && !slices.Contains(p.Tools.Exclude, todos) {
		o := r.OriginOf("useWriteTodos") // only an explicit value counts, because the default is true
		p.Tools.Exclude = append(p.Tools.Exclude, todos)
		p.Tools.excludedFrom[todos] = toolrules.Place{Source: o.Source, Line: o.Line, Rule: "useWriteTodos"}
	}
}

// restrict adds the restrictions of the settings.
func (p *Policy) restrict(s settings.Security) {
	p.NoYolo = p.NoYolo || s.DisableYoloMode
	p.NoAlwaysAllow = p.NoAlwaysAllow || s.DisableAlwaysAllow
	p.NoSaving = p.NoSaving || !s.EnablePermanentToolApproval
}

// places returns the positions of the entries of a list, flags excluded.
func places(r *settings.Result, key string) map[string]toolrules.Place {
	all := map[string]toolrules.Place{}
	for _, e := range r.Entries(key) {
		if e.Origin.Layer != settings.LayerFlags {
			all[e.Text] = toolrules.Place{Source: e.Origin.Source, Line: e.Origin.Line}
		}
	}
	return all
}

func (p *Parameters) fillFileFiltering(s settings.FileFiltering) {
	f := &p.Tools.FileFiltering
	f.NoGitIgnore = f.NoGitIgnore || !s.RespectGitIgnore
	f.NoOwnIgnore = f.NoOwnIgnore || !s.RespectFettleIgnore
	if f.CustomFiles == nil {
		f.CustomFiles = s.CustomIgnoreFilePaths
	}
	f.MaxFiles = cmp.Or(f.MaxFiles, s.MaxFileCount)
}

func (p *Parameters) fillConversation(s settings.Settings) {
	c := &p.Conversation
	c.Limits.SessionTurns = cmp.Or(c.Limits.SessionTurns, s.Model.MaxSessionTurns)
	c.Limits.Tokens = cmp.Or(c.Limits.Tokens, s.Model.TokenLimit)
	if c.Limits.CompactAt == 0 {
		if c.Limits.CompactAt = s.Model.CompressionThreshold; c.Limits.CompactAt == 0 {
			c.Limits.CompactAt = math.SmallestNonzeroFloat64 // before each request; 0 would be the default
		}
	}
	c.NoLoopDetection = c.NoLoopDetection || s.Model.DisableLoopDetection
	c.Retry.Attempts = cmp.Or(c.Retry.Attempts, s.General.MaxAttempts)
	c.Retry.OnlyStatus = c.Retry.OnlyStatus || !s.General.RetryFetchErrors
}

func (p *Parameters) fillInstructions(s settings.Context) {
	i := &p.Instructions
	if i.Names == nil {
		i.Names = s.FileName
	}
	if i.Imports == "" && s.ImportFormat == "flat" {
		i.Imports = instructions.ImportFlat
	}
	if i.Boundary == nil {
		i.Boundary = s.MemoryBoundaryMarkers
	}
}

// fillCommands applies the settings of the shell tool. Its commands also inherit
// the variables of .env files, except for the withheld ones.
func (p *Parameters) fillCommands(u *apply.Validated, r *settings.Result) {
	s, security, c := u.Tools, u.Security, &p.Tools.Shell
	c.Idle, c.Total = cmp.Or(c.Idle, s.Shell.Idle()), cmp.Or(c.Total, s.Shell.Total())
	c.Terminal = c.Terminal || s.Shell.EnableInteractiveShell && process.TerminalsExist
	if c.networked = u.Networked; c.Confinement.Kind == process.Unconfined {
		c.Confinement, c.auto, c.byDefault = u.Confinement, u.Auto, u.ByDefault
	}
	c.autoNotice = u.AutoNotice
	if c.Environ != nil || len(r.Env) == 0 && !security.EnvironmentVariableRedaction.Enabled {
		return
	}
	var added []string
	outside := p.reachesOutside()
	for _, name := range slices.Sorted(maps.Keys(r.Env)) {
		if !outside || !r.OfProject(name) {
			added = append(added, name+"="+r.Env[name])
		}
	}
	c.Environ = func() []string {
		return apply.Redacted(append(os.Environ(), added...), security.EnvironmentVariableRedaction)
	}
}

// reachesOutside reports whether the environment of commands reaches a program
// that runs without confinement although commands are confined.
func (p *Parameters) reachesOutside() bool {
	switch {
	case !p.Tools.Shell.confines():
		return false
	case p.Tools.Shell.Confinement.Kind == process.Container:
		return true
	}
	return p.Tools.DiscoveryCommand != ""
}
