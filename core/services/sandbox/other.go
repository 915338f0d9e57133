//go:build !linux || (!amd64 && !arm64)

package sandbox

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

// Session is a placeholder on systems without namespaces.
type Session struct{}

// New returns a Session, which starts nothing.
func New(Options) *Session { return new(Session) }

// Start returns an error.
func (*Session) Start(*exec.Cmd, Rules) error { return Probe() }

// Busy returns false.
func (*Session) Busy() bool { return false }

// Close does nothing.
func (*Session) Close() {}

// Probe returns the reason why this system cannot confine commands by namespaces.
func Probe() error {
	return &Error{Step: "create namespaces", Err: errors.New("not supported on " + runtime.GOOS + "/" + runtime.GOARCH)}
}

// ProbeOverlay returns the reason why this system cannot show overlays.
func ProbeOverlay(string, string) error { return Probe() }

// PID returns pid.
func PID(pid int) int { return pid }

// Tree is a placeholder on systems without namespaces.
type Tree struct{}

// NewTree returns a Tree, which does nothing.
func NewTree(func(string) bool, func() bool, func() (string, error)) *Tree { return new(Tree) }

// Begin does nothing.
func (*Tree) Begin([]string, func([]string) []string) []string { return nil }

// Existing returns nothing.
func (*Tree) Existing([]string) []string { return nil }

// Sockets returns nothing.
func (*Tree) Sockets(bool) []string { return nil }

// End does nothing.
func (*Tree) End() ([]string, error) { return nil, nil }

// Cancel does nothing.
func (*Tree) Cancel() {}

// Pause does nothing.
func (*Tree) Pause() (adopt func()) { return func() {} }

// Expect does nothing.
func (*Tree) Expect([]string) (done func()) { return func() {} }

// Lasting does nothing.
func (*Tree) Lasting(int) {}

// Remove does nothing.
func (*Tree) Remove() ([]string, error) { return nil, nil }

// Close does nothing.
func (*Tree) Close() error { return nil }

// Resolve is [filepath.EvalSymlinks].
func (*Rules) Resolve(path string) (string, error) { return filepath.EvalSymlinks(path) }

// Lstat is [os.Lstat].
func (*Rules) Lstat(path string) (fs.FileInfo, error) { return os.Lstat(path) }

// Guard is a placeholder on systems without namespaces.
type Guard struct{}

// NewGuard returns a Guard, which does nothing.
func NewGuard([]Overlay, func(string) bool, func() (string, error)) *Guard { return new(Guard) }

// Begin does nothing.
func (*Guard) Begin() ([]string, error) { return nil, nil }

// End does nothing.
func (*Guard) End() ([]string, error) { return nil, nil }
