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
