// Package checkpoint keeps what files held before a session changed them, by
// hash and outside the project, tells what each call has changed, and takes
// chosen changes back without losing what came later.
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

// Limits of what is kept where [Options] say nothing else.
const (
	DefaultMaxFile  = 5 << 20   // bytes of a file that a look at everything keeps
	DefaultMaxTotal = 500 << 20 // bytes of all files of one project as it is now
	DefaultMaxFiles = 200_000   // files that a look at everything takes in
	DefaultMaxStore = 2 << 30   // bytes of all that is kept of a project

	maxNamed = 20 << 20 // bytes of a file that a call names; the file tools change none that is larger
)

// Options configure a [Store]. Dir is required; any other field may be zero.
type Options struct {
	Dir      string // directory of the store, absolute and outside the project; made with mode 0700 when first needed
	MaxFile  int64  // 0 or less: [DefaultMaxFile]
	MaxTotal int64  // 0 or less: [DefaultMaxTotal]
	MaxFiles int    // 0 or less: [DefaultMaxFiles]
	// Skip are directories that no look at everything enters, absolute. The store
	// itself is always one of them.
	Skip   []string
	Now    func() time.Time // nil: time.Now
	Logger *slog.Logger     // nil: nothing is logged
	// Hook, if set, is called at each [Step]; its error is that of the operation, as
	// of a failing disk. For tests.
	Hook func(Step) error
}

// Step names a moment for [Options.Hook].
type Step string

// The steps.
const (
	StepObject   Step = "object"   // the bytes of a file are about to be kept
	StepLine     Step = "line"     // a line is about to be written into a session's log
	StepTaken    Step = "taken"    // all is kept that a call may change, and it has not begun
	StepRestored Step = "restored" // one file of a restore is done
)

// Store keeps what belongs to one project. It is safe for concurrent use, by
// several processes too, and holds nothing open between calls; see [Recorder]
// for what does.
type Store struct {
	o Options
}

// New returns a Store. It makes nothing.
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

// Modes of what the store makes: it is its owner's alone.
const (
	fileMode   fs.FileMode = 0o600
	folderMode fs.FileMode = 0o700
)

// Names in the store's directory.
const (
	objectsFolder  = "objects"
	sessionsFolder = "sessions"
	indexFile      = "index" // names the last tree that was kept
	lockFile       = "lock"  // held by who removes objects
)

func (s *Store) sessions() string { return filepath.Join(s.o.Dir, sessionsFolder) }

func (s *Store) at(step Step) error {
	if s.o.Hook == nil {
		return nil
	}
	return s.o.Hook(step)
}

func cancelled(ctx context.Context, what string) *fault.Error {
	return fault.Wrap(fault.Cancelled, "checkpoint", what+" was cancelled.", "", ctx.Err())
}

// failed is a failure of the store's own files.
func failed(what string, err error) *fault.Error {
	if e := fault.As(err); e != nil {
		return e
	}
	return fault.Wrap(fault.CheckpointFailed, "checkpoint", fmt.Sprintf("%s: %s.", what, cause(err)),
		"Make sure that the directory of the checkpoints may be written to and that the disk has room.", err)
}
