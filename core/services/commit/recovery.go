package commit

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/workspace"
)

// A recovery file holds both versions of a file that is being rewritten in place: a magic line, the
// record as one line of JSON, the old bytes, the new bytes. It gets its name only when it is
// complete and flushed.
const (
	recoveryMagic  = "fettle recovery file, version 1\n"
	recoverySuffix = ".recovery"
	partSuffix     = ".part"
)

// record describes an in-place rewrite.
type record struct {
	Dir     string `json:"folder"` // the resolved directory of the file, absolute
	Name    string `json:"name"`
	Dev     uint64 `json:"dev"`
	Ino     uint64 `json:"ino"`
	Base    string `json:"base"` // hash of the old bytes
	New     string `json:"new"`  // hash of the new bytes
	OldSize int    `json:"old_size"`
	NewSize int    `json:"new_size"`

	old, new []byte
}

// LeftoverState is the outcome of a write that a killed run left.
type LeftoverState string

// States of a [Leftover].
const (
	LeftoverFinished   LeftoverState = "finished"   // it was half done; the new version is complete now
	LeftoverUndone     LeftoverState = "undone"     // a set of changes was half done; all files have their old versions now
	LeftoverClean      LeftoverState = "clean"      // the file had one complete version; nothing was done
	LeftoverUnresolved LeftoverState = "unresolved" // another program has changed or moved the file; nothing was done
)

// Leftover is one recovery file that [Committer.Recover] found, or the journal of a set of changes.
type Leftover struct {
	Path   string        // the file that was being rewritten, "" if the recovery file does not name it
	Record string        // the recovery file or journal; gone unless State is unresolved
	State  LeftoverState // the outcome
	Detail string        // a sentence for users

	Set       []string // the paths of a set of changes; nil for a rewrite in place
	KeptFiles []string // of a set: absolute names of files with bytes of another program
}

// Recover completes the rewrites that killed runs left unfinished in the recovery directory. A file
// that another program has changed or replaced is not touched, and neither is its recovery file.
// Recover should be called at start-up; it does not touch the files of commits in progress. The
// error concerns the directory as a whole, or an ended ctx (code cancelled).
func (c *Committer) Recover(ctx context.Context) ([]Leftover, error) {
	if c.options.RecoveryDir == "" {
		return nil, nil
	}
	entries, err := os.ReadDir(c.options.RecoveryDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fault.Wrap(fault.ReadContentFailure, op,
			fmt.Sprintf("The recovery directory %s cannot be read.", c.options.RecoveryDir), "", err)
	}
	var found []Leftover
	for _, entry := range entries {
		path := filepath.Join(c.options.RecoveryDir, entry.Name())
		switch {
		case strings.HasSuffix(path, partSuffix):
			c.removePart(path)
		case strings.HasSuffix(path, recoverySuffix):
			left, err := c.recoverFile(ctx, path)
			if isCancelled(err) {
				return found, cancelled(path, err)
			}
			if err != nil {
				left.State, left.Detail = LeftoverUnresolved, err.Error()
			}
			if left.State != "" {
				left.Record = path
				found = append(found, left)
			}
		}
	}
	return found, nil
}

// removePart removes an incomplete recovery file, unless its writer may be alive. Its writer has the
// lock until the file has its own name; see createPart.
func (c *Committer) removePart(path string) {
	f, err := os.Open(path)
	if err != nil {
		return
	}
	defer closeFile(f)
	if err := c.system.tryLock(f); err != nil || !names(path, f) {
		return
	}
	if err := os.Remove(path); err != nil {
		c.log.Warn("part of a recovery file could not be removed", "path", path, "error", err)
	}
}

// recoverFile handles one recovery file. An empty state means that it belonged to a commit that has
// ended meanwhile.
func (c *Committer) recoverFile(ctx context.Context, path string) (Leftover, error) {
	rec, err := readRecord(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Leftover{}, nil
	}
	if err != nil {
		return Leftover{}, err
	}
	left := Leftover{Path: filepath.Join(rec.Dir, rec.Name)}
	dir, err := os.Open(rec.Dir)
	if err != nil {
		return left, err
	}
	defer closeFile(dir)
	directory, unlock, err := c.lock(ctx, dir)
	if err != nil {
		return left, err
	}
	defer unlock()
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return Leftover{}, nil
	}
	t := c.begin(Request{Dir: dir, Name: rec.Name, Path: left.Path, Data: rec.new, Base: rec.Base}, directory.file)
	t.directory = rec.Dir
	t.sum = func() string { return rec.New }
	left.State, left.Detail, err = t.complete(ctx, rec)
	if err == nil && left.State != LeftoverUnresolved {
		err = os.Remove(path)
	}
	return left, err
}

// complete restores one of the two versions of the file.
func (t *transaction) complete(ctx context.Context, rec record) (LeftoverState, string, error) {
	found, err := t.system.look(t.dir, t.Name)
	if errors.Is(err, fs.ErrNotExist) {
		return LeftoverUnresolved, t.Path + " was being rewritten in place when fettle was stopped, and no longer exists.", nil
	}
	if err != nil {
		return "", "", err
	}
	if !found.mode.IsRegular() {
		return LeftoverUnresolved, t.Path + " was being rewritten in place when fettle was stopped, and is no longer a regular file.", nil
	}
	file, err := t.openTarget(ctx, t.system.openWrite)
	if err != nil {
		return "", "", err
	}
	defer closeFile(file)
	info, err := workspace.InfoOf(file)
	if err != nil {
		return "", "", err
	}
	if info.Dev != rec.Dev || info.Ino != rec.Ino {
		return LeftoverUnresolved, t.Path + " was being rewritten in place when fettle was stopped, and was replaced since; its other names may hold a mixture.", nil
	}
	if err := t.lockFile(ctx, file); err != nil {
		return "", "", err
	}
	now, err := readAll(ctx, file, int64(max(len(rec.old), len(rec.new))))
	if err != nil && !errors.Is(err, errTooLong) {
		return "", "", err
	}
	switch {
	case err != nil || !isMixture(now, rec.old, rec.new):
		return LeftoverUnresolved, t.Path + " was being rewritten in place when fettle was stopped, and was changed by another program since.", nil
	case bytes.Equal(now, rec.old):
		return LeftoverClean, t.Path + " holds its old version; the interrupted write had not begun.", nil
	case bytes.Equal(now, rec.new):
		return LeftoverClean, t.Path + " holds its new version; the interrupted write was complete.", t.system.sync(file)
	}
	if err := t.overwrite(file, rec.new); err != nil {
		return "", "", err
	}
	if err := t.system.sync(file); err != nil {
		return "", "", err
	}
	return LeftoverFinished, t.Path + " was half rewritten when fettle was stopped; its new version is complete now.", nil
}

// isMixture reports whether an interrupted overwrite of old by new can have left now: every byte
// comes from one of them at the same place.
func isMixture(now, old, new []byte) bool {
	if len(now) < min(len(old), len(new)) || len(now) > max(len(old), len(new)) {
		return false
	}
	for i, b := range now {
		if (i >= len(old) || b != old[i]) && (i >= len(new) || b != new[i]) {
			return false
		}
	}
	return true
}

// saveRecord writes a recovery file, flushes it, and returns its path.
func (c *Committer) saveRecord(rec record) (path string, err error) {
	rec.OldSize, rec.NewSize = len(rec.old), len(rec.new)
	header, err := json.Marshal(rec)
	if err != nil {
		return "", err
	}
	directory := c.options.RecoveryDir
	if err := os.MkdirAll(directory, 0o700); err != nil {
		return "", err
	}
	f, path, locked, err := c.createPart(directory)
	if err != nil {
		return "", err
	}
	part := path + partSuffix
	err = c.writeRecord(f, header, rec)
	if locked {
		defer closeFile(f) // it is flushed; until then no session removes it
	} else if closing := f.Close(); err == nil { // such systems may not rename an open file
		err = closing
	}
	if err == nil {
		err = os.Rename(part, path)
	}
	if err != nil {
		return "", errors.Join(err, os.Remove(part))
	}
	if err := c.syncDirectory(directory); err != nil {
		return "", errors.Join(err, os.Remove(path))
	}
	return path, nil
}

// createPart creates an empty recovery file with the suffix for incomplete ones, and returns the path
// that it gets. It is locked, unless the file system has no locks. If a starting session removes the
// file before it is locked, another one is created.
func (c *Committer) createPart(directory string) (f *os.File, path string, locked bool, err error) {
	const attempts = 100
	for range attempts {
		path = filepath.Join(directory, randomName()+recoverySuffix)
		part := path + partSuffix
		if f, err = os.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600); err != nil {
			return nil, "", false, err
		}
		err = c.system.tryLock(f)
		switch {
		case errors.Is(err, errors.ErrUnsupported):
			return f, path, false, nil
		case err == nil && names(part, f):
			return f, path, true, nil
		case err == nil:
			err = errBusy
		}
		closeFile(f)
		if removing := os.Remove(part); !errors.Is(err, errBusy) {
			return nil, "", false, errors.Join(err, removing)
		}
	}
	return nil, "", false, err
}

// names reports whether a path is a name of an open file.
func names(path string, f *os.File) bool {
	at, err := os.Lstat(path)
	if err != nil {
		return false
	}
	info, err := f.Stat()
	return err == nil && os.SameFile(at, info)
}

func (c *Committer) writeRecord(f *os.File, header []byte, rec record) error {
	var offset int64
	for _, part := range [][]byte{[]byte(recoveryMagic), append(header, '\n'), rec.old, rec.new} {
		if err := c.system.writeAt(f, part, offset); err != nil {
			return err
		}
		offset += int64(len(part))
	}
	return c.system.sync(f)
}

func (c *Committer) syncDirectory(name string) error {
	dir, err := os.Open(name)
	if err != nil {
		return err
	}
	defer closeFile(dir)
	return c.system.sync(dir)
}

// readRecord reads a recovery file and checks it against its own hashes.
func readRecord(path string) (record, error) {
	var rec record
	f, err := os.Open(path)
	if err != nil {
		return rec, err
	}
	defer closeFile(f)
	in := bufio.NewReader(f)
	magic, err := in.ReadString('\n')
	if err != nil || magic != recoveryMagic {
		return rec, fmt.Errorf("%s is not a recovery file of a supported version", path)
	}
	header, err := in.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(header, &rec)
	}
	if err != nil {
		return rec, fmt.Errorf("%s is damaged: %w", path, err)
	}
	if rec.OldSize < 0 || rec.NewSize < 0 {
		return rec, fmt.Errorf("%s is damaged: it names no sizes", path)
	}
	rest, err := io.ReadAll(io.LimitReader(in, int64(rec.OldSize)+int64(rec.NewSize)+1))
	if err != nil {
		return rec, err
	}
	if rec.OldSize > len(rest) || len(rest)-rec.OldSize != rec.NewSize {
		return rec, fmt.Errorf("%s is damaged: it has %d bytes of content", path, len(rest))
	}
	rec.old, rec.new = rest[:rec.OldSize], rest[rec.OldSize:]
	if sumOf(rec.old) != rec.Base || sumOf(rec.new) != rec.New {
		return rec, fmt.Errorf("%s is damaged: its content does not match its hashes", path)
	}
	if !filepath.IsAbs(rec.Dir) || filepath.Base(rec.Name) != rec.Name {
		return rec, fmt.Errorf("%s is damaged: it does not name a file", path)
	}
	return rec, nil
}
