package process

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/fettle-dev/fettle/core/fault"
)

// scratch is what a Service keeps for its confined commands: their temporary
// directory, and where writable directories led when the first of them was started.
// The zero value has neither yet.
type scratch struct {
	mu   sync.Mutex
	dir  string
	held *os.File // keeps other sessions from taking dir for one that was left
	led  map[string]string
}

// writable returns where directories lead, for a command that is to write in them.
// It refuses one that led elsewhere before: where a directory lies in another
// one, a command could have put a link in its place.
func (t *scratch) writable(folders []string) ([]string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var real []string
	for _, folder := range folders {
		if !filepath.IsAbs(folder) {
			return nil, badFolder(folder, errors.New("its path is not absolute"))
		}
		now, err := filepath.EvalSymlinks(folder)
		if err != nil {
			return nil, badFolder(folder, err)
		}
		before, known := t.led[folder]
		switch {
		case known && before != now:
			return nil, badFolder(folder, fmt.Errorf("it led to %s when the first command was started, and leads to %s now", before, now))
		case t.led == nil:
			t.led = make(map[string]string)
		}
		t.led[folder] = now
		real = append(real, now)
	}
	return real, nil
}

// directory returns the directory, and makes it where it is absent.
func (t *scratch) folder() (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.dir != "" {
		if info, err := os.Lstat(t.dir); err == nil && info.IsDir() {
			return t.dir, nil
		}
	}
	t.release()
	dir, held, err := newScratch()
	if err != nil {
		return "", fault.Wrap(fault.ShellExecuteError, confining, fmt.Sprintf("The command's temporary directory could not be made: %v.", err),
			"Make the directory for temporary files one that can be written to.", err)
	}
	t.dir, t.held = dir, held
	sweep(filepath.Dir(dir))
	return dir, nil
}

// release lets go of the directory.
func (t *scratch) release() {
	if t.held != nil {
		_ = t.held.Close()
		t.held = nil
	}
}

// remove removes the directory with all that is in it. No command may still run.
func (t *scratch) remove() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.dir == "" {
		return nil
	}
	defer t.release()
	if err := removeAll(t.dir); err != nil {
		return fault.Wrap(fault.FileWriteFailure, "process.close",
			fmt.Sprintf("The temporary directory %s of the session's commands could not be removed: %v.", t.dir, err), "Remove it by hand.", err)
	}
	t.dir = ""
	return nil
}

// removeAll removes a directory with all that is in it, also what commands have
// locked.
func removeAll(dir string) error {
	if os.RemoveAll(dir) == nil {
		return nil
	}
	open(dir)
	return os.RemoveAll(dir)
}

// open makes the directories below dir ones that can be emptied, as far as it can.
// It follows no links.
func open(dir string) {
	_ = os.Chmod(dir, 0o700)
	root, err := os.OpenRoot(dir)
	if err != nil {
		return // the removal says why
	}
	defer root.Close() //nolint:errcheck // nothing was written here
	_ = fs.WalkDir(root.FS(), ".", func(path string, d fs.DirEntry, _ error) error {
		if d != nil && d.IsDir() { // told before it is read
			_ = root.Chmod(path, 0o700)
		}
		return nil
	})
}

// temporary returns the variables that name the directory to programs.
func temporary(dir string) []string {
	return []string{"TMPDIR=" + dir, "TMP=" + dir, "TEMP=" + dir}
}

// variable returns the value that a program sees in env; "" where it is unset.
func variable(env []string, name string) string {
	for i := len(env) - 1; i >= 0; i-- {
		if value, ok := strings.CutPrefix(env[i], name+"="); ok {
			return value
		}
	}
	return ""
}

// holds reports whether one of some directories is dir, or has it somewhere in it,
// by their paths.
func holds(folders []string, dir string) bool {
	for _, folder := range folders {
		rest, err := filepath.Rel(folder, dir)
		if err == nil && rest != ".." && !strings.HasPrefix(rest, ".."+string(filepath.Separator)) {
			return true
		}
	}
	return false
}
