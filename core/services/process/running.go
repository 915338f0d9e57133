package process

import "slices"

// Running reports whether a process of the Service may be running: a background process, or one
// that an ended command had left behind when it ended.
func (s *Service) Running() bool {
	if slices.ContainsFunc(s.List(), func(i Info) bool { return i.Running }) {
		return true
	}
	s.mu.Lock()
	left := slices.Clone(s.left)
	s.mu.Unlock()
	return slices.ContainsFunc(left, func(g group) bool { return !g.empty() })
}

// KeepCreated is called before a change that the user has approved creates protected paths, and the
// returned function after it. They are then kept although confined processes are running; see
// [Confinement].IsProtected.
func (s *Service) KeepCreated() (done func()) { return s.spaces.pause() }
