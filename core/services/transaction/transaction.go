// Package transaction changes several files together: all of them, or none.
//
// # Order of a commit
//
// A journal in the recovery directory names the temporary files, before any is written. The parent
// directories are locked in the order of their names, each target is verified, and its new bytes are
// written to a temporary file and flushed. Then the journal is marked as one of exchanges, the files
// are exchanged and verified one by one by package commit, and the journal is marked as complete.
// This is the moment at which the set has happened. At last the displaced files and the journal are
// removed.
//
// After any failure before that moment the exchanges are undone in reverse order. They need no space
// for this, because the displaced files still exist. After a kill [Service.Recover] does the same
// from the journal; after that moment it removes what is left. Versions that other programs wrote
// meanwhile are kept, as in a single commit.
//
// # What is not atomic
//
// A reader that opens several files during a commit can see new versions of some and old versions of
// others; each file is complete. The same is true after a kill until Recover runs.
package transaction

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/fettle-dev/fettle/core/services/commit"
	"github.com/fettle-dev/fettle/core/services/workspace"
)

// MaxOperations is the default of [Options.MaxOperations]. Each holds up to three descriptors.
const MaxOperations = 100

// lockWait is how long a commit waits for another set of the project.
const lockWait = 10 * time.Second

// Kind is the kind of an [Operation].
type Kind string

// Kinds.
const (
	Update Kind = "update" // replaces the content
	Create Kind = "create" // creates the file, and its missing parent directories
	Delete Kind = "delete" // removes the file; its directory stays
	Move   Kind = "move"   // creates To with the attributes of Path, and removes Path
)

// Operation is one change of a set.
type Operation struct {
	Kind Kind
	Path workspace.Path
	// To is the new path of a move. It must not exist.
	To workspace.Path
	// Base is the lower-case hex SHA-256 of the current content. It is required, except for Create,
	// which must have none.
	Base string
	// Data is the complete new content; not changed. Delete ignores it. Nil in a move keeps the
	// bytes.
	Data []byte
}

// Files locates the paths of operations; *workspace.Workspace implements it.
type Files interface {
	Resolve(path string) (workspace.Path, error)
	Writable(p workspace.Path) error
	Locate(p workspace.Path) (*workspace.Location, error)
	MakeParents(p workspace.Path) (undo func(), err error)
	OpenDir(p workspace.Path) (*workspace.Dir, error)
}

// Step names a moment of a set, for [Options.Hook]. The constants are in the order in which a
// commit reaches them; the steps of commit lie between them.
type Step string

// Steps.
const (
	StepAnnounced Step = "announced" // the journal names the temporary files; nothing else was written
	StepLocked    Step = "locked"    // parent directories exist and are locked
	StepStaged    Step = "staged"    // all new bytes are flushed
	StepJournaled Step = "journaled" // the journal is marked: exchanges may have been made
	StepExchanged Step = "exchanged" // all files are exchanged and verified
	StepCommitted Step = "committed" // the journal is marked as complete; nothing can be undone from here
	StepFinished  Step = "finished"  // the displaced files are removed
	StepUndone    Step = "undone"    // a failure: the exchanges are undone, the journal still exists
	StepClosed    Step = "closed"    // the journal is removed
)

// Options configure a [Service]. Committer is required, and Files except for [Service.Recover].
type Options struct {
	Files     Files
	Committer *commit.Committer
	// RecoveryDir is the directory of the journals, absolute and outside of every project. It is
	// created on first use, with mode 0700. "": every set is refused.
	RecoveryDir string
	// MaxOperations is the highest number of operations of a set. 0: [MaxOperations].
	MaxOperations int
	// Logger receives problems that a call cannot report to its caller. Nil: nothing is logged.
	Logger *slog.Logger
	// Hook, if set, is called at each step, on the goroutine of the call. Its error ends the commit
	// there as a failing system call would. It is for tests.
	Hook func(Step) error
}

// Service commits sets of changes. It is safe for concurrent use. Sets of one recovery directory
// run one after another, across processes.
type Service struct {
	files     Files
	committer *commit.Committer
	dir       string
	max       int
	log       *slog.Logger
	hook      func(Step) error
}

// New returns a Service. It does no I/O.
func New(o Options) *Service {
	return &Service{
		files: o.Files, committer: o.Committer, dir: o.RecoveryDir, hook: o.Hook, max: cmp.Or(o.MaxOperations, MaxOperations),
		log: cmp.Or(o.Logger, slog.New(slog.DiscardHandler)),
	}
}

func (s *Service) step(step Step) error {
	if s.hook == nil {
		return nil
	}
	return s.hook(step)
}

// Result is the result of a set.
type Result struct {
	// Files has the outcome of each operation, in order; of the new file for a move, and without
	// Info and SHA256 for a deleted one. Nil with an error.
	Files []commit.Outcome
	// Failed is the index of the operation that caused an error; -1 without an error, and for one
	// that concerns the whole set.
	Failed int
	// KeptFiles contains the absolute names of files with bytes of another program, also with an
	// error.
	KeptFiles []string
}

// Commit makes the changes of a set: all of them with a nil error, otherwise none. All paths are
// checked before anything is written.
//
// If an exchange cannot be undone, the error's message states where both versions are. If the
// journal then remains, [Service.Recover] completes the undo. An end of ctx stops the commit until
// the first exchange.
//
// Errors are *fault.Error with the codes of [commit.Committer.Commit] and [workspace.Workspace.Locate],
// and invalid_tool_params for an invalid set: no operations, too many, two on one path, or a missing
// base.
func (s *Service) Commit(ctx context.Context, operations []Operation) (Result, error) {
	p, failed, err := s.plan(operations)
	if err != nil {
		return Result{Failed: failed}, err
	}
	defer p.close()
	return s.commit(ctx, p)
}
