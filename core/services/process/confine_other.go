//go:build !linux

package process

import (
	"fmt"
	"os/exec"

	"github.com/fettle-dev/fettle/core/fault"
)

// landlocked starts nothing: only Linux has Landlock.
type landlocked struct {
	unconfined
	s    *Service
	read bool
}

func (l landlocked) begin(*exec.Cmd) error { return l.s.confinement().supported() }

func supportsLandlock(bool) error {
	return unsupported("Commands cannot be confined by landlock, which only Linux has.",
		"Confine commands by a container, or do not confine them.")
}

// domain is a placeholder on systems without Landlock.
type domain struct{}

func (*domain) end() {}

func namespaceRuleset([]string) func() (fd int, access uint64, release func(), err error) { return nil }

func refused(what string, err error) error {
	return fault.Wrap(fault.ShellExecuteError, confining, fmt.Sprintf("The command was not started, because it could not be confined (%s: %v).", what, err),
		"Tell the user that commands cannot be confined here.", err)
}
