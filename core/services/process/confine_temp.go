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

// scratch is the state that a Service keeps for its confined commands: their temporary directory,
// and the resolved writable directories at the time of the first command. The zero value has
// neither yet.
type scratch struct {
	mu   sync.Mutex
	dir  string
	held *os.File // keeps other sessions from removing dir as stale
	led  map[string]string
}

// writable returns the resolved directories in which a command may write. It returns an error if
// one resolves differently than before: if a directory lies in another writable one, a command
// could have replaced it with a link.
func (t *scratch) writable(dirs []string) ([]string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	var real []string
	for _, directory := range dirs {
		if !filepath.IsAbs(directory) {
			return nil, badDirectory(directory, errors.New("its path is not absolute"))
		}
		now, err := filepath.EvalSymlinks(directory)
		if err != nil {
			return nil, badDirectory(directory, err)
		}
		before, known := t.led[directory]
		switch {
		case known && before != now:
			return nil, badDirectory(directory, fmt.Errorf("it resolved to %s when the first command started, and resolves to %s now", before, now))
		case t.led == nil:
			t.led = make(map[string]string)
		}
		t.led[directory] = now
		real = append(real, now)
	}
	return real, nil
}

// directory returns the temporary directory, and creates it if it is missing.
func (t *scratch) directory() (string, error) {
	return t.directoryIn(func() string { return "" })
}

// directoryIn is directory; it creates the directory in parent, or in [os.TempDir] if that is "".
func (t *scratch) directoryIn(parent func() string) (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.dir != "" {
		if info, err := os.Lstat(t.dir); err == nil && info.IsDir() {
			return t.dir, nil
		}
	}
	t.release()
	dir, held, err := newScratch(parent())
	if err != nil {
		return "", fault.Wrap(fault.ShellExecuteError, confining, fmt.Sprintf("The command's temporary directory could not be created: %v.", err),
			"Make the directory for temporary files writable.", err)
	}
	t.dir, t.held = dir, held
	sweep(filepath.Dir(dir))
	return dir, nil
}

// release releases the lock of the directory.
func (t *scratch) release() {
	if t.held != nil {
		_ = t.held.Close()
		t.held = nil
	}
}

// remove removes the directory and its contents. No command may be running.
func (t *scratch) remove() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.dir == "" {
		return nil
	}
	defer t.release()
	if err := removeAll(t.dir); err != nil {
		return fault.Wrap(fault.FileWriteFailure, "process.close",
			fmt.Sprintf("The temporary directory %s of the session's commands could not be removed: %v.", t.dir, err), "Remove it manually.", err)
	}
	t.dir = ""
	return nil
}

// removeAll removes a directory and its contents, including directories whose modes commands have
// changed.
func removeAll(dir string) error {
	if os.RemoveAll(dir) == nil {
		return nil
	}
	open(dir)
	return os.RemoveAll(dir)
}

// open makes the directories below dir writable where it can, so that they can be emptied. It
// follows no links.
func open(dir string) {
	_ = os.Chmod(dir, 0o700)
	root, err := os.OpenRoot(dir)
	if err != nil {
		return // the removal reports the reason
	}
	defer root.Close() //nolint:errcheck // nothing was written here
	_ = fs.WalkDir(root.FS(), ".", func(path string, d fs.DirEntry, _ error) error {
		if d != nil && d.IsDir() { // called before the directory is read
			_ = root.Chmod(path, 0o700)
		}
		return nil
	})
}

// temporary returns the variables that name the directory to programs.
func temporary(dir string) []string {
	return []string{"TMPDIR=" + dir, "TMP=" + dir, "TEMP=" + dir}
}

// variable returns the value of a variable in env; "" if it is unset.
func variable(env []string, name string) string {
	for i := len(env) - 1; i >= 0; i-- {
		if value, ok := strings.CutPrefix(env[i], name+"="); ok {
			return value
		}
	}
	return ""
}

// holds reports whether dir is one of the directories, or lies below one, judged by path.
func holds(dirs []string, dir string) bool {
	for _, directory := range dirs {
		rest, err := filepath.Rel(directory, dir)
		if err == nil && rest != ".." && !strings.HasPrefix(rest, ".."+string(filepath.Separator)) {
			return true
		}
	}
	return false
}
