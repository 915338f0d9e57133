package commit

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/fettle-dev/fettle/core/services/workspace"
)

// A directory is listed for leftovers at each commit, but only after a multiple of the duration of
// its last listing has passed. Listing a large directory takes at most a fiftieth of the time.
const (
	sweepPause      = 50
	sweepRetry      = time.Second // after a listing that failed
	mostDirectories = 1000        // kept by a Committer
	mostLeftovers   = 1000        // kept for each directory; others wait
	leftoverBatch   = 1000        // names read at a time
)

// sweeping is the state that a Committer keeps for a directory between commits. It is read with the
// directory's turn held, and written with the Committer's lock held too.
type sweeping struct {
	ended time.Time           // of the last listing
	pause time.Duration       // between that and the next listing
	stays map[string]leftover // by name: files that were judged, reported and left
}

// leftover is a file that stays, with its state when it was judged.
type leftover struct {
	found entry  // the zero entry if it must be judged again
	sum   string // of its content; "" if unknown
}

// sweepingOf returns the state of a directory, and drops that of another one if there are too many.
func (c *Committer) sweepingOf(id dirID) *sweeping {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.swept[id]
	if s != nil {
		return s
	}
	if len(c.swept) >= mostDirectories {
		var oldest dirID
		var when time.Time
		for other, s := range c.swept {
			if when.IsZero() || s.ended.Before(when) {
				oldest, when = other, s.ended
			}
		}
		delete(c.swept, oldest)
	}
	s = &sweeping{}
	if c.swept == nil {
		c.swept = make(map[dirID]*sweeping)
	}
	c.swept[id] = s
	return s
}

// sweep handles the files that killed runs left in the directory. The directory is locked, so no
// temporary file in it belongs to a commit in progress. Garbage is removed: complete files with one
// of the two versions that their name states, and part files that are empty or complete. Any other
// file may have bytes of other programs: usually the work of another program that a commit
// displaced and could not verify, sometimes the beginning of a part file, which its name cannot
// prove. Such a file stays and the Committer reports it once, unless the same bytes are kept in the
// directory already.
func (t *transaction) sweep(ctx context.Context, directory dirID) {
	s := t.sweepingOf(directory)
	began := t.now()
	if !s.ended.IsZero() && began.Sub(s.ended) < s.pause {
		return
	}
	names, kept, err := t.leftovers(ctx)
	if err != nil {
		if ctx.Err() == nil {
			t.remember(s, sweeping{t.now(), sweepRetry, s.stays})
			t.log.Warn("directory could not be searched for leftovers", "directory", t.dirPath(), "error", err)
		}
		return
	}
	ended := t.now()
	stays := make(map[string]leftover)
	for _, name := range names {
		if len(stays) == mostLeftovers {
			break
		}
		found, err := t.system.look(t.dir, name)
		if errors.Is(err, errWhiteout) {
			t.discard(name)
		}
		if err != nil {
			continue
		}
		known, reported := s.stays[name]
		if reported && known.found == found {
			stays[name] = known
			continue
		}
		left, gone := t.settleLeftover(ctx, name, found, kept, stays)
		if ctx.Err() != nil {
			return // it could not be judged
		}
		if gone {
			continue
		}
		stays[name] = left
		if !reported {
			t.reportKept(name)
		}
	}
	t.remember(s, sweeping{ended, sweepPause * ended.Sub(began), stays})
}

func (c *Committer) remember(s *sweeping, now sweeping) {
	c.mu.Lock()
	defer c.mu.Unlock()
	*s = now
}

// settleLeftover removes a leftover that is garbage, or that has the same bytes as a file that
// stays.
func (t *transaction) settleLeftover(ctx context.Context, name string, found entry, kept []string, stays map[string]leftover) (left leftover, gone bool) {
	w, judged := t.judgeLeftover(ctx, name)
	defer w.end()
	path := filepath.Join(t.dirPath(), name)
	switch judged {
	case intact:
		if err := t.system.remove(t.dir, name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.log.Error("temporary file could not be removed", "path", path, "error", err)
			return leftover{found: found}, false
		}
		t.log.Info("removed a leftover of an interrupted write", "path", path)
		t.rescue(ctx, w)
		return left, true
	case foreign:
		if w == nil {
			return leftover{found: found}, false
		}
		for _, twin := range duplicates(w.want.sum, kept, stays) {
			if t.dropDuplicate(ctx, name, w, twin) {
				return left, true
			}
		}
		return leftover{found, w.want.sum}, false
	}
	return left, false // busy: it is judged again
}

// duplicates returns the files that may have the bytes with this hash.
func duplicates(sum string, kept []string, stays map[string]leftover) []string {
	var twins []string
	for _, name := range kept {
		if i := strings.LastIndex(name, keptInfix); strings.HasPrefix(name[i+len(keptInfix):], sum[:hashChars]) {
			twins = append(twins, name)
		}
	}
	for name, other := range stays {
		if other.sum == sum {
			twins = append(twins, name)
		}
	}
	return twins
}

// leftovers lists the files in the directory that have names of temporary files, and those with
// names of kept files.
func (t *transaction) leftovers(ctx context.Context) (found, kept []string, err error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		names, err := t.system.list(t.dir, leftoverBatch)
		for _, name := range names {
			switch {
			case strings.HasPrefix(name, tempPrefix) && (tempPattern().MatchString(name) || partPattern().MatchString(name)):
				found = append(found, name)
			case strings.Contains(name, keptInfix) && len(kept) < mostLeftovers:
				kept = append(kept, name)
			}
		}
		switch {
		case err == io.EOF:
			return found, kept, nil
		case err != nil:
			return nil, nil, err
		}
	}
}

// judgeLeftover returns intact for garbage, whose content matches its name; busy while another
// program can write to it, and foreign otherwise. The watch, which the caller ends, has the file's
// own hash; it is nil for files that are not read.
func (t *transaction) judgeLeftover(ctx context.Context, name string) (*watch, verdict) {
	found, err := t.system.look(t.dir, name)
	if err != nil || !found.mode.IsRegular() {
		return nil, foreign
	}
	file, err := t.system.openRead(t.dir, name)
	if errors.Is(err, errBusy) {
		return nil, busy
	}
	if err != nil {
		return nil, foreign
	}
	w := &watch{system: t.system, file: file, want: content{size: unlimited}}
	w.info, err = workspace.InfoOf(file)
	if err != nil || !w.info.Mode.IsRegular() {
		w.end()
		return nil, foreign
	}
	if err := w.takeLease(ctx, noWait); err != nil {
		return w, busy
	}
	if w.want.sum, err = hashOf(ctx, file, unlimited); err != nil {
		w.end()
		return nil, foreign
	}
	switch {
	case !w.quiet(ctx):
		return w, busy
	case isGarbage(name, w.want.sum, w.info.Size):
		return w, intact
	}
	return w, foreign
}

// isGarbage reports whether a commit left the content under this name: it has the hash in the name,
// or is the empty content that a part begins with.
func isGarbage(name, sum string, size int64) bool {
	if versions := tempPattern().FindStringSubmatch(name); versions != nil {
		return strings.HasPrefix(sum, versions[1]) || strings.HasPrefix(sum, versions[2])
	}
	if size == 0 {
		return true
	}
	part := partPattern().FindStringSubmatch(name)
	if part[1] == "" { // of an earlier version, without a hash in the name
		return false
	}
	whole, err := strconv.ParseInt(part[1], 16, 64)
	return err == nil && size == whole && strings.HasPrefix(sum, part[2])
}
