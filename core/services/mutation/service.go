// Package mutation is the one path by which a tool changes a file: a plan is
// computed in memory from proven bytes, and committed only if those bytes are
// still there.
package mutation

import (
	"cmp"
	"context"
	"log/slog"

	"github.com/fettle-dev/fettle/core/services/commit"
	"github.com/fettle-dev/fettle/core/services/filestate"
	"github.com/fettle-dev/fettle/core/services/workspace"
)

// Files finds the real place of a target; *workspace.Workspace has it.
type Files interface {
	// Writable says why p may not be changed, as where it may only be read.
	Writable(p workspace.Path) error
	Locate(p workspace.Path) (*workspace.Location, error)
	MakeParents(p workspace.Path) (undo func(), err error)
}

// Committer puts bytes in place; *commit.Committer has it.
type Committer interface {
	Commit(ctx context.Context, r commit.Request) (commit.Outcome, error)
}

// Options configure a [Service]. Files, Committer and State are required.
type Options struct {
	Files     Files
	Committer Committer
	State     *filestate.Service
	Logger    *slog.Logger                 // refusals after the first check, as warnings; nil: none
	Hook      func(Window, workspace.Path) // test seam, called at each window; nil: none
}

// Window names a moment of a mutation at which a test may stage a race.
type Window string

// The windows. Between check and commit proper see commit.Step.
const (
	WindowDecided   Window = "decide-read"   // allowed by stat, not read yet
	WindowPlanned   Window = "read-confirm"  // computed, not asked about yet
	WindowCommit    Window = "confirm-write" // confirmed, not checked again yet
	WindowRechecked Window = "check-commit"  // checked again, not handed to commit yet
)

// Service plans and commits the mutations of one conversation. It is safe
// for concurrent use: mutations of one file are put in order by commit's lock.
type Service struct {
	files  Files
	commit Committer
	state  *filestate.Service
	log    *slog.Logger
	hook   func(Window, workspace.Path)
}

// New returns a Service.
func New(o Options) *Service {
	s := &Service{files: o.Files, commit: o.Committer, state: o.State, log: o.Logger, hook: o.Hook}
	s.log = cmp.Or(s.log, slog.New(slog.DiscardHandler))
	return s
}

func (s *Service) at(w Window, p workspace.Path) {
	if s.hook != nil {
		s.hook(w, p)
	}
}
