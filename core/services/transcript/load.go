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

// Session is the current state of a recorded session.
type Session struct {
	Header
	Path     string
	Title    string // an assigned title, otherwise the beginning of the first prompt; at most 100 characters
	Turns    []Turn // the history; the turns of a replaced history have no ID
	Highest  int64  // highest version that the conversation ever received
	Updated  time.Time
	Problems []fault.Problem // lines that were ignored
	// Withdrawn lists the prompts that were interrupted before a response, which are no longer in
	// the history. They are in the order of their withdrawal.
	Withdrawn   []WithdrawnPrompt
	Interrupted bool // as in Summary
}

// WithdrawnPrompt is a prompt that was withdrawn.
type WithdrawnPrompt struct {
	Turn
	At int // 0-based index in Turns of the turn that followed
}

// History returns the contents of the turns.
func (s *Session) History() []json.RawMessage {
	history := make([]json.RawMessage, len(s.Turns))
	for i, t := range s.Turns {
		history[i] = t.Content
	}
	return history
}

// Load reads a session, even while it is being recorded. Unreadable lines are ignored and listed in
// Problems. The error has code session_not_found, session_unreadable or cancelled.
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
		return nil, readError(path, err)
	}
	defer func() { _ = f.Close() }() // nothing was written
	return parseRecording(ctx, path, f, contents)
}

func (st *state) session() *Session {
	s := &Session{
		Header: st.header, Path: st.path, Title: st.title, Highest: st.highest, Updated: st.updated, Problems: st.problems,
		Turns: make([]Turn, len(st.history)), Interrupted: st.interrupted(),
	}
	for _, t := range st.withdrawn {
		at := 0
		for at < len(st.history) && st.history[at].at < t.at {
			at++
		}
		s.Withdrawn = append(s.Withdrawn, WithdrawnPrompt{Turn: t.turn, At: at})
	}
	for i, k := range st.history {
		s.Turns[i] = k.turn
	}
	return s
}

// maxHeader is the limit of the first line of a recording, in bytes.
const maxHeader = 1 << 20

// readHeader reads the first line of a recording.
func (s *Store) readHeader(path string) (Header, error) {
	f, err := s.open(path, os.O_RDONLY)
	if err != nil {
		return Header{}, readError(path, err)
	}
	defer func() { _ = f.Close() }() // nothing was written
	st := &state{path: path}
	d := json.NewDecoder(io.LimitReader(f, maxHeader))
	var first json.RawMessage
	if err := d.Decode(&first); err != nil {
		return Header{}, readError(path, errNotRecording)
	}
	if err := st.add(first, true); err != nil {
		return Header{}, readError(path, err)
	}
	return st.header, nil
}

// recordings returns the paths of the recordings, the oldest first according to their names. A
// missing directory has none.
func (s *Store) recordings() ([]string, error) {
	entries, err := os.ReadDir(s.o.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, readError(s.o.Dir, err)
	}
	var paths []string
	for _, e := range entries {
		if isRecording(e.Name()) {
			paths = append(paths, filepath.Join(s.o.Dir, e.Name()))
		}
	}
	return paths, nil
}

// locate returns the path of a session's file, of several copies the one modified last. The error
// has code invalid_config, session_not_found, session_unreadable or cancelled.
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
			return "", cancelled(ctx, "Searching for the session "+id)
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
