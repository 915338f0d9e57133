//go:build !linux

package process

import "os/exec"

// landlocked starts nothing: landlock is of Linux alone.
type landlocked struct {
	unconfined
	s *Service
}

func (l landlocked) begin(*exec.Cmd) error { return l.s.o.Confinement.supported() }

func supportsLandlock(bool) error {
	return unsupported("Commands cannot be confined by landlock, which is of Linux alone.",
		"Confine commands by a container, or do not confine them.")
}

// domain is for systems whose kernel confines.
type domain struct{}

func (*domain) end() {}
