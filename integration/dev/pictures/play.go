package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/charmbracelet/x/vt"
	"github.com/creack/pty"
)

// Times.
const (
	patience = 30 * time.Second       // the maximum wait for a text
	still    = 300 * time.Millisecond // a screen that has not changed for this long is complete
	look     = 20 * time.Millisecond  // between two looks at the screen
)

// The home directory of a scene, and its name in pictures, of the same length.
const (
	homePattern = "/tmp/????"
	homeShown   = "/home/ada"
)

// frame is a screen and the time that it is shown for.
type frame struct {
	lines  [][]cell
	cursor struct{ x, y int }
	hidden bool // the cursor
	hold   int  // seconds
}

// play runs the scene and returns its frames.
func (s scene) play(ctx context.Context, program string) (_ []frame, err error) {
	home, err := newHome()
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(home)
	project := filepath.Join(home, "shop")
	files := map[string]string{"../turns.json": s.script, "../.fettle/settings.json": `{"ui": {"animations": false, "theme": "dark"}}`}
	for name, text := range s.files {
		files[name] = text
	}
	for name, text := range files {
		if err := save(filepath.Join(project, name), text); err != nil {
			return nil, err
		}
	}
	cmd := exec.CommandContext(ctx, program, s.args...)
	cmd.Dir = project
	cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "TERM=xterm-256color", "COLORTERM=truecolor", "LC_ALL=C.UTF-8", "TZ=UTC"}
	t, err := start(cmd, s.columns, s.rows)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, t.end()) }()
	var frames []frame
	for i, step := range s.steps {
		if err := t.wait(ctx, step.wait); err != nil {
			return nil, fmt.Errorf("step %d: %w", i+1, err)
		}
		if step.hold > 0 {
			if err := t.still(ctx); err != nil {
				return nil, fmt.Errorf("step %d: %w", i+1, err)
			}
			f := t.frame(home)
			f.hold = step.hold
			frames = append(frames, f)
		}
		if name, text, found := strings.Cut(step.save, "="); found {
			if err := save(filepath.Join(project, name), text); err != nil {
				return nil, err
			}
		}
		if _, err := t.tty.WriteString(step.typed + step.key); err != nil {
			return nil, err
		}
	}
	return frames, nil
}

// newHome creates a home directory whose path has the length of its name in pictures.
func newHome() (string, error) {
	for n := range 10000 {
		home := fmt.Sprintf("/tmp/%04d", n)
		if err := os.Mkdir(home, 0o700); !errors.Is(err, os.ErrExist) {
			return home, err
		}
	}
	return "", fmt.Errorf("every directory %s exists", homePattern)
}

func save(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o644)
}

// terminal is a program and the terminal that it runs in.
type terminal struct {
	cmd *exec.Cmd
	tty *os.File
	all sync.WaitGroup

	mu      sync.Mutex
	screen  *vt.Emulator
	changed time.Time
}

func start(cmd *exec.Cmd, columns, rows int) (*terminal, error) {
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Cols: uint16(columns), Rows: uint16(rows)})
	if err != nil {
		return nil, err
	}
	t := &terminal{cmd: cmd, tty: tty, screen: vt.NewEmulator(columns, rows), changed: time.Now()}
	t.all.Go(func() { _, _ = io.Copy(t, tty) })        // until the program has ended
	t.all.Go(func() { _, _ = io.Copy(tty, t.screen) }) // what the terminal answers, until it is closed
	return t, nil
}

// Write displays output of the program.
func (t *terminal) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.changed = time.Now()
	return t.screen.Write(p)
}

// text returns the characters of the screen.
func (t *terminal) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.screen.String()
}

// wait waits until the screen contains all texts.
func (t *terminal) wait(ctx context.Context, texts []string) error {
	return t.until(ctx, fmt.Sprintf("%q", texts), func() bool {
		screen := t.text()
		return !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(screen, text) })
	})
}

// still waits until the screen does not change any more.
func (t *terminal) still(ctx context.Context) error {
	begun := time.Now()
	return t.until(ctx, "a still screen", func() bool {
		t.mu.Lock()
		defer t.mu.Unlock()
		return time.Since(t.changed) > still && time.Since(begun) > still
	})
}

func (t *terminal) until(ctx context.Context, what string, so func() bool) error {
	tick := time.NewTicker(look)
	defer tick.Stop()
	for deadline := time.Now().Add(patience); !so(); {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case now := <-tick.C:
			if now.After(deadline) {
				return fmt.Errorf("no %s; the screen is\n%s", what, t.text())
			}
		}
	}
	return nil
}

// end waits until the program has ended, and ends it if it does not.
func (t *terminal) end() error {
	timer := time.AfterFunc(patience, func() { _ = t.cmd.Process.Kill() })
	err := t.cmd.Wait()
	timer.Stop()
	_ = t.screen.Close()
	_ = t.tty.Close()
	t.all.Wait()
	return err
}
