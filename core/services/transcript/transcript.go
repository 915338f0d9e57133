// Package transcript keeps conversations on disk: each session is a file of
// JSON lines that only grows, so that what was acknowledged outlives the process.
package transcript

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/fettle-dev/fettle/core/fault"
)

// Options configure a [Store]. Dir is required; any other field may be zero.
type Options struct {
	Dir string // directory of the recordings, absolute; made with mode 0700 at the first write
	// Secrets are values, as those of keys in the environment, that are masked
	// before anything is written. Those shorter than [redact.Shortest] are too
	// common for that and left as they are. What has the shape of a key, a token, or a
	// password in a URL is masked whether it is among them or not.
	Secrets []string
	// MoreSecrets returns values that are found while it is recorded: each time those
	// of before, and what has been added behind them. nil: none are.
	MoreSecrets func() []string
	MaxBytes    int64            // the longest recording of a session; 0: 512 MiB
	Now         func() time.Time // nil: time.Now
}

const defaultMaxBytes = 512 << 20

// Store is a directory of recorded sessions, those of one project. It is safe for
// concurrent use, by several processes too, and keeps nothing between calls.
type Store struct {
	o    Options
	mask masker
}

// New returns a Store. It does no I/O.
func New(o Options) *Store {
	if o.MaxBytes <= 0 {
		o.MaxBytes = defaultMaxBytes
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Store{o: o, mask: newMasker(o.Secrets, o.MoreSecrets)}
}

// latest names the session that was recorded last.
const latest = "latest"

// maxID is the longest id of a session.
const maxID = 128

// CheckID reports whether a session may have this id: 1 to 128 of the
// characters A-Z, a-z, 0-9, - and _, and not "latest", which names another. The
// error is of code invalid_config.
func CheckID(id string) error {
	const allowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	if id == "" || id == latest || len(id) > maxID || strings.Trim(id, allowed) != "" {
		return fault.New(fault.InvalidConfig, "transcript.id", fmt.Sprintf("%.*q is no id of a session.", maxID, id),
			fmt.Sprintf("Use 1 to %d letters, digits, - and _.", maxID))
	}
	return nil
}

// Names of files. A name tells when a session began and how its id begins.
const (
	filePrefix = "session-"
	fileSuffix = ".jsonl"
	timeInName = "2006-01-02T15-04"
	idInName   = 8 // characters of the id
)

// nameOf returns the name of a session's file: that with the beginning of its
// id, or, where another session has that, with all of it.
func nameOf(start time.Time, id string, whole bool) string {
	if !whole {
		id = id[:min(len(id), idInName)]
	}
	return filePrefix + start.UTC().Format(timeInName) + "-" + id + fileSuffix
}

func isRecording(name string) bool {
	return strings.HasPrefix(name, filePrefix) && strings.HasSuffix(name, fileSuffix)
}

// SideDir returns the directory for what belongs to a session and is no turn of
// it, as long answers of tools. It need not exist; whoever makes it gives it
// mode 0700. It goes with the session.
func (s *Store) SideDir(id string) (string, error) {
	if err := CheckID(id); err != nil {
		return "", err
	}
	return filepath.Join(s.o.Dir, sidePrefix+id), nil
}

const sidePrefix = "files-"

func cancelled(ctx context.Context, what string) *fault.Error {
	return fault.Wrap(fault.Cancelled, "transcript", what+" was cancelled.", "", ctx.Err())
}
