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

// liveSettings are the settings in force in a Config and those derived from it.
type liveSettings struct {
	reloading sync.Mutex // held by who loads them again
	options   settings.Options
	usable    *apply.Usable // as found at Initialize

	mu     sync.Mutex
	result *settings.Result // its problems are those of the last load
}

func (l *liveSettings) current() *settings.Result {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.result
}

// ReloadSettings reads the settings again, as a change of a file does where
// [Parameters.WatchSettings] is set, and puts in force what may change in a
// session: settings that do not protect, and of those that do stricter ones;
// docs/configuration.md lists them. Each is announced as bus.ConfigChanged.
// All else that has changed is one of [Config.SettingsProblems] and takes
// effect in the next session. A file that cannot be read changes nothing, and a
// value that cannot be used leaves its key as it was. That these problems are
// others than before is announced too, with an empty Key, and those that are new
// are logged. Derived Configs follow.
//
// Without Parameters.Settings it does nothing. In a derived Config it is the
// reload of the one that all are derived from. The error is of code
// not_initialized or cancelled, or invalid_config where the file of
// settings.Options.File cannot be read; that is one of the problems then, and
// nothing else has changed.
func (c *Config) ReloadSettings(ctx context.Context) error {
	for c.parent != nil {
		if err := c.checkPhase("ReloadSettings", c.currentPhase()); err != nil {
			return err
		}
		c = c.parent
	}
	sh, err := c.services("ReloadSettings")
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
	params := *c.given
	params.Trust, params.WebSearch, params.Models = c.params().Trust, c.params().WebSearch, c.params().Models
	usable := l.usable.Again(given, now)
	if err := params.fill(usable, now); err != nil {
		return err
	}
	if err := c.enforce(sh, &params); err != nil {
		return err
	}
	c.keep(l, now, slices.Concat(now.Problems, usable.Dropped, usable.Lasting, later))
	c.announceAll(now, changed)
	return nil
}

// keep has a result with problems in the place of its own; l.reloading is held.
// Problems that were not there before are logged, and that they are others is
// announced.
func (c *Config) keep(l *liveSettings, r *settings.Result, problems []fault.Problem) {
	before := l.result.Problems
	kept := *r
	kept.Problems = problems
	l.mu.Lock()
	l.result = &kept
	l.mu.Unlock()
	for _, p := range problems {
		if !slices.Contains(before, p) {
			c.given.Logger.Warn("settings", slog.String("problem", p.String()))
		}
	}
	if !slices.Equal(before, problems) {
		c.mu.Lock()
		defer c.mu.Unlock()
		_ = c.bus.Publish(bus.ConfigChanged{SessionID: c.sessionID}) // a closed bus has nobody to tell
	}
}

// notLoaded is the problem of the file that settings cannot do without.
func notLoaded(o settings.Options, err error) fault.Problem {
	f := fault.As(err)
	return fault.Problem{Path: o.File, Layer: settings.LayerFile, Kind: settings.KindFileRead, Severity: settings.Error,
		Message: f.Message + " All settings stay as they were.", Remedy: f.Remedy}
}

// enforce makes the services of all derived Configs follow new parameters.
func (c *Config) enforce(sh *shared, p *Parameters) error {
	before := c.params()
	if !slices.Equal(p.WebFetch.Allow, before.WebFetch.Allow) || p.WebFetch.AllowPrivate != before.WebFetch.AllowPrivate ||
		p.WebFetch.ProxyDecides != before.WebFetch.ProxyDecides {
		if err := webfetch.Check(p.WebFetch); err != nil {
			return err
		}
		sh.web.replace(&p.WebFetch)
	}
	added := slices.DeleteFunc(slices.Clone(p.ExcludeTools), func(name string) bool { return slices.Contains(before.ExcludeTools, name) })
	if err := sh.rules.Add(toolrules.Exclusions(added, placesIn(p.ExcludedFrom, "--exclude-tools"))...); err != nil {
		return err
	}
	c.family.exclude(added)
	for _, name := range p.Skills.Off {
		if !slices.Contains(before.Skills.Off, name) {
			sh.skills.SetEnabled(name, false)
		}
	}
	sh.finder.now.Store(sh.finder.now.Load().With(p.FileFiltering.options(p.Layout.IgnoreFile)))
	c.filled.Store(p)
	return nil
}

// announceAll turns the knobs of keys that have changed, and announces all.
func (c *Config) announceAll(now *settings.Result, changed []string) {
	for _, key := range changed {
		origin := cmp.Or(now.OriginOf(key).Source, string(settings.LayerDefault))
		switch key {
		case keyMode:
			c.lowerMode(apply.ModeOf(now.Settings), origin)
		case keyHatch:
			c.turnHatch(now.Settings.Tools.FileReadCacheDisabled, origin)
		default:
			c.mu.Lock()
			c.announce(key, now.Value(key), origin)
			c.mu.Unlock()
		}
	}
}

// watch begins to watch the settings files. Where that cannot be done, it is a
// problem of the settings.
func (c *Config) watch(ctx context.Context, l *liveSettings) {
	var files []string
	for _, f := range settings.Files(l.options) {
		files = append(files, f.Path)
	}
	if err := c.watching.Begin(ctx, files, c.reload); err != nil {
		problem := fault.Problem{Path: "the settings", Layer: settings.LayerDefault, Kind: settings.KindLater, Severity: settings.Notice,
			Message: fmt.Sprintf("The settings files cannot be watched (%v); what changes in them takes effect in the next session.", err)}
		l.reloading.Lock()
		defer l.reloading.Unlock()
		l.usable.Lasting = append(l.usable.Lasting, problem)
		c.keep(l, l.result, slices.Concat(l.result.Problems, []fault.Problem{problem}))
	}
}

// reload is what a change does. What goes wrong leaves all as it is.
func (c *Config) reload(ctx context.Context) {
	if err := c.ReloadSettings(ctx); err != nil && ctx.Err() == nil {
		c.given.Logger.Debug("settings", slog.Any("error", err)) // a file's mistake is one of the problems by now
	}
	if c.given.Seams.Reload != nil {
		c.given.Seams.Reload()
	}
}
