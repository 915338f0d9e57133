package skills

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"github.com/fettle-dev/fettle/core/fault"
)

// SkillManager has the skills of a session and which of them can be activated. The zero
// value has none. It is safe for concurrent use; the returned skills must not be
// changed.
type SkillManager struct {
	mu       sync.Mutex
	all      []Skill // sorted by name
	problems []fault.Problem
	disabled []string
	enabled  []Skill // of all; replaced on each change
	watchers map[*func()]struct{}

	named *factory // with the names of enabled; nil: not computed yet

	discovered bool
}

// Discover scans the directories and replaces all known skills: first by those given,
// which must not be changed afterwards, then by those of the directories. A later skill
// replaces an earlier one with the same name. Directories are read by scope, and within
// a scope in the given order. Problems are available from Problems. Watchers are
// notified. The error is of code cancelled; then nothing has changed.
func (m *SkillManager) Discover(ctx context.Context, given []Skill, dirs []Dir) error {
	found, problems, err := load(ctx, dirs)
	if err != nil {
		return fault.Wrap(fault.Cancelled, "skills.discover", "Looking for skills was cancelled.", "", err)
	}
	all, clashes := replaced(append(slices.Clip(given), found...))
	m.change(func() { m.all, m.problems, m.discovered = all, append(problems, clashes...), true })
	return nil
}

// Discovered reports whether Discover has succeeded before.
func (m *SkillManager) Discovered() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.discovered
}

// SetDisabled disables the skills with these names, in any letter case, and enables all
// others. Watchers are notified.
func (m *SkillManager) SetDisabled(names []string) {
	m.change(func() { m.disabled = slices.Clone(names) })
}

// SetEnabled enables or disables the skill with a name, in any letter case. Watchers are
// notified.
func (m *SkillManager) SetEnabled(name string, on bool) {
	m.change(func() {
		m.disabled = slices.DeleteFunc(slices.Clone(m.disabled), func(d string) bool { return same(d, name) })
		if !on {
			m.disabled = append(m.disabled, name)
		}
	})
}

// change applies a change and notifies the watchers without the lock.
func (m *SkillManager) change(make func()) {
	m.mu.Lock()
	make()
	m.named = nil
	if disabled := m.isDisabled; slices.ContainsFunc(m.all, func(s Skill) bool { return s.Disabled != disabled(s) }) {
		m.all = slices.Clone(m.all) // lists that were returned or given are not changed
		for i := range m.all {
			m.all[i].Disabled = disabled(m.all[i])
		}
	}
	m.enabled = m.all
	if slices.ContainsFunc(m.all, m.isDisabled) {
		m.enabled = slices.DeleteFunc(slices.Clone(m.all), m.isDisabled)
	}
	var watchers []func()
	for w := range m.watchers {
		watchers = append(watchers, *w)
	}
	m.mu.Unlock()
	for _, w := range watchers {
		w()
	}
}

// isDisabled reports whether a skill is disabled. The caller has locked m.mu.
func (m *SkillManager) isDisabled(skill Skill) bool {
	return slices.ContainsFunc(m.disabled, func(name string) bool { return same(name, skill.Name) })
}

// Watch calls changed after each change of the skills, on the goroutine that made it.
// The returned function unsubscribes; a call in progress may still arrive.
func (m *SkillManager) Watch(changed func()) (stop func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.watchers == nil {
		m.watchers = map[*func()]struct{}{}
	}
	key := &changed
	m.watchers[key] = struct{}{}
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.watchers, key)
	}
}

// All returns all skills, sorted by name, including disabled ones. The caller owns the
// list; the Extra of a skill must not be changed.
func (m *SkillManager) All() []Skill {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.all)
}

// Enabled returns the skills that can be activated, sorted by name. The caller owns the
// list; the Extra of a skill must not be changed.
func (m *SkillManager) Enabled() []Skill { return slices.Clone(m.shared()) }

// shared returns the enabled skills in a list that sessions may share: it must not be
// changed.
func (m *SkillManager) shared() []Skill {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.enabled
}

// Get returns the skill with a name, in any letter case, also if it is disabled.
func (m *SkillManager) Get(name string) (Skill, bool) {
	return find(m.All(), name)
}

func find(all []Skill, name string) (Skill, bool) {
	name = strings.TrimSpace(name)
	i := slices.IndexFunc(all, func(s Skill) bool { return same(s.Name, name) })
	if i < 0 {
		return Skill{}, false
	}
	return all[i], true
}

// Problems returns the problems of the skill files.
func (m *SkillManager) Problems() []fault.Problem {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clip(m.problems)
}

// Activatable returns the skill with a name if it can be activated. The error, of code
// invalid_tool_params, lists the names of those that can.
func (m *SkillManager) Activatable(name string) (Skill, error) {
	return m.activatable(name, m.Enabled())
}

// activatableByModel is Activatable without the skills that only the user may activate.
func (m *SkillManager) activatableByModel(name string) (Skill, error) {
	return m.activatable(name, forModel(m.shared()))
}

// forModel returns the skills that a model may activate.
func forModel(all []Skill) []Skill {
	if !slices.ContainsFunc(all, Skill.userOnly) {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), Skill.userOnly)
}

func (m *SkillManager) activatable(name string, enabled []Skill) (Skill, error) {
	if s, ok := find(enabled, name); ok {
		return s, nil
	}
	remedy := "There is none that can be activated."
	if len(enabled) > 0 {
		remedy = "Name one of these: " + strings.Join(namesIn(enabled, 4<<10), ", ") + "."
	}
	message := fmt.Sprintf("There is no skill %s.", quoted(name))
	if s, ok := m.Get(name); ok {
		message = fmt.Sprintf("The skill %s is disabled.", quoted(s.Name))
		if !s.Disabled {
			message = fmt.Sprintf("Only the user may activate the skill %s.", quoted(s.Name))
		}
	}
	e := fault.New(fault.InvalidToolParams, "skills.activate", message, remedy)
	e.Short = "There is no such skill"
	return Skill{}, e
}

// namesIn returns the names of skills up to a number of bytes, and the number of omitted
// ones.
func namesIn(all []Skill, bytes int) []string {
	var names []string
	for i, s := range all {
		if bytes -= len(s.Name) + 2; bytes < 0 && i > 0 {
			return append(names, fmt.Sprintf("and %d more", len(all)-i))
		}
		names = append(names, s.Name)
	}
	return names
}

func sortEntries(entries []fs.DirEntry) {
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
}
