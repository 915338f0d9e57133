package process

import (
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/fettle-dev/fettle/core/services/sandbox"
)

// Names finds the protected paths that confined processes create; see [Confinement].IsProtected.
// Services that confine processes in the same directories share one, so that none of them mistakes
// what another one may create. The first Service that starts a confined command determines what is
// protected. The zero value is valid. It is safe for concurrent use.
type Names struct {
	mu       sync.Mutex
	sessions []*sandbox.Session
	tree     *sandbox.Tree // nil: no path is protected, or no confined process has run
}

// join returns the tree for the commands of a session, nil if no path is protected.
func (n *Names) join(session *sandbox.Session, c *Confinement, temp string) *sandbox.Tree {
	if c.IsProtected == nil {
		return nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if !slices.Contains(n.sessions, session) {
		n.sessions = append(n.sessions, session)
	}
	if n.tree == nil {
		dir := temp + "-removed"
		if c.Cache != "" {
			dir = filepath.Join(c.Cache, "removed")
		}
		n.tree = sandbox.NewTree(c.IsProtected, n.busy, func() (string, error) { return dir, os.MkdirAll(dir, 0o700) })
	}
	return n.tree
}

// leave ends the part of a session, whose processes have ended. The last one ends the observation;
// the error is the reason why a protected path was not moved away.
func (n *Names) leave(session *sandbox.Session) error {
	n.mu.Lock()
	n.sessions = slices.DeleteFunc(n.sessions, func(s *sandbox.Session) bool { return s == session })
	tree, last := n.tree, len(n.sessions) == 0
	n.mu.Unlock()
	if tree == nil || !last {
		return nil
	}
	return tree.Close()
}

// busy reports whether processes run that ended commands of any session have left behind.
func (n *Names) busy() bool {
	n.mu.Lock()
	sessions := slices.Clone(n.sessions)
	n.mu.Unlock()
	return slices.ContainsFunc(sessions, (*sandbox.Session).Busy)
}

// current returns the tree, nil before the first confined command.
func (n *Names) current() *sandbox.Tree {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.tree
}

// pause prepares the protected paths for an unconfined command; adopt is called after it.
func (n *Names) pause() (adopt func()) {
	if tree := n.current(); tree != nil {
		return tree.Pause()
	}
	return func() {}
}

// Keep is called before a change that the user has approved creates the given absolute paths, and
// the returned function after it. They are kept although confined processes are running, and so are
// the protected directories that contain them.
func (n *Names) Keep(paths ...string) (done func()) {
	if tree := n.current(); tree != nil {
		return tree.Expect(paths)
	}
	return func() {}
}

// Remove moves away the protected paths that running confined processes have created so far, and
// returns them, sorted, with those that no result has reported yet. The error is the reason why one
// of them still exists.
func (n *Names) Remove() ([]string, error) {
	if tree := n.current(); tree != nil {
		return tree.Remove()
	}
	return nil, nil
}
