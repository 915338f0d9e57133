package transcript

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/fettle-dev/fettle/core/fault"
)

// Writer records a session. It holds the lock of the session until Close, so that there is only one
// Writer, in this process or another. A record is durable when its method returns. No method stops
// when ctx ends, so that the end of a conversation is recorded too. After a failure, for example of
// a full disk, every further call returns the same error, of code session_unreadable, and the file
// keeps its previous content. A Writer is safe for concurrent use.
type Writer struct {
	store *Store
	id    string
	path  string

	mu     sync.Mutex
	f      *os.File // nil: closed
	size   int64    // of the complete lines
	turns  int      // in the history
	last   int      // number of the last turn's ID
	empty  bool     // created by this Writer, without any record
	failed error
}

// Create begins to record a new session. The error has code invalid_config for an existing or
// invalid id, otherwise session_unreadable. A session without a turn leaves no file after Close.
func (s *Store) Create(ctx context.Context, h Header) (*Writer, error) {
	if err := CheckID(h.ID); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, cancelled(ctx, "Recording the session "+h.ID)
	}
	h.Kind = cmp.Or(h.Kind, KindMain)
	if h.StartTime.IsZero() {
		h.StartTime = s.o.Now()
	}
	if err := s.makeDir(); err != nil {
		return nil, writeError(s.o.Dir, err)
	}
	_, err := s.locate(ctx, h.ID)
	if err == nil {
		return nil, fault.New(fault.InvalidConfig, "transcript.create", fmt.Sprintf("The recorded session %s already exists.", h.ID),
			"Choose another id, or resume that session.")
	}
	if fault.CodeOf(err) != fault.SessionNotFound {
		return nil, err
	}
	w, err := s.create(h)
	if err != nil {
		return nil, writeError(s.o.Dir, err)
	}
	line, err := encode(headerLine{lineSession, formatVersion, h})
	if err == nil {
		err = w.write(line)
	}
	if err == nil {
		err = syncDir(s.o.Dir)
	}
	if err != nil {
		_ = w.Close() // removes the file
		return nil, writeError(w.path, err)
	}
	return w, nil
}

// create creates the file of a session and locks it.
func (s *Store) create(h Header) (*Writer, error) {
	const flags = os.O_WRONLY | os.O_APPEND | os.O_CREATE | os.O_EXCL | openSafely
	path := filepath.Join(s.o.Dir, nameOf(h.StartTime, h.ID, false))
	f, err := os.OpenFile(path, flags, fileMode)
	if errors.Is(err, fs.ErrExist) {
		path = filepath.Join(s.o.Dir, nameOf(h.StartTime, h.ID, true))
		f, err = os.OpenFile(path, flags, fileMode)
	}
	if err != nil {
		return nil, err
	}
	if err := lockFile(f, h.ID); err != nil {
		_ = f.Close() // nothing was written
		return nil, err
	}
	return &Writer{store: s, id: h.ID, path: path, f: f, empty: true}, nil
}

// Open continues a recorded session. It locks the session, repairs a last line that a crash left
// incomplete, and returns the recorded state. The error has code session_not_found,
// session_unreadable (also if another process has the session) or cancelled.
func (s *Store) Open(ctx context.Context, id string) (*Writer, *Session, error) {
	path, err := s.locate(ctx, id)
	if err != nil {
		return nil, nil, err
	}
	f, err := s.open(path, os.O_RDWR|os.O_APPEND)
	if err != nil {
		return nil, nil, readError(path, err)
	}
	w := &Writer{store: s, id: id, path: path, f: f}
	session, err := w.resume(ctx)
	if err != nil {
		_ = closeLocked(f) // the repair is durable
		return nil, nil, err
	}
	return w, session, nil
}

func (w *Writer) resume(ctx context.Context) (*Session, error) {
	if err := lockFile(w.f, w.id); err != nil {
		return nil, err
	}
	st, err := parseRecording(ctx, w.path, w.f, true)
	if err != nil {
		return nil, err
	}
	if err := w.repair(st); err != nil {
		return nil, writeError(w.path, err)
	}
	session := st.session()
	w.turns, w.last = len(session.Turns), st.last
	if st.gaps() { // makes positions in the history equal to those in the file
		if err := w.Replace(ctx, session.History(), session.Highest); err != nil {
			return nil, err
		}
	}
	return session, nil
}

// repair completes the last line: it adds a missing line break, or truncates a partial line.
func (w *Writer) repair(st *state) error {
	w.size = st.size
	if info, err := w.f.Stat(); err != nil {
		return err
	} else if info.Mode().Perm()&^fileMode != 0 {
		if err := w.f.Chmod(fileMode); err != nil {
			return err
		}
	}
	switch {
	case st.partial == 0:
		return nil
	case st.complete:
		w.size += int64(st.partial)
		return w.write([]byte("\n"))
	}
	if err := truncate(w.f, w.size); err != nil {
		return err
	}
	return w.f.Sync()
}

// ID returns the session's id.
func (w *Writer) ID() string { return w.id }

// Path returns the path of the session's file.
func (w *Writer) Path() string { return w.path }

// Append records the next turn and assigns its ID. A Content that is not JSON is refused with code
// session_unreadable; the recording continues.
func (w *Writer) Append(_ context.Context, t Turn) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if t.Time.IsZero() {
		t.Time = w.store.o.Now()
	}
	t = w.store.mask.turn(t)
	line := turnLine{
		Type: lineTurn, ID: strconv.Itoa(w.last + 1), At: w.turns, Time: t.Time, Content: t.Content,
		Model: t.Model, Usage: t.Usage, Calls: t.Calls, Highest: t.Highest,
	}
	if _, err := peek(t.Content); err != nil {
		return w.refused(err)
	}
	if err := w.record(line); err != nil {
		return err
	}
	w.last++
	w.turns++
	w.empty = false
	return nil
}

// Rewind records that only the first keep turns of the history remain.
func (w *Writer) Rewind(_ context.Context, keep int, highest int64) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	keep = max(keep, 0)
	if keep >= w.turns {
		return w.failed
	}
	if err := w.record(rewindLine{lineRewind, w.store.o.Now(), keep, highest}); err != nil {
		return err
	}
	w.turns = keep
	return nil
}

// Replace records a new history, given as the contents of its turns.
func (w *Writer) Replace(_ context.Context, history []json.RawMessage, highest int64) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	clean := make([]json.RawMessage, len(history))
	for i, content := range history {
		if _, err := peek(content); err != nil {
			return w.refused(err)
		}
		clean[i] = w.store.mask.json(content)
	}
	if err := w.record(replaceLine{lineReplace, w.store.o.Now(), clean, highest}); err != nil {
		return err
	}
	w.turns = len(clean)
	w.empty = false
	return nil
}

// SetTitle assigns a title that replaces the beginning of the first prompt. It is truncated to 100
// characters.
func (w *Writer) SetTitle(_ context.Context, title string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.record(titleLine{lineTitle, w.store.o.Now(), titleOf(w.store.mask.text(title))})
}

// Save writes a further file of the session, such as a long tool result, to [Store.SideDir], with
// secrets masked, and returns its absolute path. name is a kind of file, such as the name of a
// tool; a number makes the file name unique.
func (w *Writer) Save(ctx context.Context, name string, data []byte) (string, error) {
	if ctx.Err() != nil {
		return "", cancelled(ctx, "Saving "+name)
	}
	dir, err := w.store.SideDir(w.id)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, dirMode); err != nil {
		return "", saveError(dir, err)
	}
	clean := strings.Map(func(r rune) rune {
		if CheckID(string(r)) != nil {
			return '-'
		}
		return r
	}, name)
	f, err := os.CreateTemp(dir, clean[:min(len(clean), 64)]+"-*.txt") // creates it with mode 0600
	if err != nil {
		return "", saveError(dir, err)
	}
	_, err = f.WriteString(w.store.mask.text(string(data)))
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		_ = os.Remove(f.Name()) // a partial file is of no use
		return "", saveError(dir, err)
	}
	return f.Name(), nil
}

func saveError(dir string, err error) *fault.Error {
	return fault.Wrap(fault.FileWriteFailure, "transcript.save", fmt.Sprintf("Writing to %s failed: %s.", dir, cause(err)),
		"Make sure that you have write permission and that the disk has free space.", err)
}

// Close ends the recording and unlocks the session. It removes a session without a record. Close is
// idempotent.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.f == nil {
		return nil
	}
	var err error
	if w.empty && canRemoveOpen {
		err = os.Remove(w.path)
	}
	if closeErr := closeLocked(w.f); err == nil {
		err = closeErr
	}
	if w.empty && !canRemoveOpen {
		err = os.Remove(w.path)
	}
	w.f, w.failed = nil, fault.New(fault.SessionUnreadable, "transcript.write", "The recording of the session "+w.id+" was ended.", "")
	return err
}

// The methods below require w.mu to be held, or w not to be shared yet.

// record writes a line about the conversation.
func (w *Writer) record(v any) error {
	if w.failed != nil {
		return w.failed
	}
	line, err := encode(v)
	if err != nil {
		return w.refused(err)
	}
	if err := w.write(line); err != nil {
		w.failed = writeError(w.path, err)
		return w.failed
	}
	return nil
}

func (w *Writer) refused(err error) error {
	return fault.Wrap(fault.SessionUnreadable, "transcript.write", "The turn was not recorded, because it cannot be encoded as JSON.", "", err)
}

// write appends a line, atomically as far as the system permits, and makes it durable. It removes
// an incomplete line.
func (w *Writer) write(line []byte) error {
	if w.size+int64(len(line)) > w.store.o.MaxBytes {
		return fmt.Errorf("it would be longer than %d bytes", w.store.o.MaxBytes)
	}
	_, err := w.f.Write(line)
	if err == nil {
		err = w.f.Sync()
	}
	if err != nil {
		_ = truncate(w.f, w.size) // otherwise the next Open does it
		return err
	}
	w.size += int64(len(line))
	return nil
}
