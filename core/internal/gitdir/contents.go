package gitdir

import (
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/fettle-dev/fettle/core/internal/lockedfile"
)

// contents is the part of a repository that determines which programs git runs in it.
type contents struct {
	settings map[Setting]bool     // of the configuration, without lines
	stamps   map[string]string    // states of hooks, by path
	files    []string             // the hooks and the configuration files
	times    map[string]time.Time // change times of these files and of the hook directories; the zero time for a missing one
}

// maxConfig is the limit of the bytes read of a configuration file.
const maxConfig = 1 << 20

// contents reads the current contents. An unreadable configuration differs from every other.
func (r *repository) contents() contents {
	c := contents{settings: make(map[Setting]bool), stamps: make(map[string]string), times: make(map[string]time.Time)}
	if r.entry != "" {
		if info, err := os.Lstat(r.entry); err == nil && !info.IsDir() {
			c.files = append(c.files, r.entry)
		}
	}
	hooks := []string{filepath.Join(r.common, "hooks")}
	read := reader{effective: &effective{}}
	read.own(r)
	for _, s := range read.stamps {
		if s.file != r.entry {
			c.files = append(c.files, s.file)
		}
	}
	for _, s := range read.settings {
		s.Line = 0
		c.settings[s] = true
		if s.Name == "core.hookspath" && s.Value != "" {
			hooks = append(hooks, resolvePath(r.top, s.Value))
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

// covers reports whether the contents now make git run only programs that c does: the hooks are
// equal, and additional settings are harmless. top is the directory that contains the repository.
func (c contents) covers(now contents, top string) bool {
	if len(c.stamps) != len(now.stamps) {
		return false
	}
	for file, stamp := range now.stamps {
		if c.stamps[file] != stamp {
			return false
		}
	}
	for s := range now.settings {
		if !c.settings[s] && !s.isHarmless(top) {
			return false
		}
	}
	return true
}

// readSmall reads a regular file of limited size. It does not wait for the writer of a pipe that has
// replaced the file.
func readSmall(file string) ([]byte, error) { return lockedfile.Read(file, maxConfig) }
