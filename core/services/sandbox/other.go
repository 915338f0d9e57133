//go:build !linux || (!amd64 && !arm64)

package sandbox

import (
	"errors"
	"os/exec"
	"runtime"
)

// Session is a placeholder on systems without namespaces.
type Session struct{}

// New returns a Session, which starts nothing.
func New(Options) *Session { return new(Session) }

// Start returns an error.
func (*Session) Start(*exec.Cmd, Rules) error { return Probe() }

// Close does nothing.
func (*Session) Close() {}

// Probe returns the reason why this system cannot confine commands by namespaces.
func Probe() error {
	return &Error{Step: "create namespaces", Err: errors.New("not supported on " + runtime.GOOS + "/" + runtime.GOARCH)}
}
