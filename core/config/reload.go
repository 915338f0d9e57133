package config

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/config/internal/apply"
	"github.com/fettle-dev/fettle/core/config/internal/toolrules"
	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/webfetch"
)

// liveSettings are the current settings of a Config and those derived from it.
type liveSettings struct {
	reloading sync.Mutex // held during a reload
	options   settings.Options
	usable    *apply.Validated // as read at Initialize

	mu     sync.Mutex
	result *settings.Result // with the problems of the last reload
}

func (l *liveSettings) current() *settings.Result {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.result
}

// Reload reads the settings again, as a file change does if
// [Session.WatchSettings] is set, and applies the changes that a running
// session permits: settings that do not protect, and stricter values of those
// that do; docs/configuration.md lists them. Each change is announced as
// bus.ConfigChanged. Other changes are reported by [SettingsService.Problems] and
// take effect in the next session. An unreadable file changes nothing, and an
// invalid value leaves its key unchanged. A change of the problems is announced
// too, with an empty Key, and new problems are logged. Derived Configs follow.
//
// Without Parameters.Settings it does nothing. In a derived Config it reloads the
// root Config. The error has code not_initialized or cancelled, or invalid_config
// if the file of settings.Options.File cannot be read; the file is among the
// problems then, and nothing has changed.
func (x SettingsService) Reload(ctx context.Context) error {
	c := x.c

	for c.parent != nil {
		if err := c.checkPhase("Settings.Reload", c.currentPhase()); err != nil {
			return err
		}
		c = c.parent
	}
	sh, err := c.services("Settings.Reload")
	if err != nil || sh.settings == nil {
		return err
	}
	l := sh.settings
	l.reloading.Lock()
	defer l.reloading.Unlock()
	newer, err := settings.Load(ctx, l.options)
	switch {
	case fault.CodeOf(err) == fault.InvalidConfig:
		c.keep(l, l.result, append([]fault.Problem{notLoaded(l.options, err)}, l.usable.Lasting...))
		return err
	case err != nil:
		return err
	case slices.ContainsFunc(newer.Problems, apply.Unreadable):
		c.keep(l, l.result, slices.Concat(newer.Problems, l.usable.Lasting))
		return nil
	}
	given := c.given.before()
	changed, later := apply.Differences(given, l.result, newer)
	now := l.result.With(newer, changed...)
	params := c.given.parameters()
	params.Policy.Trust, params.Tools.WebSearch, params.Conversation.Models = c.params().Policy.Trust, c.params().Tools.WebSearch, c.params().Conversation.Models
	usable := l.usable.Again(given, now)
	if err := params.fill(usable, now); err != nil {
		return err
	}
	if err := c.enforce(sh, params.store()); err != nil {
		return err
	}
	c.keep(l, now, slices.Concat(now.Problems, usable.Dropped, usable.Lasting, later))
	c.announceAll(now, changed)
	return nil
}

// keep replaces the problems of the current result. The caller holds l.reloading.
// New problems are logged, and a change of the problems is announced.
func (c *Config) keep(l *liveSettings, r *settings.Result, problems []fault.Problem) {
	before := l.result.Problems
	kept := *r
	kept.Problems = problems
	l.mu.Lock()
	l.result = &kept
	l.mu.Unlock()
	for _, p := range problems {
		if !slices.Contains(before, p) {
			c.given.Environment.Logger.Warn("settings", slog.String("problem", p.String()))
		}
	}
	if !slices.Equal(before, problems) {
		c.mu.Lock()
		defer c.mu.Unlock()
		_ = c.bus.Publish(bus.ConfigChanged{SessionID: c.sessionID}) // a closed bus has no subscribers
	}
}

// notLoaded returns the problem of a required file that cannot be read.
func notLoaded(o settings.Options, err error) fault.Problem {
	f := fault.As(err)
	return fault.Problem{Path: o.File, Layer: settings.LayerFile, Kind: settings.KindFileRead, Severity: settings.Error,
		Message: f.Message + " All settings are unchanged.", Remedy: f.Remedy}
}

// enforce applies new parameters to the services of all derived Configs.
func (c *Config) enforce(sh *shared, p *stored) error {
	before := c.params()
	if !slices.Equal(p.Tools.WebFetch.Allow, before.Tools.WebFetch.Allow) || p.Tools.WebFetch.AllowPrivate != before.Tools.WebFetch.AllowPrivate ||
		p.Tools.WebFetch.ProxyDecides != before.Tools.WebFetch.ProxyDecides {
		if err := webfetch.Check(p.Tools.WebFetch); err != nil {
			return err
		}
		sh.web.replace(&p.Tools.WebFetch)
	}
	added := slices.DeleteFunc(slices.Clone(p.Tools.Exclude), func(name string) bool { return slices.Contains(before.Tools.Exclude, name) })
	if err := sh.rules.Add(toolrules.Exclusions(added, placesIn(p.Tools.excludedFrom, "--exclude-tools"))...); err != nil {
		return err
	}
	c.family.exclude(added)
	for _, name := range p.Skills.Off {
		if !slices.Contains(before.Skills.Off, name) {
			sh.skills.SetEnabled(name, false)
		}
	}
	c.filled.Store(p)
	c.filter(sh)
	sh.forked.each(func(c *Config, sh *shared) { c.filter(sh) })
	return nil
}

// announceAll applies and announces the keys that have changed.
func (c *Config) announceAll(now *settings.Result, changed []string) {
	for _, key := range changed {
		origin := cmp.Or(now.OriginOf(key).Source, string(settings.LayerDefault))
		switch key {
		case keyMode:
			c.lowerMode(apply.ModeOf(now.Settings), origin)
		case keyKillSwitch:
			c.setKillSwitch(now.Settings.Tools.FileReadCacheDisabled, origin)
		default:
			c.mu.Lock()
			c.announce(key, now.Value(key), origin)
			c.mu.Unlock()
		}
	}
}

// watch begins to watch the settings files. A failure becomes a problem of the
// settings.
func (c *Config) watch(ctx context.Context, l *liveSettings) {
	var files []string
	for _, f := range settings.Files(l.options) {
		files = append(files, f.Path)
	}
	if err := c.watching.Begin(ctx, files, c.reload); err != nil {
		problem := fault.Problem{Path: "the settings", Layer: settings.LayerDefault, Kind: settings.KindLater, Severity: settings.Notice,
			Message: fmt.Sprintf("The settings files cannot be watched (%v); changes take effect in the next session.", err)}
		l.reloading.Lock()
		defer l.reloading.Unlock()
		l.usable.Lasting = append(l.usable.Lasting, problem)
		c.keep(l, l.result, slices.Concat(l.result.Problems, []fault.Problem{problem}))
	}
}

// reload handles a file change. An error leaves everything unchanged.
func (c *Config) reload(ctx context.Context) {
	if err := c.Settings().Reload(ctx); err != nil && ctx.Err() == nil {
		c.given.Environment.Logger.Debug("settings", slog.Any("error", err)) // a mistake in a file is one of the problems by now
	}
	if c.given.Calls.reload != nil {
		c.given.Calls.reload()
	}
}
