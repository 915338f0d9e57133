package checkpoint

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/fettle-dev/fettle/core/fault"
)

// Types of lines in a session's log.
const (
	lineSession = "session" // the first
	lineTurn    = "turn"    // a prompt of the user, or a restore
	lineTree    = "tree"    // the result of a full scan
	lineBegin   = "begin"   // an entry begins; it is on disk before the call runs
	lineEnd     = "end"     // an entry has ended, with its changes
)

const formatVersion = 1

// line is a line of a log. Which fields are set depends on its type.
type line struct {
	Type string    `json:"type"`
	Time time.Time `json:"time"`

	Version int    `json:"version,omitempty"` // session
	Session string `json:"session,omitempty"`

	Turn   int    `json:"turn,omitempty"` // turn, begin, end
	Prompt string `json:"prompt,omitempty"`

	Tree         string         `json:"tree,omitempty"` // hash of the object
	Unrestorable []Unrestorable `json:"notKept,omitempty"`
	Directories  []Name         `json:"folders,omitempty"` // that were scanned
	Notes        []string       `json:"notes,omitempty"`   // tree, end

	Number int       `json:"number,omitempty"` // begin, end: of the entry within its turn
	Kind   EntryKind `json:"kind,omitempty"`
	Call   string    `json:"call,omitempty"`
	Tool   string    `json:"tool,omitempty"`
	Agent  string    `json:"agent,omitempty"`
	About  string    `json:"about,omitempty"`
	// Everywhere: any file may be changed, otherwise only those in Files.
	Everywhere  bool     `json:"everywhere,omitempty"`
	Background  bool     `json:"background,omitempty"`
	Interrupted bool     `json:"interrupted,omitempty"`
	Files       []Change `json:"files,omitempty"` // begin: with the states before; end: the changes
}

// maxLog limits the bytes of a log that are read.
const maxLog = 512 << 20

// nameOf returns the name of a session's log without its extension.
func nameOf(session string) string {
	const allowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	if session != "" && len(session) <= 128 && strings.Trim(session, allowed) == "" {
		return session
	}
	return "s." + sumOf([]byte(session))[:32]
}

const logSuffix = ".jsonl"

func (s *Store) logPath(session string) string {
	return filepath.Join(s.sessions(), nameOf(session)+logSuffix)
}

// readLog reads the lines of a log. An incomplete last line is skipped; size is the length of the
// complete ones. Other damaged lines are skipped and counted. The error is of code
// checkpoint_failed or cancelled.
func (s *Store) readLog(ctx context.Context, path string) (lines []line, size int64, damaged int, err error) {
	info, err := os.Lstat(path)
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is not a regular file")
	}
	if err == nil && info.Size() > maxLog {
		err = fmt.Errorf("it has %d bytes, more than the limit of %d", info.Size(), int64(maxLog))
	}
	var data []byte
	if err == nil {
		data, err = os.ReadFile(path)
	}
	if err != nil {
		return nil, 0, 0, failed("The log "+filepath.Base(path)+" cannot be read", err)
	}
	for {
		if ctx.Err() != nil {
			return nil, 0, 0, cancelled(ctx, "Reading the checkpoints")
		}
		end := bytes.IndexByte(data, '\n')
		if end < 0 {
			return lines, size, damaged, nil
		}
		var l line
		if err := json.Unmarshal(data[:end], &l); err == nil {
			lines = append(lines, l)
		} else {
			damaged++
		}
		size += int64(end) + 1
		data = data[end+1:]
	}
}

// log is the log of a session, open for writing.
type log struct {
	store *Store
	f     *os.File
	size  int64 // of the complete lines
	err   error // of a write that could not be undone
	dirty bool  // there are lines that may not be on disk
}

// openLog opens a session's log, creates it if it is missing, and removes the incomplete line of a
// killed process. The caller holds the session's lock.
func (s *Store) openLog(ctx context.Context, session string) (*log, []line, error) {
	path := s.logPath(session)
	if err := os.MkdirAll(s.sessions(), dirMode); err != nil {
		return nil, nil, err
	}
	if err := os.Chmod(s.o.Dir, dirMode); err != nil {
		return nil, nil, err
	}
	var lines []line
	var size int64
	_, err := os.Lstat(path)
	if !errors.Is(err, fs.ErrNotExist) {
		if lines, size, _, err = s.readLog(ctx, path); err != nil {
			return nil, nil, err
		}
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, fileMode)
	if err != nil {
		return nil, nil, err
	}
	l := &log{store: s, f: f, size: size}
	err = f.Truncate(size)
	if err == nil && len(lines) == 0 {
		err = l.write(line{Type: lineSession, Version: formatVersion, Session: session})
	}
	if err != nil {
		_ = f.Close() // the first error is reported
		return nil, nil, err
	}
	return l, lines, nil
}

// write adds a line, or removes its incomplete part on failure. It is on disk after the next sync.
func (l *log) write(v line) error {
	if l.err != nil {
		return l.err
	}
	if v.Time.IsZero() {
		v.Time = l.store.o.Now()
	}
	text, err := json.Marshal(v)
	if err == nil {
		err = l.store.at(StepLine)
	}
	if err != nil {
		return err
	}
	text = append(text, '\n')
	if _, err := l.f.WriteAt(text, l.size); err != nil {
		if undo := l.f.Truncate(l.size); undo != nil {
			l.err = err
		}
		return err
	}
	l.size += int64(len(text))
	l.dirty = true
	return nil
}

// sync flushes all lines to disk.
func (l *log) sync() error {
	if !l.dirty {
		return nil
	}
	if err := l.f.Sync(); err != nil {
		return err
	}
	l.dirty = false
	return nil
}

func (l *log) close() error {
	err := l.sync()
	if closeErr := l.f.Close(); err == nil {
		err = closeErr
	}
	return err
}

// tryLock takes the lock of a session, or returns an error of code checkpoint_failed if another
// process holds it.
func (s *Store) tryLock(ctx context.Context, session string) (unlock func(), err error) {
	if err := os.MkdirAll(s.sessions(), dirMode); err != nil {
		return nil, failed("The checkpoints cannot be written", err)
	}
	unlock, err = lock(ctx, filepath.Join(s.sessions(), nameOf(session)+".lock"), lockWait)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return nil, fault.New(fault.CheckpointFailed, "checkpoint.lock", fmt.Sprintf("The checkpoints of the session %.80q are in use by another process.", session),
			"End that process first, or restore there.")
	}
	if err != nil {
		return nil, failed("The checkpoints cannot be locked", err)
	}
	return unlock, nil
}

// enter takes the lock of a session, once no clean-up is running.
func (s *Store) enter(ctx context.Context, session string) (unlock func(), err error) {
	if err := os.MkdirAll(s.sessions(), dirMode); err != nil {
		return nil, err
	}
	leave, err := lock(ctx, filepath.Join(s.o.Dir, lockFile), gcWait)
	if err != nil {
		return nil, err
	}
	defer leave()
	return s.tryLock(ctx, session)
}
