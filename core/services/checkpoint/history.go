package checkpoint

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fettle-dev/fettle/core/fault"
)

// SessionInfo describes a session that has changed files.
type SessionInfo struct {
	Session string    `json:"session"`
	Updated time.Time `json:"updated"`
	Turns   int       `json:"turns"`
}

// Sessions lists the sessions that have changed files, latest first. The error is of code
// checkpoint_failed or cancelled.
func (s *Store) Sessions(ctx context.Context) ([]SessionInfo, error) {
	all, err := s.histories(ctx)
	if err != nil {
		return nil, err
	}
	infos := make([]SessionInfo, 0, len(all))
	for _, h := range slices.Backward(all) {
		infos = append(infos, SessionInfo{h.Session, h.Updated, len(h.Turns)})
	}
	return infos, nil
}

// histories returns the changes of every session, oldest first.
func (s *Store) histories(ctx context.Context) ([]*History, error) {
	entries, err := os.ReadDir(s.sessions())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, failed("The checkpoints cannot be read", err)
	}
	var all []*History
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), logSuffix) || !e.Type().IsRegular() {
			continue
		}
		h, err := s.read(ctx, filepath.Join(s.sessions(), e.Name()))
		switch {
		case fault.CodeOf(err) == fault.Cancelled:
			return nil, err
		case err != nil:
			s.o.Logger.Warn("checkpoints of a session cannot be read", "log", e.Name(), "error", err)
		case len(h.Turns) > 0:
			all = append(all, h)
		}
	}
	slices.SortFunc(all, func(a, b *History) int {
		return cmp.Or(a.Updated.Compare(b.Updated), strings.Compare(a.Session, b.Session))
	})
	return all, nil
}

// History returns the changes of a session. "" and "latest" select the latest one, and a unique
// prefix of an id is sufficient. The error is of code checkpoint_not_found, checkpoint_failed or
// cancelled.
func (s *Store) History(ctx context.Context, session string) (*History, error) {
	all, err := s.histories(ctx)
	if err != nil {
		return nil, err
	}
	return pick(all, session)
}

func pick(all []*History, session string) (*History, error) {
	if len(all) == 0 {
		return nil, fault.New(fault.CheckpointNotFound, "checkpoint.find", "No session of this project has recorded changes.", "")
	}
	if session == "" || session == "latest" {
		return all[len(all)-1], nil
	}
	var begin []*History
	for _, h := range all {
		if h.Session == session {
			return h, nil
		}
		if strings.HasPrefix(h.Session, session) {
			begin = append(begin, h)
		}
	}
	if len(begin) != 1 {
		return nil, fault.New(fault.CheckpointNotFound, "checkpoint.find", fmt.Sprintf("There are no checkpoints of a session %.80q.", session),
			"fettle sessions list lists the sessions; one without changes has no checkpoints.")
	}
	return begin[0], nil
}

// read reads a session's log.
func (s *Store) read(ctx context.Context, path string) (*History, error) {
	lines, _, damaged, err := s.readLog(ctx, path)
	if err != nil {
		return nil, err
	}
	h := &History{Session: strings.TrimSuffix(filepath.Base(path), logSuffix)}
	if damaged > 0 {
		h.Problems = append(h.Problems, fmt.Sprintf("%d lines of the log %s are damaged and were skipped.", damaged, filepath.Base(path)))
	}
	byID := map[string]*Entry{}
	for _, l := range lines {
		h.Updated = latest(h.Updated, l.Time)
		switch l.Type {
		case lineSession:
			h.Session = cmp.Or(l.Session, h.Session)
		case lineTurn:
			h.Turns = append(h.Turns, &Turn{Number: l.Turn, Time: l.Time, Prompt: l.Prompt})
		case lineTree:
			h.tree, h.Unrestorable, h.Notes = l.Tree, l.Unrestorable, l.Notes
		case lineBegin, lineEnd:
			h.enter(byID, l)
		}
	}
	for _, t := range h.Turns { // the abandoned calls during which nothing has changed
		t.Entries = slices.DeleteFunc(t.Entries, func(e *Entry) bool { return e.Kind == KindBetween && len(e.Files) == 0 })
	}
	h.Turns = slices.DeleteFunc(h.Turns, func(t *Turn) bool { return len(t.Entries) == 0 })
	return h, nil
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// enter adds the line of an entry.
func (h *History) enter(byID map[string]*Entry, l line) {
	if len(h.Turns) == 0 {
		return
	}
	t := h.Turns[len(h.Turns)-1]
	id := fmt.Sprint(l.Turn, ".", l.Number)
	e := byID[id]
	if e == nil {
		e = &Entry{
			Session: h.Session, Turn: l.Turn, Number: l.Number, Kind: l.Kind, CallID: l.Call, Tool: l.Tool, Agent: l.Agent, About: l.About,
			Begun: l.Time, Running: true, Background: l.Background, everywhere: l.Everywhere,
		}
		byID[id] = e
		for _, other := range h.Turns { // of an entry that has outlived its turn
			if other.Number == l.Turn {
				t = other
			}
		}
		t.Entries = append(t.Entries, e)
	}
	if l.Type == lineEnd {
		e.Ended, e.Running, e.Files, e.Notes = l.Time, false, l.Files, l.Notes
		e.Background, e.Interrupted = e.Background || l.Background, l.Interrupted
		if l.Kind == KindBetween { // of an abandoned call
			e.Kind, e.CallID, e.Tool, e.Agent, e.About = l.Kind, "", "", "", ""
		}
	}
}

// entries returns all entries, in order.
func (h *History) entries() []*Entry {
	var all []*Entry
	for _, t := range h.Turns {
		all = append(all, t.Entries...)
	}
	return all
}

// Selection names the entries to undo. Turn or Call is required.
type Selection struct {
	Session string // as for [Store.History]
	Turn    int    // all entries of this turn, except changes between calls, which may be those of other processes
	Since   bool   // and those of all later turns
	// Call is a single entry: its name, such as 3.2, or the model's id of the call.
	Call string
	// Partial restores the paths that can be restored and skips the others; otherwise a plan with a
	// refusal cannot be executed.
	Partial bool
}

// ParseSelection parses a turn, such as 3, or a call, such as 3.2.
func ParseSelection(text string) (Selection, error) {
	turn, number, isCall := strings.Cut(text, ".")
	n, err := strconv.Atoi(turn)
	if err == nil && isCall {
		_, err = strconv.Atoi(number)
	}
	if err != nil || n < 1 {
		return Selection{}, fault.New(fault.InvalidToolParams, "checkpoint.find", fmt.Sprintf("%.80q is neither a turn nor a call.", text),
			"Give the number of a turn, such as 3, or of a call, such as 3.2, from the list.")
	}
	if isCall {
		return Selection{Call: text}, nil
	}
	return Selection{Turn: n}, nil
}

// choose returns the selected entries.
func (w Selection) choose(h *History) ([]*Entry, error) {
	var chosen []*Entry
	for _, e := range h.entries() {
		switch {
		case w.Call != "" && (e.ID() == w.Call || e.CallID == w.Call):
			chosen = append(chosen, e)
		case w.Call == "" && (e.Turn == w.Turn || w.Since && e.Turn > w.Turn) && e.Kind != KindBetween:
			chosen = append(chosen, e)
		}
	}
	what := fmt.Sprintf("turn %d", w.Turn)
	if w.Call != "" {
		what = fmt.Sprintf("call %.80q", w.Call)
	}
	if len(chosen) == 0 {
		return nil, fault.New(fault.CheckpointNotFound, "checkpoint.find", fmt.Sprintf("The session %s has no %s with changes.", h.Session, what),
			"List the turns and calls with fettle restore.")
	}
	if w.Call != "" && len(chosen) > 1 {
		return nil, fault.New(fault.CheckpointNotFound, "checkpoint.find", fmt.Sprintf("%d calls of the session %s have the id %.80q.", len(chosen), h.Session, w.Call),
			"Name one by its number in the list, such as 3.2.")
	}
	return chosen, nil
}
