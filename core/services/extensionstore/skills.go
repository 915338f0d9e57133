package extensionstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/extensions"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/internal/frontmatter"
	"github.com/fettle-dev/fettle/core/internal/lazyregexp"
	"github.com/fettle-dev/fettle/core/internal/lockedfile"
)

// SkillLinks is the file in a directory of skills with the linked ones: a JSON object of
// names and absolute directories.
const SkillLinks = ".fettle-links.json"

// skillLimits bound a skill, whose files a model reads.
var skillLimits = copyLimits{entries: 5_000, bytes: 64 << 20, depth: 16}

// Bounds of the search for skills in a source.
const (
	maxSkillDepth = 6
	maxSkillFile  = 256 << 10
)

// SkillRequest describes an installation of skills.
type SkillRequest struct {
	Source string   // as in [InstallRequest]
	Ref    string   // likewise
	Names  []string // of the skills to install; nil: all of the source
	Dir    string   // the directory of skills, absolute
	// Link uses the skills in place: Source is a directory, and Dir the user's.
	Link    bool
	Environ []string // of git
}

// foundSkill is a skill in a source.
type foundSkill struct {
	name, description string
	dir               string
	file              string // SKILL.md, below the source
	programs          int    // executable files
	refused           string // why sessions do not use it; "": they do
}

var nameOfSkill = lazyregexp.New(`^[A-Za-z0-9_][A-Za-z0-9_. -]*$`)

// InstallSkills copies skills of a directory, an archive or a repository to a directory
// of skills, or links them, after approval. It returns their names, sorted. If one of them
// exists, none is installed. The error is as that of [Store.Install].
func (s *Store) InstallSkills(ctx context.Context, r SkillRequest, user User) ([]string, error) {
	from, err := parseSource(r.Source)
	if err != nil {
		return nil, err
	}
	if err := checkRef(r.Ref); err != nil {
		return nil, err
	}
	if r.Link && from.kind != extensions.InstallLocal {
		return nil, badSource("Only a directory on this machine can be linked.", "Use fettle skills install for a repository.")
	}
	if err := s.admit(from); err != nil {
		return nil, err
	}
	g, err := s.stage(ctx)
	if err != nil {
		return nil, err
	}
	defer g.end()
	dir, err := s.obtain(ctx, g, from, r.Ref, r.Environ)
	if err != nil {
		return nil, err
	}
	chosen, lost, err := chooseSkills(ctx, dir, from.location, r.Names)
	if err != nil {
		return nil, err
	}
	for _, skill := range chosen {
		if err := freeSkill(r.Dir, skill.name); err != nil {
			return nil, err
		}
	}
	if err := agree(ctx, user, skillConsent(chosen, lost, from.location, r.Link)); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(r.Dir, 0o755); err != nil {
		return nil, unwritable(r.Dir, err)
	}
	var names []string
	for _, skill := range chosen {
		names = append(names, skill.name)
	}
	if r.Link {
		return names, changeLinks(ctx, r.Dir, func(links map[string]string) {
			for _, skill := range chosen {
				links[skill.name] = skill.dir
			}
		})
	}
	return names, copySkills(ctx, r.Dir, chosen)
}

// copySkills copies skills to a hidden directory, and then moves each into place. After an
// error none is left.
func copySkills(ctx context.Context, dir string, chosen []foundSkill) error {
	tmp, err := os.MkdirTemp(dir, ".install-")
	if err != nil {
		return unwritable(dir, err)
	}
	defer func() { _ = removeAll(tmp) }()
	for _, skill := range chosen {
		if err := copyTree(ctx, skill.dir, filepath.Join(tmp, skill.name), skillLimits); err != nil {
			return err
		}
	}
	for i, skill := range chosen {
		place := filepath.Join(dir, skill.name)
		err := freeSkill(dir, skill.name) // a concurrent installation may have been faster
		if err == nil {
			if err = os.Rename(filepath.Join(tmp, skill.name), place); err != nil {
				err = unwritable(place, err)
			}
		}
		if err == nil {
			continue
		}
		for _, done := range chosen[:i] {
			_ = removeAll(filepath.Join(dir, done.name)) // the first error is returned
		}
		return err
	}
	return nil
}

// freeSkill refuses the name of an existing skill, in any letter case.
func freeSkill(dir, name string) error {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return unreadable(dir, err)
	}
	links, err := readLinks(dir)
	if err != nil {
		return err
	}
	_, linked := links[name]
	if linked || slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return strings.EqualFold(e.Name(), name) }) {
		return fault.New(fault.AttemptToCreateExist, "skills.install", fmt.Sprintf("The skill %s exists in %s.", name, dir), "Uninstall it first: fettle skills uninstall "+name+".")
	}
	return nil
}

// chooseSkills finds the skills in a directory; lost are those that cannot be used, a line
// each.
func chooseSkills(ctx context.Context, dir, location string, names []string) (chosen []foundSkill, lost []string, err error) {
	all, lost, err := findSkills(ctx, dir)
	if err != nil {
		return nil, nil, err
	}
	wanted := func(skill foundSkill) bool {
		return len(names) == 0 || slices.ContainsFunc(names, func(name string) bool { return strings.EqualFold(name, skill.name) })
	}
	taken := map[string]bool{}
	for _, skill := range all {
		if skill.refused != "" {
			lost = append(lost, skill.file+": "+skill.refused)
			continue
		}
		if key := strings.ToLower(skill.name); wanted(skill) && !taken[key] {
			taken[key] = true
			chosen = append(chosen, skill)
		}
	}
	for _, name := range names {
		if !taken[strings.ToLower(name)] {
			var known []string
			for _, skill := range all {
				if skill.refused == "" {
					known = append(known, skill.name)
				} else if strings.EqualFold(skill.name, name) {
					return nil, nil, fault.New(fault.InvalidConfig, "skills.install", fmt.Sprintf("The skill %s cannot be installed: %s", skill.name, skill.refused), "Remove the key from its "+pluginSkill+" if the skill may be used without it.")
				}
			}
			return nil, nil, fault.New(fault.InvalidToolParams, "skills.install", fmt.Sprintf("%s has no skill %q.", location, clip(name)), "Its skills are: "+clipAll(known)+".")
		}
	}
	if len(chosen) == 0 {
		message := fmt.Sprintf("%s has no skills.", location)
		if len(lost) > 0 {
			message += " " + lost[0]
		}
		return nil, nil, fault.New(fault.InvalidConfig, "skills.install", message, "Give a directory or repository with a SKILL.md, which has name and description.")
	}
	return chosen, lost, nil
}

func clipAll(names []string) string {
	const most = 20
	if more := len(names) - most; more > 0 {
		names = append(slices.Clone(names[:most]), fmt.Sprintf("and %d more", more))
	}
	return strings.Join(names, ", ")
}

// findSkills returns the skills below a directory, sorted by name.
func findSkills(ctx context.Context, dir string) (all []foundSkill, lost []string, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, nil, unreadable(dir, err)
	}
	defer func() { _ = root.Close() }() // it was only read
	seen := 0
	err = fs.WalkDir(root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		if seen++; seen > usualLimits.entries {
			return fs.SkipAll
		}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			return nil
		case entry.IsDir() && (leftOut(entry.Name()) || entry.Name() == "node_modules" || strings.Count(name, "/") >= maxSkillDepth):
			return fs.SkipDir
		case entry.Name() != pluginSkill || !entry.Type().IsRegular():
			return nil
		}
		skill, why := readSkill(root, name)
		if why != "" {
			lost = append(lost, name+": "+why)
			return nil
		}
		skill.dir = filepath.Join(dir, filepath.FromSlash(filepath.ToSlash(filepath.Dir(name))))
		skill.file, skill.programs = name, programsIn(skill.dir)
		all = append(all, skill)
		return nil
	})
	if ctx.Err() != nil {
		return nil, nil, cancelled(ctx.Err())
	}
	if err != nil {
		return nil, nil, unreadable(dir, err)
	}
	slices.SortStableFunc(all, func(a, b foundSkill) int { return strings.Compare(a.name, b.name) })
	return all, lost, nil
}

// readSkill reads name and description of a skill; why is the reason why it cannot be used.
func readSkill(root *os.Root, name string) (skill foundSkill, why string) {
	info, err := root.Stat(name)
	if err == nil && info.Size() > maxSkillFile {
		return skill, fmt.Sprintf("It has more than %d KiB.", maxSkillFile>>10)
	}
	data, err := root.ReadFile(name)
	if err != nil {
		return skill, "It cannot be read: " + cause(err) + "."
	}
	front, before, _, found := frontmatter.Split(strings.ReplaceAll(strings.TrimPrefix(string(data), "\ufeff"), "\r\n", "\n"))
	if !found {
		return skill, "It has no front matter."
	}
	node, _, err := frontmatter.Parse(front, before)
	if err != nil {
		return skill, "Its front matter is not valid YAML."
	}
	for _, m := range node.Members() {
		text, _ := m.Text()
		switch strings.ToLower(m.Key) {
		case "name":
			skill.name = strings.TrimSpace(text)
		case "description":
			skill.description = strings.Join(strings.Fields(text), " ")
		default:
			if frontmatter.Restricts(m) {
				skill.refused = fmt.Sprintf("Its restriction %q is not supported, so sessions do not use it.", clip(m.Key))
			}
		}
	}
	switch {
	case skill.name == "" || skill.description == "":
		return skill, "It has no name or no description."
	case !nameOfSkill().MatchString(skill.name) || len(skill.name) > 128:
		return skill, fmt.Sprintf("Its name %q is not that of a directory.", clip(skill.name))
	}
	return skill, ""
}

// programsIn counts the executable files of a directory.
func programsIn(dir string) (n int) {
	_ = fs.WalkDir(os.DirFS(dir), ".", func(_ string, entry fs.DirEntry, err error) error { // unreadable files are refused when they are copied
		if err == nil && entry.Type().IsRegular() {
			if info, err := entry.Info(); err == nil && info.Mode()&0o111 != 0 {
				n++
			}
		}
		return nil
	})
	return n
}

// skillConsent describes skills to the user.
func skillConsent(chosen []foundSkill, lost []string, location string, link bool) Consent {
	c := Consent{Name: counted(len(chosen), "skill", "skills"), Source: visible(location), skills: true}
	add := func(line string) {
		if len(c.Lines) < 4*maxShown {
			c.Lines = append(c.Lines, shown(line))
		}
	}
	for _, skill := range chosen {
		line := "skill " + skill.name + ": " + skill.description
		if skill.programs > 0 {
			line += " (with " + counted(skill.programs, "program", "programs") + ")"
		}
		if link {
			line += ", in " + skill.dir
		}
		add(line)
	}
	for _, line := range lost {
		add("left out: " + line)
	}
	return c
}

// readLinks returns the linked skills of a directory, by name.
func readLinks(dir string) (map[string]string, error) {
	links := map[string]string{}
	path := filepath.Join(dir, SkillLinks)
	data, err := lockedfile.Read(path, maxState)
	if errors.Is(err, fs.ErrNotExist) {
		return links, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &links)
	}
	if err != nil {
		return nil, fault.Wrap(fault.InvalidConfig, "skills.links", fmt.Sprintf("The file %s cannot be used: %s.", path, cause(err)), "Remove it, and link the skills again.", err)
	}
	return links, nil
}

func changeLinks(ctx context.Context, dir string, change func(links map[string]string)) error {
	path := filepath.Join(dir, SkillLinks)
	unlock, err := lockedfile.LockOf(ctx, path)
	if err != nil {
		return lockFailure(ctx, path, err)
	}
	defer unlock()
	links, err := readLinks(dir)
	if err != nil {
		return err
	}
	change(links)
	data, err := json.MarshalIndent(links, "", "  ")
	if err == nil {
		err = lockedfile.Replace(path, append(data, '\n'))
	}
	if err != nil {
		return unwritable(path, err)
	}
	return nil
}

// UninstallSkill removes a skill of a directory of skills, or its link, by name. The error
// is of code invalid_tool_params for an unknown name, cancelled, or a code of file errors.
func (s *Store) UninstallSkill(ctx context.Context, dir, name string) error {
	links, err := readLinks(dir)
	if err != nil {
		return err
	}
	for linked := range maps.Keys(links) {
		if strings.EqualFold(linked, name) {
			return changeLinks(ctx, dir, func(links map[string]string) { delete(links, linked) })
		}
	}
	all, _, err := findSkills(ctx, dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	at := slices.IndexFunc(all, func(skill foundSkill) bool {
		return filepath.Dir(skill.dir) == filepath.Clean(dir) && (strings.EqualFold(skill.name, name) || filepath.Base(skill.dir) == name)
	})
	if at < 0 {
		return fault.New(fault.InvalidToolParams, "skills.uninstall", fmt.Sprintf("There is no skill %q in %s.", clip(name), dir), "fettle skills list lists the skills.")
	}
	tmp, err := os.MkdirTemp(dir, ".remove-")
	if err != nil {
		return unwritable(dir, err)
	}
	if err = os.Rename(all[at].dir, filepath.Join(tmp, "old")); err != nil {
		err = unwritable(all[at].dir, err)
	}
	_ = removeAll(tmp) // a rest has no name of a skill
	return err
}
