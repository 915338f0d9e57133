package transaction

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/commit"
	"github.com/fettle-dev/fettle/core/services/workspace"
)

// Recover brings each set that a killed process left to all old or all new files, and reports it.
// A set with an unreadable journal, or in directories that cannot be opened, stays unresolved with
// its journal. The error concerns the recovery directory as a whole (read_content_failure), or an
// ended ctx (cancelled). A set in progress in another process ends first.
func (s *Service) Recover(ctx context.Context) ([]commit.Leftover, error) {
	if s.dir == "" {
		return nil, nil
	}
	if _, err := os.Stat(s.dir); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	found, err := s.journals()
	if err == nil && len(found) == 0 {
		return nil, nil
	}
	var unlock func()
	var held bool
	if err == nil {
		if unlock, held, err = s.lock(ctx); err == nil {
			defer unlock()
			found, err = s.journals()
		}
	}
	if err != nil {
		if ctx.Err() != nil {
			return nil, fault.WasCancelled("transaction.Recover", err)
		}
		return nil, fault.Wrap(fault.ReadContentFailure, op, fmt.Sprintf("The recovery directory %s cannot be read.", s.dir), "", err)
	}
	var left []commit.Leftover
	for _, j := range found {
		if err := ctx.Err(); err != nil {
			return left, fault.WasCancelled("transaction.Recover", err)
		}
		if j.state == partial {
			if held { // its set has ended
				s.removePart(j)
			}
			continue
		}
		l, err := s.recover(ctx, j)
		if err != nil {
			l.State, l.Detail = commit.LeftoverUnresolved, err.Error()
		}
		if l.State != "" {
			l.Record = j.path()
			left = append(left, l)
		}
	}
	return left, nil
}

// removePart removes a journal that was never announced: its set has written nothing else.
func (s *Service) removePart(j *journal) {
	if err := j.remove(); err != nil {
		s.log.Warn("part of a journal could not be removed", "path", j.path(), "error", err)
	}
}

// recover handles one set. An empty state means that its process has ended it meanwhile.
func (s *Service) recover(ctx context.Context, j *journal) (commit.Leftover, error) {
	r, err := j.read()
	if errors.Is(err, fs.ErrNotExist) {
		return commit.Leftover{}, nil
	}
	if err != nil {
		return commit.Leftover{}, err
	}
	l := commit.Leftover{Set: paths(r)}
	dirs, err := openDirs(r, j.state == announced)
	defer func() {
		for _, dir := range dirs {
			_ = dir.Close() // it was only read
		}
	}()
	if err != nil {
		return l, err
	}
	locks, err := s.committer.LockAll(ctx, slices.Collect(openOf(r, dirs)))
	if err != nil {
		return l, err
	}
	defer locks.Unlock()
	if _, err := os.Lstat(j.path()); errors.Is(err, fs.ErrNotExist) {
		return commit.Leftover{}, nil
	}
	different, err := s.settle(ctx, locks, j.state, r, dirs, &l)
	if err == nil {
		err = locks.Flush()
	}
	if err != nil {
		return l, err
	}
	if j.state != complete {
		for _, dir := range slices.Backward(r.Made) {
			_ = workspace.RemoveMade(dir, r.Files[0].Layer) // unless another program uses it
		}
	}
	l.State, l.Detail = describe(j.state, r, different)
	return l, j.remove()
}

// settle restores the old files of a set, or removes what a complete one has left. It returns the
// paths with the content of another program.
func (s *Service) settle(ctx context.Context, locks *commit.Locks, state string, r record, dirs map[string]*os.File, l *commit.Leftover) (different []string, err error) {
	for _, e := range slices.Backward(r.Files) {
		dir := dirs[e.Dir]
		if dir == nil {
			continue // it was not created
		}
		staged, err := locks.Resume(ctx, commit.ResumeRequest{
			SetRequest: commit.SetRequest{
				Request: commit.Request{Dir: dir, Name: e.Name, Path: e.Path, Base: e.Old, Layer: e.Layer},
				Remove:  e.New == "", Temp: e.Temp,
			},
			Exchanging: state != announced, New: e.New, NewSize: e.NewSize,
		})
		if err != nil {
			return nil, err
		}
		var out commit.Outcome
		want := e.New
		if state == complete {
			out = staged.Drop(ctx)
		} else {
			want = e.Old
			out, err = staged.Undo(ctx)
		}
		l.KeptFiles = append(l.KeptFiles, out.KeptFiles...)
		if err != nil {
			return nil, err
		}
		if state != announced && !staged.Holds(ctx, want) {
			different = append(different, e.Path)
		}
	}
	slices.Reverse(different)
	return different, nil
}

func describe(state string, r record, different []string) (commit.LeftoverState, string) {
	files := fmt.Sprintf("%d files (%s)", len(r.Files), strings.Join(paths(r), ", "))
	if len(r.Files) == 1 {
		files = r.Files[0].Path
	}
	var result commit.LeftoverState
	var text string
	switch state {
	case announced:
		result, text = commit.LeftoverClean, "A change of "+files+" was interrupted before it had begun; temporary files were removed."
	case exchanging:
		result, text = commit.LeftoverUndone, "A change of "+files+" was interrupted and has been undone."
	default:
		result, text = commit.LeftoverFinished, "A change of "+files+" was complete when fettle was stopped; temporary files were removed."
	}
	if len(different) > 0 {
		text += " Another program has changed meanwhile, and so decides the content of: " + strings.Join(different, ", ") + "."
	}
	return result, text
}

func paths(r record) []string {
	var names []string
	for _, e := range r.Files {
		names = append(names, e.Path)
	}
	return names
}

// openDirs opens the directories of a set by their names. Those that the set would have created may
// be missing.
func openDirs(r record, mayMiss bool) (map[string]*os.File, error) {
	dirs := make(map[string]*os.File)
	for _, e := range r.Files {
		if dirs[e.Dir] != nil {
			continue
		}
		dir, err := os.Open(e.Dir)
		if errors.Is(err, fs.ErrNotExist) && (mayMiss || slices.Contains(r.Made, e.Dir)) {
			continue
		}
		if err != nil {
			return dirs, err
		}
		dirs[e.Dir] = dir
	}
	return dirs, nil
}

// openOf yields the open directories.
func openOf(r record, dirs map[string]*os.File) func(func(*os.File) bool) {
	return func(yield func(*os.File) bool) {
		for _, e := range r.Files {
			if dir := dirs[e.Dir]; dir != nil && !yield(dir) {
				return
			}
		}
	}
}
