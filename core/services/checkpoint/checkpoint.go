// Package checkpoint records the changes that a session makes to files, and undoes selected changes
// without losing later ones.
//
// A [Store] keeps the content of changed files by hash, outside of the project. A [Recorder]
// records the calls of a session: [Recorder.Begin] saves the files that a call may change, and
// [ActiveCall.End] records its changes. [Store.Plan] computes how to undo a [Selection] of entries,
// and [Recorder.Restore] executes the plan.
package checkpoint

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/fettle-dev/fettle/core/fault"
)

// Default limits of [Options].
const (
	DefaultMaxFile  = 5 << 20   // bytes of a file that a full scan keeps
	DefaultMaxTotal = 500 << 20 // bytes of all current files of one project
	DefaultMaxFiles = 200_000   // files that a full scan includes
	DefaultMaxStore = 2 << 30   // bytes of everything that is kept for a project

	maxNamed = 20 << 20 // bytes of a file that a call names; the file tools change no larger file
)

// Options configure a [Store]. Dir is required; any other field may be zero.
type Options struct {
	Dir      string // directory of the store, absolute and outside of the project; created with mode 0700 on first use
	MaxFile  int64  // 0 or less: [DefaultMaxFile]
	MaxTotal int64  // 0 or less: [DefaultMaxTotal]
	MaxFiles int    // 0 or less: [DefaultMaxFiles]
	// Skip contains absolute directories that a full scan does not enter. The store itself is
	// always one of them.
	Skip   []string
	Now    func() time.Time // nil: time.Now
	Logger *slog.Logger     // nil: nothing is logged
	// Hook, if set, is called at each [Step]; its error becomes the error of the operation. It is
	// for tests.
	Hook func(Step) error
}

// Step names a moment for [Options.Hook].
type Step string

// The steps.
const (
	StepObject   Step = "object"   // the content of a file is about to be stored
	StepLine     Step = "line"     // a line is about to be written to a session's log
	StepSaved    Step = "taken"    // every file that a call may change is saved, and the call has not begun
	StepRestored Step = "restored" // one file of a restore is complete
)

// Store contains the checkpoints of one project. It is safe for concurrent use, also by several
// processes, and holds nothing open between calls; a [Recorder] does.
type Store struct {
	o Options
}

// New returns a Store. It creates no files.
func New(o Options) *Store {
	if o.MaxFile <= 0 {
		o.MaxFile = DefaultMaxFile
	}
	if o.MaxTotal <= 0 {
		o.MaxTotal = DefaultMaxTotal
	}
	if o.MaxFiles <= 0 {
		o.MaxFiles = DefaultMaxFiles
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	return &Store{o: o}
}

// Dir returns the directory of the store.
func (s *Store) Dir() string { return s.o.Dir }

// Modes of the store's files: only the owner has access.
const (
	fileMode fs.FileMode = 0o600
	dirMode  fs.FileMode = 0o700
)

// Names in the store's directory.
const (
	objectsDirectory  = "objects"
	sessionsDirectory = "sessions"
	indexFile         = "index" // names the last tree that was stored
	lockFile          = "lock"  // held while objects are removed
)

func (s *Store) sessions() string { return filepath.Join(s.o.Dir, sessionsDirectory) }

func (s *Store) at(step Step) error {
	if s.o.Hook == nil {
		return nil
	}
	return s.o.Hook(step)
}

func cancelled(ctx context.Context, what string) *fault.Error {
	return fault.Wrap(fault.Cancelled, "checkpoint", what+" was cancelled.", "", ctx.Err())
}

// failed returns an error of the store's own files.
func failed(what string, err error) *fault.Error {
	if e := fault.As(err); e != nil {
		return e
	}
	return fault.Wrap(fault.CheckpointFailed, "checkpoint", fmt.Sprintf("%s: %s.", what, cause(err)),
		"Make sure that the directory of the checkpoints is writable and that the disk has space.", err)
}
