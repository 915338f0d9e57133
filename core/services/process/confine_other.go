//go:build !linux

package process

import "os/exec"

// landlocked starts nothing: only Linux has Landlock.
type landlocked struct {
	unconfined
	s *Service
}

func (l landlocked) begin(*exec.Cmd) error { return l.s.o.Confinement.supported() }

func supportsLandlock(bool) error {
	return unsupported("Commands cannot be confined by landlock, which only Linux has.",
		"Confine commands by a container, or do not confine them.")
}

// domain is a placeholder on systems without Landlock.
type domain struct{}

func (*domain) end() {}
