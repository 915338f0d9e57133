package hookrun

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/hooks"
	"github.com/fettle-dev/fettle/core/internal/position"
	"github.com/fettle-dev/fettle/core/policy/shell"
)

// Origin is the origin of a definition of hooks.
type Origin struct {
	Source    hooks.Source
	Path      string // of the file
	Extension string // "" if it has none
	// Variables replace ${NAME} in commands and in values of variables, as workspacePath
	// and extensionPath. A value is never parsed as part of a command: where bash would
	// do so, the command receives the variable NAME in its environment instead. The
	// shell expands all other names.
	Variables map[string]string
	// Env are additional variables of the commands' environment. Those of a hook itself
	// take precedence.
	Env map[string]string
	// Tools are the known names of tools, for hints about matchers that match none of them.
	Tools []string
	// Claude: the definition was written for Claude Code.
	Claude bool
}

// ParseTOML reads hooks from TOML: [hooks.EVENT] is a group of hooks, and
// [[hooks.EVENT]] one of several. It does no I/O and never fails: an invalid hook is a
// problem and affects no other hook.
func ParseTOML(data []byte, o Origin) ([]hooks.Hook, []fault.Problem) {
	return parse(data, o, "TOML", readTOML)
}

// ParseJSON reads hooks from JSON, {"hooks": {"EVENT": [group, …]}}, with comments.
// Otherwise it is like [ParseTOML].
func ParseJSON(data []byte, o Origin) ([]hooks.Hook, []fault.Problem) {
	return parse(data, o, "JSON", readJSON)
}

func parse(data []byte, o Origin, format string, read func([]byte) (position.Node, error)) ([]hooks.Hook, []fault.Problem) {
	r := &reader{Origin: o}
	if len(data) > maxBytes {
		r.tell(0, "The file has more than %d bytes; none of its hooks runs.", maxBytes)
		return nil, r.problems
	}
	root, err := read(data)
	if err != nil {
		e := position.As(err)
		r.tell(e.Line, "The file is not valid %s (%s); none of its hooks runs.", format, oneLine(e.Message))
		return nil, r.problems
	}
	top, ok := root.Value.(*position.Table)
	if !ok {
		r.tell(root.Line, "The file is %s, and not a table with the key hooks; none of its hooks runs.", kind(root))
		return nil, r.problems
	}
	r.unknown(top, []string{"hooks", "description", "$schema"})
	if given := top.Find("hooks"); given != nil {
		r.events(given.Node)
	}
	return r.hooks, r.problems
}

// maxProblems bounds the problems reported for a file.
const maxProblems = 100

// reader collects the hooks of a definition.
type reader struct {
	Origin
	hooks    []hooks.Hook
	problems []fault.Problem
}

// foreignKeys are keys of hooks of other programs that change nothing here.
var foreignKeys = []string{"async", "statusMessage", "once"}

func (r *reader) tell(line int, message string, args ...any) { r.note("", line, message, args...) }

func (r *reader) note(s fault.Severity, line int, message string, args ...any) {
	switch {
	case len(r.problems) < maxProblems:
		r.problems = append(r.problems, fault.Problem{Path: r.Path, Line: line, Message: fmt.Sprintf(message, args...), Severity: s})
	case len(r.problems) == maxProblems:
		r.problems = append(r.problems, fault.Problem{Path: r.Path, Message: "There are more problems than are reported here."})
	}
}

// unknown reports unknown keys.
func (r *reader) unknown(t *position.Table, known []string) {
	for _, name := range t.Keys() {
		if !slices.Contains(known, name) {
			severity, meant := fault.SeverityWarning, perhaps(name, known)
			switch {
			case slices.Contains(foreignKeys, name):
				severity = fault.SeverityNotice
			case meant != "":
				severity = "" // the known key is missing
			}
			r.note(severity, t.Find(name).Node.Line, "The key %.80q is unknown; it has no effect.%s", name, meant)
		}
	}
}

// settingsKeys are next to the events in old settings.
var settingsKeys = []string{"enabled", "disabled", "notifications"}

// events reads the groups of each event.
func (r *reader) events(n position.Node) {
	given, ok := n.Value.(*position.Table)
	if !ok {
		r.tell(n.Line, "hooks is %s, and not a table of events; none of them runs.", kind(n))
		return
	}
	if r.Claude {
		r.claudeGroups(given)
		return
	}
	names := make([]string, 0, len(hooks.Events()))
	for _, e := range hooks.Events() {
		names = append(names, string(e))
	}
	for _, name := range given.Keys() {
		if slices.Contains(settingsKeys, name) {
			continue
		}
		if _, ok := claudeEvents[name]; ok && r.Extension != "" && !known(hooks.Event(name)) {
			only := &position.Table{}
			only.Add(given.Find(name))
			r.claudeGroups(only)
			continue
		}
		if !known(hooks.Event(name)) {
			r.tell(given.Find(name).Node.Line, "The event %.80q is unknown; its hooks do not run.%s", name, perhaps(name, names))
			continue
		}
		r.groups(hooks.Event(name), given.Find(name).Node)
	}
}

// groups reads one group, or a list of them.
func (r *reader) groups(e hooks.Event, n position.Node) {
	switch v := n.Value.(type) {
	case *position.Table:
		r.group(e, n)
	case []position.Node:
		for _, item := range v {
			r.group(e, item)
		}
	default:
		r.tell(n.Line, "%s is %s, and not a group of hooks or a list of groups; it is ignored.", e, kind(n))
	}
}

func (r *reader) group(e hooks.Event, n position.Node) {
	g, ok := n.Value.(*position.Table)
	if !ok {
		r.tell(n.Line, "A group of %s is %s, and not a table; it is ignored.", e, kind(n))
		return
	}
	r.unknown(g, []string{"matcher", "sequential", "hooks", "description"})
	matcher, ok := r.text(g, "matcher")
	if !ok {
		r.tell(n.Line, "The group is ignored, because its matcher is invalid.")
		return
	}
	sequential, _ := r.truth(g, "sequential")
	at := n.Line
	if m := g.Find("matcher"); m != nil {
		at = m.Node.Line
	}
	list := g.Find("hooks")
	if list == nil || kind(list.Node) != "a list" {
		r.tell(n.Line, "A group of %s has no list hooks; it is ignored.", e)
		return
	}
	if _, err := newMatcher(e, matcher); err != nil {
		r.tell(at, "The matcher %.120q is not a valid regular expression (%s); it is compared literally.", matcher, oneLine(err.Error()))
	}
	if matchesText(e) && !Matches(&hooks.Hook{Event: e, Matcher: matcher}) {
		r.tell(at, "The matcher %.120q of %s matches none of %s; its hooks never run.%s",
			matcher, e, strings.Join(triggers(e), ", "), perhaps(matcher, triggers(e)))
	}
	r.unmatched(e, matcher, at)
	for _, item := range list.List() {
		if h, ok := r.hook(item); ok {
			h.Event, h.Matcher, h.Sequential = e, matcher, sequential
			r.hooks = append(r.hooks, h)
		}
	}
}

// maxTimeout is the maximum time limit.
const maxTimeout = 24 * time.Hour

// hook reads one hook; false if it is invalid.
func (r *reader) hook(n position.Node) (hooks.Hook, bool) {
	t, ok := n.Value.(*position.Table)
	if !ok {
		r.tell(n.Line, "A hook is %s, and not a table; it is ignored.", kind(n))
		return hooks.Hook{}, false
	}
	r.unknown(t, []string{"type", "command", "name", "description", "timeout", "env", "sandbox"})
	h := hooks.Hook{Source: r.Source, Path: r.Path, Line: n.Line, Extension: r.Extension}
	kind, ok := r.text(t, "type")
	if !ok {
		return hooks.Hook{}, r.drop(n)
	}
	if kind != "" && kind != "command" {
		r.tell(t.Find("type").Node.Line, "A hook in a file is of type command, and not %.80q; it is ignored.", kind)
		return hooks.Hook{}, false
	}
	command, ok := r.text(t, "command")
	if !ok {
		return hooks.Hook{}, r.drop(n)
	}
	if strings.TrimSpace(command) == "" {
		r.tell(n.Line, "A hook has no command; it is ignored.")
		return hooks.Hook{}, false
	}
	h.Command, h.Env = r.command(t, command)
	if h.Name, ok = r.text(t, "name"); !ok {
		h.Name = ""
	}
	h.Description, _ = r.text(t, "description")
	h.Timeout = r.timeout(t)
	if h.Sandbox, ok = r.sandbox(t); !ok {
		return hooks.Hook{}, r.drop(n)
	}
	return h, true
}

// command returns the command of a hook with its variables, and its environment.
func (r *reader) command(t *position.Table, command string) (line string, env map[string]string) {
	line, used, err := shell.PutVariables(command, r.Variables)
	if err != nil {
		r.tell(t.Find("command").Node.Line, "The command of a hook is not parsed, because %v: %s is not quoted, so bash splits its value at spaces.",
			err, strings.Join(slices.Sorted(maps.Keys(used)), ", "))
	}
	if env = r.env(t); len(used) > 0 {
		if env == nil {
			env = map[string]string{}
		}
		maps.Copy(env, used)
	}
	return line, env
}

// drop reports that a hook is dropped because of one of its keys.
func (r *reader) drop(n position.Node) bool {
	r.tell(n.Line, "The hook is ignored.")
	return false
}

// text reads a string; "" if it is missing, false for a value of another type.
func (r *reader) text(t *position.Table, key string) (string, bool) {
	m := t.Find(key)
	if m == nil {
		return "", true
	}
	switch v := m.Value.(type) {
	case string:
		return v, true
	case position.Time:
		return string(v), true
	}
	r.tell(m.Node.Line, "%s is %s, and must be a string.", key, kind(m.Node))
	return "", false
}

func (r *reader) truth(t *position.Table, key string) (value, ok bool) {
	m := t.Find(key)
	if m == nil {
		return false, false
	}
	if value, ok = m.Value.(bool); !ok {
		r.tell(m.Node.Line, "%s is %s, and must be true or false; it counts as false.", key, kind(m.Node))
	}
	return value, ok
}

// sandbox reads whether the hook is confined; false for a value of another type.
func (r *reader) sandbox(t *position.Table) (value, ok bool) {
	m := t.Find("sandbox")
	if m == nil {
		return false, true
	}
	if value, ok = m.Value.(bool); !ok {
		r.tell(m.Node.Line, "sandbox is %s, and must be true or false.", kind(m.Node))
	}
	return value, ok
}

// timeout reads a time limit in milliseconds.
func (r *reader) timeout(t *position.Table) time.Duration {
	m := t.Find("timeout")
	if m == nil {
		return 0
	}
	ms, ok := m.Number()
	if !ok || math.IsNaN(ms) || ms < 0 || ms > float64(maxTimeout.Milliseconds()) {
		r.tell(m.Node.Line, "timeout must be a number of milliseconds, at most %d; the hook has the default of %d.", maxTimeout.Milliseconds(), hooks.DefaultTimeout.Milliseconds())
		return 0
	}
	return time.Duration(ms * float64(time.Millisecond))
}

// env reads additional environment variables of the hook.
func (r *reader) env(t *position.Table) map[string]string {
	env := maps.Clone(r.Env)
	m := t.Find("env")
	if m == nil {
		return env
	}
	members, ok := m.Value.(*position.Table)
	if !ok {
		r.tell(m.Node.Line, "env is %s, and must be a table of strings; it has no effect.", kind(m.Node))
		return env
	}
	if env == nil {
		env = map[string]string{}
	}
	for _, name := range members.Keys() {
		given := members.Find(name)
		value, ok := given.Value.(string)
		if date, isDate := given.Value.(position.Time); isDate {
			value, ok = string(date), true
		}
		if !ok || name == "" || strings.ContainsAny(name, "=\x00") || strings.Contains(value, "\x00") {
			r.tell(given.Node.Line, "The variable %.80q of env cannot be set; it has no effect.", name)
			continue
		}
		env[name] = r.expand(value)
	}
	return env
}

// OfValue reads hooks from decoded JSON: events, each with its groups. line returns the
// line of the i-th group of an event; nil: unknown.
func OfValue(events map[string]any, o Origin, line func(event string, i int) int) ([]hooks.Hook, []fault.Problem) {
	r := &reader{Origin: o}
	for _, name := range slices.Sorted(maps.Keys(events)) {
		n := nodeOf(events[name], 0)
		if groups, ok := events[name].([]any); ok && line != nil {
			for i := range groups {
				n.List()[i] = nodeOf(groups[i], line(name, i))
			}
		}
		t := &position.Table{}
		t.Add(&position.Member{Key: name, Node: n})
		r.events(position.Node{Value: t})
	}
	return r.hooks, r.problems
}
