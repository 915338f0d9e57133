package transcript

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/fettle-dev/fettle/core/fault"
)

// Session is a recorded session as it stands.
type Session struct {
	Header
	Path     string
	Title    string // given, else the first words of a person's; at most 100 characters
	Turns    []Turn // the history; those that replaced others have no ID
	Highest  int64  // version that the conversation was given at any time
	Updated  time.Time
	Problems []fault.Problem // what was left out
	// TakenBack are the prompts that are no longer of the history, as they were
	// interrupted before an answer, in the order in which they were taken back.
	TakenBack   []TakenBack
	Interrupted bool // as in Summary
}

// TakenBack is a prompt that was taken back.
type TakenBack struct {
	Turn
	At int // 0-based place in Turns before which it stood
}

// History returns the contents of the turns.
func (s *Session) History() []json.RawMessage {
	history := make([]json.RawMessage, len(s.Turns))
	for i, t := range s.Turns {
		history[i] = t.Content
	}
	return history
}

// Load reads a session, also one that is being recorded. Lines that cannot be
// read are left out and told in Problems. Errors are of code session_not_found,
// session_unreadable and cancelled.
func (s *Store) Load(ctx context.Context, id string) (*Session, error) {
	path, err := s.locate(ctx, id)
	if err != nil {
		return nil, err
	}
	st, err := s.read(ctx, path, true)
	if err != nil {
		return nil, err
	}
	return st.session(), nil
}

func (s *Store) read(ctx context.Context, path string, contents bool) (*state, error) {
	f, err := s.open(path, os.O_RDONLY)
	if err != nil {
		return nil, unreadable(path, err)
	}
	defer func() { _ = f.Close() }() // nothing was written
	return fold(ctx, path, f, contents)
}

func (st *state) session() *Session {
	s := &Session{
		Header: st.header, Path: st.path, Title: st.title, Highest: st.highest, Updated: st.updated, Problems: st.problems,
		Turns: make([]Turn, len(st.history)), Interrupted: st.interrupted(),
	}
	for _, t := range st.taken {
		at := 0
		for at < len(st.history) && st.history[at].at < t.at {
			at++
		}
		s.TakenBack = append(s.TakenBack, TakenBack{Turn: t.turn, At: at})
	}
	for i, k := range st.history {
		s.Turns[i] = k.turn
	}
	return s
}

// maxHeader is the longest first line of a recording, in bytes.
const maxHeader = 1 << 20

// readHeader reads the first line of a recording.
func (s *Store) readHeader(path string) (Header, error) {
	f, err := s.open(path, os.O_RDONLY)
	if err != nil {
		return Header{}, unreadable(path, err)
	}
	defer func() { _ = f.Close() }() // nothing was written
	st := &state{path: path}
	d := json.NewDecoder(io.LimitReader(f, maxHeader))
	var first json.RawMessage
	if err := d.Decode(&first); err != nil {
		return Header{}, unreadable(path, errNoRecording)
	}
	if err := st.add(first, true); err != nil {
		return Header{}, unreadable(path, err)
	}
	return st.header, nil
}

// recordings returns the paths of the directory's recordings, oldest first as their
// names tell it. A directory that does not exist has none.
func (s *Store) recordings() ([]string, error) {
	entries, err := os.ReadDir(s.o.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, unreadable(s.o.Dir, err)
	}
	var paths []string
	for _, e := range entries {
		if isRecording(e.Name()) {
			paths = append(paths, filepath.Join(s.o.Dir, e.Name()))
		}
	}
	return paths, nil
}

// locate returns the path of a session's file; of several, as copies are, that
// which was written to last. The error is of code invalid_config,
// session_not_found, session_unreadable or cancelled.
func (s *Store) locate(ctx context.Context, id string) (string, error) {
	if err := CheckID(id); err != nil {
		return "", err
	}
	paths, err := s.recordings()
	if err != nil {
		return "", err
	}
	found, when := "", time.Time{}
	var broken error
	for _, path := range paths {
		if ctx.Err() != nil {
			return "", cancelled(ctx, "Looking for the session "+id)
		}
		name := strings.TrimSuffix(filepath.Base(path), fileSuffix)
		if !strings.HasSuffix(name, "-"+id[:min(len(id), idInName)]) && !strings.HasSuffix(name, "-"+id) {
			continue
		}
		h, err := s.readHeader(path)
		if err != nil {
			broken = err
			continue
		}
		if info, err := os.Lstat(path); err == nil && h.ID == id && (found == "" || info.ModTime().After(when)) {
			found, when = path, info.ModTime()
		}
	}
	switch {
	case found != "":
		return found, nil
	case broken != nil:
		return "", broken
	}
	return "", notFound(id)
}
