package apply

import (
	"reflect"
	"slices"

	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/policy"
)

// liveKey is a key whose value may change during a session. A protecting key may
// only become stricter: a running command can write a file, while only the user
// begins a new session.
type liveKey struct {
	path    string
	permits func(old, now settings.Settings) bool // nil: any change
}

// liveKeys returns these keys. All other keys take effect in the next session.
func liveKeys() []liveKey {
	return []liveKey{
		{KeyMode, func(old, now settings.Settings) bool { return ModeOf(now).Stricter(ModeOf(old)) }},
		{KeyKillSwitch, func(_, now settings.Settings) bool { return !now.Tools.FileReadCacheDisabled }},
		{"tools.exclude", func(old, now settings.Settings) bool { return within(old.Tools.Exclude, now.Tools.Exclude) }},
		{"skills.disabled", func(old, now settings.Settings) bool { return within(old.Skills.Disabled, now.Skills.Disabled) }},
		{"web.allowPrivateAddresses", func(_, now settings.Settings) bool { return !now.Web.AllowPrivateAddresses }},
		{"web.allowedHosts", func(old, now settings.Settings) bool { return within(now.Web.AllowedHosts, old.Web.AllowedHosts) }},
		{"web.proxyDecides", func(_, now settings.Settings) bool { return !now.Web.ProxyDecides }},
		{"context.fileFiltering.respectGitIgnore", nil},
		{"context.fileFiltering.respectFettleIgnore", nil},
		{"context.fileFiltering.customIgnoreFilePaths", nil},
		{"context.fileFiltering.maxFileCount", nil},
	}
}

// LiveKeys returns the keys whose value may change during a session.
func LiveKeys() []string {
	var paths []string
	for _, k := range liveKeys() {
		paths = append(paths, k.path)
	}
	return paths
}

// ModeOf returns the approval mode of settings; an invalid one counts as the
// strictest.
func ModeOf(s settings.Settings) policy.ApprovalMode {
	mode, err := policy.ParseApprovalMode(s.General.DefaultApprovalMode)
	if err != nil {
		return policy.ModePlan
	}
	return mode
}

// within reports whether all entries of list are in others.
func within(list, others []string) bool {
	return !slices.ContainsFunc(list, func(entry string) bool { return !slices.Contains(others, entry) })
}

// Differences returns the keys whose new value takes effect, and a problem for
// each other key that has changed.
func Differences(given Input, old, newer *settings.Result) (changed []string, later []fault.Problem) {
	live := map[string]liveKey{}
	for _, k := range liveKeys() {
		live[k.path] = k
	}
	for _, k := range settings.Keys() {
		if reflect.DeepEqual(old.Value(k.Path), newer.Value(k.Path)) || spoilt(k.Path, old, newer) {
			continue
		}
		l, isLive := live[k.Path]
		switch {
		case isLive && given.Decides(k.Path), k.Unused: // it has no effect here
		case isLive && (l.permits == nil || l.permits(old.Settings, newer.Settings)):
			changed = append(changed, k.Path)
		default:
			later = append(later, nextSession(k.Path, isLive, newer))
		}
	}
	return changed, later
}

// spoilt reports whether a source that set a key now sets an invalid value, so
// that no source has requested the new value.
func spoilt(key string, old, newer *settings.Result) bool {
	wrong := newer.WrongIn(key)
	return slices.ContainsFunc(old.Origins(key), func(o settings.Origin) bool {
		return o.Refused == "" && slices.Contains(wrong, o.Source)
	})
}

func nextSession(key string, isLive bool, newer *settings.Result) fault.Problem {
	p := fault.Problem{Layer: settings.LayerDefault, Path: "the settings", Key: key, Kind: settings.KindLater, Severity: settings.Notice,
		Message: "The value has changed; it takes effect in the next session."}
	if isLive {
		p.Message = "The value has changed; because it is less strict, it takes effect in the next session."
	}
	if o := newer.OriginOf(key); o.Source != "" {
		p.Layer, p.Path, p.Line, p.Column = o.Layer, o.Source, o.Line, o.Column
	}
	return p
}

// Unreadable reports whether a problem concerns a whole file that is not applied.
func Unreadable(p fault.Problem) bool {
	return p.Kind == settings.KindSyntax || p.Kind == settings.KindFileRead
}
