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

// SkillManager knows the skills of a session and which of them can be activated
// (EX-05). The zero value knows none. It is safe for concurrent use; the skills
// that it returns are not to be changed.
type SkillManager struct {
	mu       sync.Mutex
	all      []Skill // by name
	problems []fault.Problem
	disabled []string
	enabled  []Skill // of all; made anew with each change
	watchers map[*func()]struct{}

	of, named *Factory // named is of with the names of enabled; nil: not made yet

	discovered bool
}

// Discover looks through the directories and has what it finds in the place of all
// skills that it knew: those given, which must not be changed any more, then those
// of the directories, of which a later one takes the place of an earlier one of its
// name. Scopes come in their order, and within one the directories in theirs. What is
// wrong is in Problems. Watchers are told. The error is of code cancelled, and
// nothing has changed then.
func (m *SkillManager) Discover(ctx context.Context, given []Skill, folders []Folder) error {
	found, problems, err := load(ctx, folders)
	if err != nil {
		return fault.Wrap(fault.Cancelled, "skills.discover", "Looking for skills was cancelled.", "", err)
	}
	all, clashes := replaced(append(slices.Clip(given), found...))
	m.change(func() { m.all, m.problems, m.discovered = all, append(problems, clashes...), true })
	return nil
}

// Discovered reports whether Discover has been successful before.
func (m *SkillManager) Discovered() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.discovered
}

// SetDisabled has skills of these names, in any letter case, not activated any
// more, and all others again. Watchers are told.
func (m *SkillManager) SetDisabled(names []string) {
	m.change(func() { m.disabled = slices.Clone(names) })
}

// SetEnabled says whether the skill of a name, in any letter case, can be
// activated. Watchers are told.
func (m *SkillManager) SetEnabled(name string, on bool) {
	m.change(func() {
		m.disabled = slices.DeleteFunc(slices.Clone(m.disabled), func(d string) bool { return same(d, name) })
		if !on {
			m.disabled = append(m.disabled, name)
		}
	})
}

// change makes a change and tells the watchers, without the lock.
func (m *SkillManager) change(make func()) {
	m.mu.Lock()
	make()
	m.of, m.named = nil, nil
	if disabled := m.isDisabled; slices.ContainsFunc(m.all, func(s Skill) bool { return s.Disabled != disabled(s) }) {
		m.all = slices.Clone(m.all) // what was handed out stays as it is, and what was given
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

// isDisabled reports whether a skill's name is among those that are disabled; m.mu
// is held.
func (m *SkillManager) isDisabled(skill Skill) bool {
	return slices.ContainsFunc(m.disabled, func(name string) bool { return same(name, skill.Name) })
}

// Watch has changed called after each change of the skills, on the goroutine that
// made it. The function that it returns ends that; a call that is under way may
// still come.
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

// All returns all skills by name, those that are disabled too. The list is the
// caller's; the Extra of a skill must not be changed.
func (m *SkillManager) All() []Skill {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.all)
}

// Enabled returns the skills that can be activated, by name. The list is the
// caller's; the Extra of a skill must not be changed.
func (m *SkillManager) Enabled() []Skill { return slices.Clone(m.shared()) }

// shared is the list of those enabled, which other sessions may have as well: it is
// not changed.
func (m *SkillManager) shared() []Skill {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.enabled
}

// Get returns the skill of a name in any letter case, also where it is disabled.
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

// Problems returns what is wrong with skills.
func (m *SkillManager) Problems() []fault.Problem {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clip(m.problems)
}

// Activatable returns the skill of a name that can be activated. The error, of
// code invalid_tool_params, lists the names.
func (m *SkillManager) Activatable(name string) (Skill, error) {
	enabled := m.Enabled()
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
	}
	e := fault.New(fault.InvalidToolParams, "skills.activate", message, remedy)
	e.Short = "There is no such skill"
	return Skill{}, e
}

// namesIn returns the names of skills as far as they have so many bytes, and how
// many there are more.
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
