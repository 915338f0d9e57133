// Package mutation is the only way by which a tool changes a file. A plan is computed in memory
// from proven bytes, and committed only if the file still has those bytes.
package mutation

import (
	"cmp"
	"context"
	"log/slog"

	"github.com/fettle-dev/fettle/core/services/commit"
	"github.com/fettle-dev/fettle/core/services/filestate"
	"github.com/fettle-dev/fettle/core/services/transaction"
	"github.com/fettle-dev/fettle/core/services/workspace"
)

// Files locates targets; *workspace.Workspace implements it.
type Files interface {
	// Writable returns the reason why p may not be changed, such as a read-only directory.
	Writable(p workspace.Path) error
	Locate(p workspace.Path) (*workspace.Location, error)
	Place(p workspace.Path) (string, error)
	MakeParents(p workspace.Path) (undo func(), err error)
}

// Committer replaces files; *commit.Committer implements it.
type Committer interface {
	Commit(ctx context.Context, r commit.Request) (commit.Outcome, error)
}

// Sets changes several files together; *transaction.Service implements it.
type Sets interface {
	Commit(ctx context.Context, operations []transaction.Operation) (transaction.Result, error)
}

// Options configure a [Service]. Files, Committer and State are required.
type Options struct {
	Files     Files
	Committer Committer
	Sets      Sets // required for [Service.CommitSet] only
	State     *filestate.Service
	Logger    *slog.Logger                 // receives refusals after the first check, as warnings; nil: none
	Hook      func(Window, workspace.Path) // called at each window, for tests; nil: none
	// Rebase commits changes with [Request.Carry] although another writer has changed the file, if
	// they carry over. Otherwise they are refused.
	Rebase bool
}

// Window is a moment of a mutation at which a test may cause a race.
type Window string

// The windows. For moments inside of the commit see commit.Step.
const (
	WindowDecided   Window = "decide-read"   // permitted by stat, not yet read
	WindowPlanned   Window = "read-confirm"  // computed, not yet approved
	WindowCommit    Window = "confirm-write" // approved, not yet checked again
	WindowRechecked Window = "check-commit"  // checked again, not yet passed to commit
)

// Service plans and commits the mutations of one conversation. It is safe for concurrent use: the
// lock of commit serializes mutations of one file.
type Service struct {
	files  Files
	commit Committer
	sets   Sets
	state  *filestate.Service
	log    *slog.Logger
	hook   func(Window, workspace.Path)
	rebase bool
}

// New returns a Service.
func New(o Options) *Service {
	s := &Service{files: o.Files, commit: o.Committer, sets: o.Sets, state: o.State, log: o.Logger, hook: o.Hook, rebase: o.Rebase}
	s.log = cmp.Or(s.log, slog.New(slog.DiscardHandler))
	return s
}

func (s *Service) at(w Window, p workspace.Path) {
	if s.hook != nil {
		s.hook(w, p)
	}
}
