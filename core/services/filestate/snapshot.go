package filestate

import (
	"context"
	"errors"
	"io"
	"os"
	"time"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/textfile"
	"github.com/fettle-dev/fettle/core/services/workspace"
)

// Snapshot is a file's bytes with the stat data of the descriptor that they were read from.
type Snapshot struct {
	Info   workspace.Info
	Local  bool // on a file system with trustworthy times
	at     time.Time
	Data   []byte
	SHA256 string
	Stable bool // no process wrote during the read
}

// whole returns the reading that shows all lines of the snapshot.
func (s *Snapshot) whole(lines int) reading {
	return reading{
		info: s.Info, local: s.Local, at: s.at, sha: s.SHA256, torn: !s.Stable,
		end: lines, totalLines: lines, full: true, cacheable: s.Stable,
	}
}

// snapshotTries limits how often a disturbed read is repeated.
const snapshotTries = 3

// Snapshot reads a regular file of at most the limit FileBytes completely. It records nothing and
// allocates no version. A file that changes during the read is read again; if it keeps changing,
// the Snapshot is not Stable. Errors have the codes of [workspace.Workspace] and
// not_a_regular_file, file_too_large, read_content_failure, cancelled.
func (s *Service) Snapshot(ctx context.Context, p workspace.Path) (*Snapshot, error) {
	f, err := s.files.OpenRead(p)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return s.snapshot(ctx, p, f)
}

func (s *Service) snapshot(ctx context.Context, p workspace.Path, f *os.File) (*Snapshot, error) {
	snap := &Snapshot{Local: isLocal(f)}
	for try := 0; ; try++ {
		before, err := workspace.InfoOf(f)
		if err != nil {
			return nil, readFailure(p, err)
		}
		if c, special := textfile.ClassifyMode(before.Mode); special {
			return nil, notRegular(p, c)
		}
		if before.Size > s.limits.FileBytes {
			return nil, tooLarge(p, before.Size, s.limits.FileBytes)
		}
		snap.at = s.now()
		snap.Data, err = readAll(ctx, f, before.Size, s.limits.FileBytes)
		if err != nil {
			return nil, readFailure(p, err)
		}
		s.at(atReading, p)
		snap.Info, err = workspace.InfoOf(f)
		if err != nil {
			return nil, readFailure(p, err)
		}
		snap.Stable = before == snap.Info && int64(len(snap.Data)) == snap.Info.Size
		if snap.Stable || try == snapshotTries-1 {
			snap.SHA256 = Sum(snap.Data)
			return snap, nil
		}
	}
}

// readAll reads f from its start, at most most+1 bytes, and checks ctx between pieces.
func readAll(ctx context.Context, f *os.File, size, most int64) ([]byte, error) {
	const piece = 1 << 20
	buf := make([]byte, 0, size+1)
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if len(buf) == cap(buf) {
			buf = append(buf, 0)[:len(buf)]
		}
		n, err := f.ReadAt(buf[len(buf):min(cap(buf), len(buf)+piece)], int64(len(buf)))
		buf = buf[:len(buf)+n]
		if errors.Is(err, io.EOF) || int64(len(buf)) > most {
			return buf, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

func readFailure(p workspace.Path, err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return fault.Wrap(fault.Cancelled, "filestate.read", "Reading "+p.String()+" was cancelled.", "", err)
	}
	if e := fault.As(err); e != nil {
		return e
	}
	return fault.Wrap(fault.ReadContentFailure, "filestate.read", "Reading "+p.String()+" failed: "+err.Error()+".",
		"Check that the file still exists and is readable, then try again.", err)
}

func notRegular(p workspace.Path, c textfile.Class) error {
	if c.Kind == textfile.KindDirectory {
		return fault.New(fault.TargetIsDirectory, "filestate.read", p.String()+" is a directory, not a file.",
			"Use list_directory to see its content, and name a file in it.")
	}
	return fault.New(fault.NotARegularFile, "filestate.read", p.String()+" is a pipe, socket or device and was not opened.",
		"Name a regular file, or use a shell command if the stream itself is wanted.").Because(fault.SpecialFile)
}
