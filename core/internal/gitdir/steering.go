package gitdir

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// members are the entries of a directory with the files of a repository. git commands that only
// read create none of them.
var members = [...]string{"HEAD", "config", worktreeConfig, "commondir", "gitdir", "hooks", "info", "objects", "refs", "packed-refs", "modules", "worktrees"}

// IsMember reports whether an absolute path is an entry of a directory that git would use as a
// repository, whatever its name is.
func IsMember(path string) bool {
	return IsMemberIn(path, func(path string) bool { _, err := os.Lstat(path); return err == nil })
}

// IsMemberIn is IsMember where exists reports which paths exist.
func IsMemberIn(path string, exists func(path string) bool) bool {
	dir, base := filepath.Split(path)
	if !slices.ContainsFunc(members[:], func(name string) bool { return strings.EqualFold(name, base) }) || !exists(filepath.Join(dir, "HEAD")) {
		return false
	}
	return exists(filepath.Join(dir, "objects")) && exists(filepath.Join(dir, "refs")) || exists(filepath.Join(dir, "commondir"))
}

// Steering returns the absolute paths that determine which programs git runs in the repository in
// exactly this directory, in addition to the directory .git: the directory that a file .git names,
// included configuration files, the directories of hooks, what links in them lead to, and files that
// the configuration names. They need not exist. The configuration of the user counts too.
func (w *Watch) Steering(top string) (paths []string) {
	r, ok := repositoryAt(top)
	if !ok {
		return nil
	}
	add := func(path string) {
		if !filepath.IsAbs(path) {
			return
		}
		paths = append(paths, filepath.Clean(path))
		if real, err := filepath.EvalSymlinks(path); err == nil {
			paths = append(paths, real)
		}
	}
	add(r.dir)
	add(r.common)
	read := w.current(r)
	for _, s := range read.stamps {
		add(s.file)
	}
	hooks := []string{filepath.Join(r.common, "hooks")}
	for _, s := range slices.Concat(read.settings, userSettings()) {
		switch {
		case s.Name == "core.hookspath" && s.Value != "":
			hooks = append(hooks, resolvePath(r.top, s.Value))
		case s.Problem == "" && !s.isHarmless(r.top):
			for _, file := range namedFiles(r.top, s.Value) {
				add(file)
			}
		}
	}
	for _, dir := range hooks {
		add(dir)
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue
		}
		for _, e := range entries {
			if e.Type()&os.ModeSymlink != 0 {
				add(filepath.Join(dir, e.Name()))
			}
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// namedFiles returns the existing files in a directory that the words of a value name by a path.
func namedFiles(top, value string) (files []string) {
	for _, word := range strings.FieldsFunc(value, func(r rune) bool { return strings.ContainsRune(" \t'\"!;|&()<>", r) }) {
		if !strings.Contains(word, "/") {
			continue
		}
		path := resolvePath(top, word)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			files = append(files, path)
		}
	}
	return files
}

// userSettings returns the settings of the user's configuration.
func userSettings() []Setting {
	home, err := os.UserHomeDir()
	if err != nil {
		return nil
	}
	files := []string{filepath.Join(home, ".gitconfig"), filepath.Join(home, ".config", "git", "config")}
	if config, err := os.UserConfigDir(); err == nil {
		files = append(files, filepath.Join(config, "git", "config"))
	}
	read := reader{effective: &effective{}}
	for _, file := range files {
		read.file(new(repository), file, 0)
	}
	return read.settings
}
