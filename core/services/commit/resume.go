package commit

import (
	"context"
	"errors"
	"io/fs"
)

// ResumeRequest is a change of a set that a killed process staged.
type ResumeRequest struct {
	SetRequest        // From and Data are ignored
	Exchanging bool   // exchanges may have been made; otherwise only temporary files
	New        string // lower-case hex SHA-256 of the new content, "" for a removal
	NewSize    int64  // of the new content, in bytes; negative: unknown
}

// Resume returns the change in the state in which the process left it, for [Staged.Undo] or
// [Staged.Drop]. Errors are those of [Locks.Stage] for an invalid request.
func (l *Locks) Resume(ctx context.Context, r ResumeRequest) (*Staged, error) {
	s, err := l.staged(r.SetRequest)
	if err != nil {
		return nil, err
	}
	if !r.Remove {
		s.sum, s.size = func() string { return r.New }, r.NewSize
	}
	s.discard(s.temp + stagedPart)
	if !r.Exchanging {
		return s, nil
	}
	s.joinNames(ctx)
	temp, tempErr := s.system.look(s.dir, s.temp)
	if errors.Is(tempErr, errWhiteout) {
		s.discard(s.temp)
	}
	found, err := s.system.look(s.dir, s.Name)
	if tempErr == nil && err == nil && temp.ino != 0 && temp.dev == found.dev && temp.ino == found.ino {
		s.discard(s.temp) // it was renamed by a link
		tempErr = fs.ErrNotExist
	}
	switch {
	case s.remove:
		s.exchanged = tempErr == nil
	case s.Base == "":
		s.exchanged = errors.Is(tempErr, fs.ErrNotExist) && err == nil && s.Holds(ctx, r.New)
	case tempErr == nil:
		w, verdict := s.examine(ctx, s.temp, s.written(), noWait)
		w.end()
		s.exchanged = verdict == foreign // the displaced file has any other content
		s.swapped = &swapped{transaction: s.transaction, swap: s.swapNames, displaced: s.temp}
	}
	return s, nil
}

// joinNames completes or reverts an exchange by links: after it the displaced file has the temporary
// name.
func (s *Staged) joinNames(ctx context.Context) {
	second := s.temp + stagedSecond
	old, err := s.system.look(s.dir, second)
	if err != nil {
		return
	}
	found, err := s.system.look(s.dir, s.Name)
	if err == nil && old.ino != 0 && old.dev == found.dev && old.ino == found.ino {
		s.discard(second)
		return
	}
	if err := s.renameNew(second, s.temp); err != nil {
		s.keep(ctx, second)
	}
}

// Drop removes the displaced file of a completed change. Any other content than the base is of
// another program, and kept next to the target.
func (s *Staged) Drop(ctx context.Context) Outcome {
	defer s.end()
	w, verdict := s.examine(ctx, s.temp, s.base(), noWait)
	switch verdict {
	case intact:
		s.discard(s.temp)
		s.rescue(ctx, w)
	case busy, foreign:
		w.release()
		s.keep(ctx, s.temp)
	case gone:
	}
	w.end()
	return Outcome{KeptFiles: s.kept}
}

// Holds reports whether the target has the content with that hash, "" if it must not exist.
func (s *Staged) Holds(ctx context.Context, sum string) bool {
	found, err := s.system.look(s.dir, s.Name)
	if err != nil || sum == "" {
		return sum == "" && errors.Is(err, fs.ErrNotExist)
	}
	if !found.mode.IsRegular() {
		return false
	}
	file, err := s.system.openRead(s.dir, s.Name)
	if err != nil {
		return false
	}
	defer closeFile(file)
	now, err := hashOf(ctx, file, unlimited)
	return err == nil && now == sum
}
