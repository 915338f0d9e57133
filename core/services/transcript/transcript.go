// Package transcript stores conversations on disk. Each session is an append-only file of JSON
// lines, so that acknowledged turns outlive the process.
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
	Dir string // directory of the recordings, absolute; created with mode 0700 at the first write
	// Secrets are values, such as keys in the environment, to mask before every write. Values
	// shorter than [redact.Shortest] are too common and are not masked. Texts with the pattern of a
	// key, a token, or a password in a URL are always masked.
	Secrets []string
	// MoreSecrets returns secret values found during the recording. The list only grows at its end.
	// nil: none.
	MoreSecrets func() []string
	MaxBytes    int64            // limit of one recording; 0: 512 MiB
	Now         func() time.Time // nil: time.Now
}

const defaultMaxBytes = 512 << 20

// Store is a directory with the recorded sessions of one project. It is safe for concurrent use, by
// several processes too, and keeps nothing between calls.
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

// latest is the reference to the session with the latest line.
const latest = "latest"

// maxID is the limit of a session id, in bytes.
const maxID = 128

// CheckID validates the id of a session: 1 to 128 of the characters A-Z, a-z, 0-9, - and _, except
// the reserved "latest". The error has code invalid_config.
func CheckID(id string) error {
	const allowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	if id == "" || id == latest || len(id) > maxID || strings.Trim(id, allowed) != "" {
		return fault.New(fault.InvalidConfig, "transcript.id", fmt.Sprintf("%.*q is not a valid session id.", maxID, id),
			fmt.Sprintf("Use 1 to %d letters, digits, - and _.", maxID))
	}
	return nil
}

// File names. A name contains the start time of the session and the beginning of its id.
const (
	filePrefix = "session-"
	fileSuffix = ".jsonl"
	timeInName = "2006-01-02T15-04"
	idInName   = 8 // characters of the id
)

// nameOf returns the name of a session's file. The name contains the beginning of the id, or the
// whole id if another session has that name.
func nameOf(start time.Time, id string, whole bool) string {
	if !whole {
		id = id[:min(len(id), idInName)]
	}
	return filePrefix + start.UTC().Format(timeInName) + "-" + id + fileSuffix
}

func isRecording(name string) bool {
	return strings.HasPrefix(name, filePrefix) && strings.HasSuffix(name, fileSuffix)
}

// SideDir returns the directory for further files of a session, such as long tool results. It may
// not exist; the caller that creates it uses mode 0700. It is removed with the session.
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
