package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// Lab is the environment in which contestants are prepared: a temporary scratch directory,
// programs, and fixtures that are created once.
type Lab struct {
	// Dir is the scratch directory, absolute, with links resolved.
	Dir string
	// Full selects the sizes that the design's budgets refer to.
	Full bool
	// Quick selects the smallest sizes, for tests that every case runs. Full takes precedence.
	Quick bool
	// Note reports progress to the user; never nil.
	Note func(format string, args ...any)

	mu       sync.Mutex
	shared   map[string]*fixture
	closes   []func() error // in the order of creation
	versions map[string]string
}

type fixture struct {
	once  sync.Once
	value any
	err   error
}

// NewLab creates a Lab with a scratch directory below the system's directory for temporary files.
func NewLab(full bool, note func(format string, args ...any)) (*Lab, error) {
	dir, err := os.MkdirTemp("", "fettle-bench-")
	if err != nil {
		return nil, err
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return &Lab{Dir: real, Full: full, Note: note, shared: map[string]*fixture{}, versions: map[string]string{}}, nil
}

// Close closes all fixtures in reverse order, and removes the scratch directory.
func (l *Lab) Close() error {
	l.mu.Lock()
	closes := l.closes
	l.closes = nil
	l.mu.Unlock()
	var errs []error
	for _, c := range slices.Backward(closes) {
		errs = append(errs, c())
	}
	return errors.Join(append(errs, os.RemoveAll(l.Dir))...)
}

// Shared returns the fixture with a key. The first call creates it with make. The returned func of
// make, which may be nil, closes the fixture when the Lab is closed. An error is kept, too,
// including an [Absent] one.
func Shared[T any](ctx context.Context, l *Lab, key string, make func(ctx context.Context) (T, func() error, error)) (T, error) {
	l.mu.Lock()
	f, ok := l.shared[key]
	if !ok {
		f = &fixture{}
		l.shared[key] = f
	}
	l.mu.Unlock()
	f.once.Do(func() {
		v, end, err := make(ctx)
		f.value, f.err = v, err
		if end != nil {
			l.mu.Lock()
			l.closes = append(l.closes, end)
			l.mu.Unlock()
		}
	})
	v, _ := f.value.(T)
	return v, f.err
}

// Uses records the version of a program or library for the page and the JSON lines: Uses("ripgrep",
// "13.0.0").
func (l *Lab) Uses(name, version string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.versions[name] = version
}

// used returns the versions recorded so far.
func (l *Lab) used() map[string]string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.versions)
}

// Size returns the size of a fixture for this run.
func (l *Lab) Size(quick, small, full int) int {
	switch {
	case l.Full:
		return full
	case l.Quick:
		return quick
	}
	return small
}

// TempDir creates a directory below Dir with name in its name.
func (l *Lab) TempDir(name string) (string, error) {
	return os.MkdirTemp(l.Dir, strings.Map(func(r rune) rune {
		if r == '/' || r == ' ' || r == '*' {
			return '-'
		}
		return r
	}, name)+"-")
}

// Program returns the path of the first installed program of names. If none is installed, it
// returns an [Absent] error with the first name.
func (l *Lab) Program(names ...string) (string, error) {
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return filepath.Abs(path)
		}
	}
	return "", absent("%s is not installed", names[0])
}

// Fettle returns the path of the program, built as for a release.
func (l *Lab) Fettle(ctx context.Context) (string, error) {
	return l.build(ctx, "fettle", "github.com/fettle-dev/fettle/cli/fettle")
}

// FilesProgram returns the path of the first program of README.md.
func (l *Lab) FilesProgram(ctx context.Context) (string, error) {
	return l.build(ctx, "file", "github.com/fettle-dev/fettle/integration/dev/examples/file")
}

// Nothing returns the path of a Go program that does nothing.
func (l *Lab) Nothing(ctx context.Context) (string, error) {
	return l.compiled(ctx, "nothing", "package main\n\nfunc main() {}\n")
}

// compiled returns the path of a program that consists of one Go file.
func (l *Lab) compiled(ctx context.Context, name, source string) (string, error) {
	path := filepath.Join(l.Dir, name+".go")
	if err := os.WriteFile(path, []byte(source), 0o644); err != nil {
		return "", err
	}
	return l.build(ctx, name, path)
}

func (l *Lab) build(ctx context.Context, name, pkg string) (string, error) {
	return Shared(ctx, l, "build "+name, func(ctx context.Context) (string, func() error, error) {
		if _, err := l.Program("go"); err != nil {
			return "", nil, err
		}
		l.Note("building %s", name)
		out := filepath.Join(l.Dir, "bin-"+name)
		args := []string{"build", "-o", out}
		if !l.Quick { // built as for a release; otherwise as the tests have already compiled it
			args = append(args, "-trimpath", "-ldflags", "-s -w")
		}
		cmd := exec.CommandContext(ctx, "go", append(args, pkg)...)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOTMPDIR="+l.Dir) // leftovers of an interrupted build are removed with the Lab
		text, err := cmd.CombinedOutput()
		if err != nil {
			return "", nil, fmt.Errorf("go build %s (in fettle's repository, which must compile): %w\n%s", pkg, err, text)
		}
		return out, nil, nil
	})
}

// Environment returns the environment of contestants' processes: an empty home in the scratch
// directory, PATH, and nothing of the user's settings.
func (l *Lab) Environment(ctx context.Context) ([]string, error) {
	home, err := Shared(ctx, l, "home", func(context.Context) (string, func() error, error) {
		dir, err := l.TempDir("home")
		return dir, nil, err
	})
	if err != nil {
		return nil, err
	}
	return []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "TMPDIR=" + os.TempDir(), "LANG=C.UTF-8", "TERM=dumb", "NO_COLOR=1"}, nil
}
