package gitdir

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// contents is the part of a repository that determines which programs git runs in it.
type contents struct {
	settings map[string]bool      // "section key=value" of the configuration
	stamps   map[string]string    // states of hooks and included files, by path
	files    []string             // the hooks, the included files and the configuration files
	times    map[string]time.Time // change times of these files and of the hook directories; the zero time for a missing one
}

// maxConfig is the limit of the bytes read of a configuration file.
const maxConfig = 1 << 20

// contents reads the current contents. An unreadable configuration differs from every other.
func (r *repository) contents() contents {
	c := contents{settings: make(map[string]bool), stamps: make(map[string]string), times: make(map[string]time.Time)}
	config := filepath.Join(r.common, "config")
	c.files = append(c.files, config, filepath.Join(r.dir, worktreeConfig))
	if r.entry != "" {
		if info, err := os.Lstat(r.entry); err == nil && !info.IsDir() {
			c.files = append(c.files, r.entry)
		}
	}
	hooks := []string{filepath.Join(r.common, "hooks")}
	for _, file := range []string{config, filepath.Join(r.common, worktreeConfig)} {
		data, err := readSmall(file)
		if err != nil {
			if !errors.Is(err, os.ErrNotExist) {
				c.settings["unread "+file] = true
			}
			continue
		}
		for _, s := range settingsOf(string(data)) {
			c.settings[s] = true
			section, pair, _ := strings.Cut(s, "\x00")
			key, value, _ := strings.Cut(pair, "=")
			switch value = strings.Trim(value, `"`); {
			case strings.HasPrefix(section, "core") && key == "hookspath" && value != "":
				hooks = append(hooks, resolvePath(r.top, value))
			case strings.HasPrefix(section, "include") && key == "path" && value != "":
				c.recordFile(resolvePath(r.common, value))
			}
		}
	}
	for _, file := range c.files {
		c.recordTime(file)
	}
	for _, dir := range hooks {
		c.recordTime(dir)
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue
		}
		for _, e := range entries {
			if !strings.HasSuffix(e.Name(), ".sample") {
				c.recordFile(filepath.Join(dir, e.Name()))
			}
		}
	}
	return c
}

// recordFile records a file with its times.
func (c *contents) recordFile(file string) {
	c.files = append(c.files, file)
	c.recordTime(file)
	at, err := changeTime(file)
	info, statErr := os.Stat(file)
	if err != nil || statErr != nil {
		c.stamps[file] = "none"
		return
	}
	c.stamps[file] = at.String() + info.ModTime().String()
}

// recordTime records the change time of a file; the zero time if it does not exist.
func (c *contents) recordTime(file string) { c.times[file], _ = changeTime(file) }

// unchanged reports whether no file has changed since the contents were read. It is a cheap check
// before reading them again.
func (c *contents) unchanged() bool {
	for file, was := range c.times {
		if at, _ := changeTime(file); !at.Equal(was) {
			return false
		}
	}
	return true
}

// resolvePath resolves a path of a configuration. A path in a home directory stays unchanged.
func resolvePath(dir, path string) string {
	if filepath.IsAbs(path) || strings.HasPrefix(path, "~") {
		return path
	}
	return filepath.Join(dir, path)
}

// covers reports whether now runs no program that c does not run: hooks and included files are
// equal, and additional settings name no program.
func (c contents) covers(now contents) bool {
	if len(c.stamps) != len(now.stamps) {
		return false
	}
	for file, stamp := range now.stamps {
		if c.stamps[file] != stamp {
			return false
		}
	}
	for s := range now.settings {
		if !c.settings[s] && !harmless(s) {
			return false
		}
	}
	return true
}

// settingsOf returns the settings of a configuration as "section\x00key=value", with section and
// key in lower case. Lines are not joined: the continuation of a line appears as another setting.
func settingsOf(text string) []string {
	var all []string
	section := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(strings.TrimPrefix(line, "\ufeff"))
		if strings.HasPrefix(line, "[") {
			end := headerEnd(line)
			section, line = strings.ToLower(strings.TrimSpace(line[1:end])), strings.TrimSpace(line[min(end+1, len(line)):])
		}
		if line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		key, value, _ := strings.Cut(line, "=")
		all = append(all, section+"\x00"+strings.ToLower(strings.TrimSpace(key))+"="+strings.TrimSpace(value))
	}
	return all
}

// headerEnd returns the index of the bracket that ends a section header, or the length of the line.
func headerEnd(line string) int {
	quoted := false
	for i := 1; i < len(line); i++ {
		switch line[i] {
		case '\\':
			i++
		case '"':
			quoted = !quoted
		case ']':
			if !quoted {
				return i
			}
		}
	}
	return len(line)
}

// harmlessKeys returns the settings of a section that common commands such as git push -u write and
// that name no program.
func harmlessKeys(section string) []string {
	switch section {
	case "branch":
		return []string{"remote", "merge", "rebase", "pushremote", "description", "gh-merge-base", "vscode-merge-base"}
	case "remote":
		return []string{"url", "pushurl", "fetch", "tagopt", "prune", "gh-resolved"}
	case "user":
		return []string{"name", "email"}
	case "submodule":
		return []string{"url", "active"}
	}
	return nil
}

// harmless reports whether a setting names no program.
func harmless(setting string) bool {
	section, pair, _ := strings.Cut(setting, "\x00")
	section, _, _ = strings.Cut(section, " ")
	key, value, ok := strings.Cut(pair, "=")
	value = strings.Trim(value, `"`)
	return ok && slices.Contains(harmlessKeys(section), key) && !strings.Contains(value, "::") &&
		!strings.HasPrefix(value, "-") && !strings.HasSuffix(value, `\`)
}

// readSmall reads a file of limited size.
func readSmall(file string) ([]byte, error) {
	info, err := os.Stat(file)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is not a regular file")
	}
	f, err := os.Open(file) //nolint:gosec // the name is that of a repository's file
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it was only read
	data, err := io.ReadAll(io.LimitReader(f, maxConfig+1))
	if err == nil && len(data) > maxConfig {
		err = errors.New("it is too large")
	}
	return data, err
}
