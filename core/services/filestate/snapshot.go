package filestate

import (
	"bytes"
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
	Data   []byte // must not be changed: the stored state of the file may share it
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
	info, err := workspace.InfoOf(f)
	if err != nil {
		return nil, readFailure(p, err)
	}
	snap := &Snapshot{at: s.now()}
	if err := s.complete(ctx, p, f, info, snap); err != nil {
		return nil, err
	}
	return snap, nil
}

// complete reads an open file, whose stat data was before. If snap has data, it was read after that,
// at the time of snap, and is verified as the first try.
func (s *Service) complete(ctx context.Context, p workspace.Path, f *os.File, before workspace.Info, snap *Snapshot) (err error) {
	snap.Local = isLocal(f)
	for try := 0; ; try++ {
		if c, special := textfile.ClassifyMode(before.Mode); special {
			return notRegular(p, c)
		}
		if before.Size > s.limits.FileBytes {
			return tooLarge(p, before.Size, s.limits.FileBytes)
		}
		if snap.Data == nil || try > 0 {
			snap.at = s.now()
			if err := s.readInto(ctx, snap, p, f, before); err != nil {
				return readFailure(p, err)
			}
		}
		s.at(atReading, p)
		if snap.Info, err = workspace.InfoOf(f); err != nil {
			return readFailure(p, err)
		}
		snap.Stable = before == snap.Info && int64(len(snap.Data)) == snap.Info.Size
		if snap.Stable || try == snapshotTries-1 {
			if snap.SHA256 == "" {
				snap.SHA256 = Sum(snap.Data)
			}
			return nil
		}
		before = snap.Info
	}
}

// readInto reads the data of snap. If they are the bytes of the last known state, which are stored, they share its
// memory, and their hash is known too. Otherwise the hash is empty.
func (s *Service) readInto(ctx context.Context, snap *Snapshot, p workspace.Path, f *os.File, info workspace.Info) (err error) {
	snap.Data, snap.SHA256 = nil, ""
	if e, ok := s.known(p, info); ok {
		if data, ok := s.bases.inMemory(e.SHA256); ok && len(data) > 0 && int64(len(data)) == info.Size {
			same, err := hasBytes(ctx, f, data)
			if err != nil {
				return err
			}
			if same {
				snap.Data, snap.SHA256 = data, e.SHA256
				return nil
			}
		}
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	snap.Data, err = readAll(ctx, f, info.Size, s.limits.FileBytes)
	return err
}

// hasBytes reports whether f begins with data.
func hasBytes(ctx context.Context, f *os.File, data []byte) (bool, error) {
	buf := make([]byte, min(len(data), 32<<10))
	for at := 0; at < len(data); {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		n, err := f.ReadAt(buf[:min(len(buf), len(data)-at)], int64(at))
		if err != nil && !errors.Is(err, io.EOF) {
			return false, err
		}
		if n == 0 || !bytes.Equal(buf[:n], data[at:at+n]) {
			return false, nil
		}
		at += n
	}
	return true, nil
}

// readAll reads f to its end, at most most+1 bytes, and checks ctx between pieces. A short read that
// ends at size is the end of the file, which saves another read. A file that states no size, as in
// /proc, is read until its end is reported.
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
		room := min(cap(buf)-len(buf), piece)
		n, err := f.Read(buf[len(buf) : len(buf)+room])
		buf = buf[:len(buf)+n]
		if errors.Is(err, io.EOF) || int64(len(buf)) > most {
			return buf, nil
		}
		if err != nil {
			return nil, err
		}
		if n < room && size > 0 && int64(len(buf)) == size {
			return buf, nil
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
