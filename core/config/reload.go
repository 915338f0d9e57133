package config

import (
	"context"
	"log/slog"
	"reflect"
	"slices"
	"sync"

	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/services/webfetch"
)

// liveSettings are the settings in force in a Config and those derived from it.
type liveSettings struct {
	reloading sync.Mutex // held by who loads them again
	options   settings.Options
	usable    *usable // as found at Initialize

	mu     sync.Mutex
	result *settings.Result // its problems are those of the last load
}

func (l *liveSettings) current() *settings.Result {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.result
}

// liveKey is a key whose value may change while a session runs. What protects
// may only become stricter then: a file can be written by a command that runs,
// a new session is begun by a person.
type liveKey struct {
	path    string
	given   func(p *Parameters) bool              // whether the Parameters decide and no file
	permits func(old, now settings.Settings) bool // nil: any change
}

// liveKeys lists them. All other keys wait for the next session.
func liveKeys() []liveKey {
	filtering := func(p *Parameters) bool { return false } // by field, see fill
	return []liveKey{
		{keyMode, func(p *Parameters) bool { return p.ApprovalMode != "" }, func(old, now settings.Settings) bool {
			return stricter(modeOf(now), modeOf(old))
		}},
		{keyHatch, func(p *Parameters) bool { return p.FileReadCacheDisabled != nil }, func(_, now settings.Settings) bool {
			return !now.Tools.FileReadCacheDisabled
		}},
		{"tools.exclude", func(p *Parameters) bool { return p.ExcludeTools != nil }, func(old, now settings.Settings) bool {
			return within(old.Tools.Exclude, now.Tools.Exclude)
		}},
		{"web.allowPrivateAddresses", func(p *Parameters) bool { return p.WebFetch.AllowPrivate }, func(_, now settings.Settings) bool {
			return !now.Web.AllowPrivateAddresses
		}},
		{"web.allowedHosts", func(p *Parameters) bool { return p.WebFetch.Allow != nil }, func(old, now settings.Settings) bool {
			return within(now.Web.AllowedHosts, old.Web.AllowedHosts)
		}},
		{"context.fileFiltering.respectGitIgnore", filtering, nil},
		{"context.fileFiltering.respectFettleIgnore", filtering, nil},
		{"context.fileFiltering.customIgnoreFilePaths", filtering, nil},
		{"context.fileFiltering.maxFileCount", filtering, nil},
	}
}

// modeOf is the approval mode of settings; one that is none is the strictest.
func modeOf(s settings.Settings) policy.ApprovalMode {
	mode, err := policy.ParseApprovalMode(s.General.DefaultApprovalMode)
	if err != nil {
		return policy.ModePlan
	}
	return mode
}

// within reports whether all of list are in others too.
func within(list, others []string) bool {
	return !slices.ContainsFunc(list, func(entry string) bool { return !slices.Contains(others, entry) })
}

// ReloadSettings reads the settings again, as a change of a file does where
// [Parameters.WatchSettings] is set, and puts in force what may change in a
// session: settings that do not protect, and of those that do stricter ones;
// docs/configuration.md lists them. Each is announced as bus.ConfigChanged.
// All else that has changed is one of [Config.SettingsProblems] and takes
// effect in the next session. A file that cannot be read changes nothing, and a
// value that cannot be used leaves its key as it was. Derived Configs follow.
//
// Without Parameters.Settings it does nothing. In a derived Config it is the
// reload of the one that all are derived from. The error is of code
// not_initialized or cancelled, or invalid_config where the file of
// settings.Options.File cannot be read; nothing has changed then.
func (c *Config) ReloadSettings(ctx context.Context) error {
	for c.parent != nil {
		if err := c.checkPhase("ReloadSettings", c.currentPhase()); err != nil {
			return err
		}
		c = c.parent
	}
	c.mu.Lock()
	err := c.checkPhase("ReloadSettings", c.phase)
	sh := c.shared
	c.mu.Unlock()
	if err != nil || sh.settings == nil {
		return err
	}
	l := sh.settings
	l.reloading.Lock()
	defer l.reloading.Unlock()
	newer, err := settings.Load(ctx, l.options)
	if err != nil {
		return err
	}
	for _, problem := range newer.Problems {
		c.given.Logger.Warn("settings", slog.String("problem", problem.String()))
	}
	if slices.ContainsFunc(newer.Problems, unreadable) {
		l.keep(l.result, append(newer.Problems, l.usable.lasting...))
		return nil
	}
	changed, later := differences(&c.given, l.result, newer)
	now := l.result.With(newer, changed...)
	params := c.given
	params.Trust, params.WebSearch = c.params().Trust, c.params().WebSearch
	usable := l.usable.again(&c.given, now)
	if err := params.fill(usable, now); err != nil {
		return err
	}
	if err := c.enforce(sh, &params); err != nil {
		return err
	}
	l.keep(now, slices.Concat(now.Problems, usable.dropped, usable.lasting, later))
	c.announceAll(sh, now, changed)
	return nil
}

// keep has a result with problems in the place of its own.
func (l *liveSettings) keep(r *settings.Result, problems []settings.Problem) {
	kept := *r
	kept.Problems = problems
	l.mu.Lock()
	defer l.mu.Unlock()
	l.result = &kept
}

// unreadable reports whether a whole file is not in force.
func unreadable(p settings.Problem) bool {
	return p.Kind == settings.KindSyntax || p.Kind == settings.KindFileRead
}

// differences lists the keys whose new value comes into force, and a problem
// for each of the others that has changed.
func differences(given *Parameters, old, newer *settings.Result) (changed []string, later []settings.Problem) {
	live := map[string]liveKey{}
	for _, k := range liveKeys() {
		live[k.path] = k
	}
	wrong := map[string]bool{}
	for _, p := range newer.Problems {
		wrong[p.Key] = wrong[p.Key] || p.Severity == settings.Error
	}
	for _, k := range settings.Keys() {
		if wrong[k.Path] || reflect.DeepEqual(old.Value(k.Path), newer.Value(k.Path)) {
			continue
		}
		l, isLive := live[k.Path]
		switch {
		case isLive && l.given(given), k.Unused: // it says nothing here
		case isLive && (l.permits == nil || l.permits(old.Settings, newer.Settings)):
			changed = append(changed, k.Path)
		default:
			later = append(later, nextSession(k.Path, isLive, newer))
		}
	}
	return changed, later
}

func nextSession(key string, isLive bool, newer *settings.Result) settings.Problem {
	p := settings.Problem{Layer: settings.LayerDefault, Source: "the settings", Key: key, Kind: settings.KindLater, Severity: settings.Notice,
		Message: "The value has changed; it takes effect in the next session."}
	if isLive {
		p.Message = "The value has changed; as it is less strict, it takes effect in the next session."
	}
	for _, o := range newer.Origins(key) {
		if o.Refused == "" && o.Source != "" {
			p.Layer, p.Source, p.Line, p.Column = o.Layer, o.Source, o.Line, o.Column
			break
		}
	}
	return p
}

// enforce makes the services of all derived Configs follow new parameters.
func (c *Config) enforce(sh *shared, p *Parameters) error {
	before := c.params()
	if !slices.Equal(p.WebFetch.Allow, before.WebFetch.Allow) || p.WebFetch.AllowPrivate != before.WebFetch.AllowPrivate {
		pages, err := webfetch.New(p.WebFetch)
		if err != nil {
			return err
		}
		sh.web.replace(pages)
	}
	added := slices.DeleteFunc(slices.Clone(p.ExcludeTools), func(name string) bool { return slices.Contains(before.ExcludeTools, name) })
	if err := sh.rules.Add(exclusions(added, p.ExcludedFrom)...); err != nil {
		return err
	}
	sh.finder.now.Store(sh.finder.now.Load().With(p.FileFiltering.options(p.Layout.IgnoreFile)))
	c.filled.Store(p)
	return nil
}

// announceAll turns the knobs of keys that have changed, and announces all.
func (c *Config) announceAll(sh *shared, now *settings.Result, changed []string) {
	for _, key := range changed {
		origin := string(settings.LayerDefault)
		if o := now.Origins(key); len(o) > 0 && o[0].Source != "" {
			origin = o[0].Source
		}
		switch key {
		case keyMode:
			c.lowerMode(modeOf(now.Settings), origin)
		case keyHatch:
			c.turnHatch(now.Settings.Tools.FileReadCacheDisabled, origin)
		default:
			c.mu.Lock()
			c.announce(key, now.Value(key), origin)
			c.mu.Unlock()
		}
	}
}

// lowerMode puts a mode in force wherever a less strict one is.
func (c *Config) lowerMode(mode policy.ApprovalMode, origin string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.heedCeiling()
	before := c.mode
	c.family.lower(mode)
	c.heedCeiling()
	if c.mode != before {
		c.announce(keyMode, c.mode, origin)
	}
}

// Settings returns the values in force of all layers (CF-01), which are the
// defaults without [Parameters.Settings]. A field of the Parameters that was
// given goes before them. Lists and maps in it are shared and not to be
// changed. The error is of code not_initialized, as that of the next two.
func (c *Config) Settings() (settings.Settings, error) {
	r, err := c.settingsResult("Settings")
	if err != nil {
		return settings.Settings{}, err
	}
	return r.Settings, nil
}

// SettingsProblems returns what was wrong in the settings when they were last
// read, each with its place, and what has changed since Initialize and takes
// effect in the next session.
func (c *Config) SettingsProblems() ([]settings.Problem, error) {
	r, err := c.settingsResult("SettingsProblems")
	if err != nil {
		return nil, err
	}
	return slices.Clone(r.Problems), nil
}

// SettingOrigins lists what the layers say of a key, the strongest first; see
// [settings.Result.Origins].
func (c *Config) SettingOrigins(key string) ([]settings.Origin, error) {
	r, err := c.settingsResult("SettingOrigins")
	if err != nil {
		return nil, err
	}
	return r.Origins(key), nil
}

func (c *Config) settingsResult(what string) (*settings.Result, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.checkPhase(what, c.phase); err != nil {
		return nil, err
	}
	if c.shared.settings == nil {
		return &settings.Result{Settings: settings.Defaults()}, nil
	}
	return c.shared.settings.current(), nil
}
