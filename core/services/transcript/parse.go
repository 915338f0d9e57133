package transcript

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/fault"
)

// kindDamaged is the kind of a file that is not, or no longer, a recording.
const kindDamaged fault.ProblemKind = "damaged"

// errNotRecording reports a first line that is not a session header. Recordings begin with one, so
// the file is damaged or something else.
var errNotRecording = errors.New("its first line is not a session header")

// maxProblems is the limit of problems that are listed individually for one file.
const maxProblems = 20

// anyLine has the keys of all line types except the header.
type anyLine struct {
	Type    string            `json:"type"`
	Version int               `json:"version"`
	ID      string            `json:"id"`
	At      int               `json:"at"`
	Time    time.Time         `json:"time"`
	Content json.RawMessage   `json:"content"`
	Model   string            `json:"model"`
	Usage   json.RawMessage   `json:"usage"`
	Calls   []ToolCall        `json:"calls"`
	Highest int64             `json:"highestVersion"`
	Keep    int               `json:"keep"`
	History []json.RawMessage `json:"history"`
	Title   string            `json:"title"`
}

// placedTurn is a turn of the history with its recorded position.
type placedTurn struct {
	at     int
	prompt bool // the turn is a prompt of the user
	turn   Turn // only its Time if contents are not kept
}

// state is the result of the lines of a file.
type state struct {
	path     string
	contents bool // keep the contents of turns

	header    Header
	hasHeader bool // the header was read
	history   []placedTurn
	withdrawn []placedTurn // withdrawn prompts
	hasPrompt bool         // there was a prompt, withdrawn or not
	title     string       // an assigned title, otherwise the beginning of the first prompt
	hasTitle  bool         // the title was assigned
	emptied   bool         // the prompt of the title was dropped with all others: the next one replaces it
	highest   int64
	last      int // number of the last turn's ID
	updated   time.Time
	problems  []fault.Problem
	omitted   int // further problems, not listed

	lines    int   // read so far
	size     int64 // of the complete lines
	partial  int   // bytes after the complete lines
	complete bool  // the partial line is complete except for its line break
}

// parseRecording reads a recording. It fails only if no part of the file is readable; other errors are listed
// as problems.
func parseRecording(ctx context.Context, path string, r io.Reader, contents bool) (*state, error) {
	st := &state{path: path, contents: contents}
	in := bufio.NewReaderSize(r, 64<<10)
	for {
		if ctx.Err() != nil {
			return nil, cancelled(ctx, "Reading recorded sessions")
		}
		line, err := in.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, readError(path, err)
		}
		whole := err == nil
		if len(line) > 0 {
			if err := st.add(line, whole); err != nil {
				return nil, readError(path, err)
			}
		}
		if !whole {
			break
		}
	}
	if !st.hasHeader {
		return nil, readError(path, fmt.Errorf("%w, because it is empty", errNotRecording))
	}
	if st.omitted > 0 {
		st.problems = append(st.problems, fault.Problem{Path: path, Message: fmt.Sprintf("%d more lines cannot be read.", st.omitted)})
	}
	return st, nil
}

// add applies the next line. It fails if the file is not a recording.
func (st *state) add(line []byte, whole bool) error {
	st.lines++
	text := bytes.TrimSuffix(line, []byte("\n"))
	err := st.apply(text)
	if !st.hasHeader {
		if err == nil {
			err = errNotRecording
		}
		return err
	}
	if whole {
		st.size += int64(len(line))
	} else {
		st.partial, st.complete = len(line), err == nil
	}
	switch {
	case err == nil:
	case !whole:
		st.problem("The last line is incomplete, because its process ended, and is ignored (%d bytes).", len(line))
	default:
		st.problem("The line cannot be read and is ignored: %s.", err)
	}
	return nil
}

func (st *state) problem(format string, args ...any) {
	if len(st.problems) == maxProblems {
		st.omitted++
		return
	}
	st.problems = append(st.problems, fault.Problem{Path: st.path, Line: st.lines, Message: fmt.Sprintf(format, args...)})
}

// apply updates the state with one line.
func (st *state) apply(text []byte) error {
	var l anyLine
	err := json.Unmarshal(text, &l)
	switch {
	case !st.hasHeader && err != nil:
		return errNotRecording
	case !st.hasHeader:
		return st.begin(l, text)
	case err != nil:
		return errors.New("it is not valid JSON of a recording")
	}
	if l.At < 0 || l.Keep < 0 {
		return errors.New("its position is negative")
	}
	switch l.Type {
	case lineTurn:
		err = st.turn(l)
	case lineRewind:
		st.withdraw(l.Keep)
	case lineReplace:
		err = st.replace(l)
	case lineTitle:
		st.title, st.hasTitle = titleOf(l.Title), true
	case lineSession:
		err = errors.New("it is a second session header")
	default:
		err = fmt.Errorf("its type %.40q is unknown", l.Type)
	}
	if err != nil {
		return err
	}
	st.highest = max(st.highest, l.Highest)
	if l.Time.After(st.updated) {
		st.updated = l.Time
	}
	return nil
}

func (st *state) begin(l anyLine, text []byte) error {
	if l.Type != lineSession {
		return nil
	}
	if l.Version > formatVersion {
		return fmt.Errorf("a newer fettle wrote it, in version %d of the format", l.Version)
	}
	var h headerLine
	if err := json.Unmarshal(text, &h); err != nil {
		return errNotRecording
	}
	if CheckID(h.ID) != nil {
		return fmt.Errorf("%w, but has the id %.*q", errNotRecording, maxID, h.ID)
	}
	st.header, st.hasHeader, st.updated = h.Header, true, h.StartTime
	return nil
}

func (st *state) turn(l anyLine) error {
	look, err := peek(l.Content)
	if err != nil {
		return err
	}
	st.rewind(l.At) // applies an unreadable rewind line, which the position of the next turn shows
	k := placedTurn{at: l.At, prompt: look.prompt, turn: Turn{Time: l.Time}}
	if st.contents {
		k.turn = Turn{ID: l.ID, Time: l.Time, Content: l.Content, Model: l.Model, Usage: l.Usage, Calls: l.Calls, Highest: l.Highest}
	}
	st.history = append(st.history, k)
	st.hasPrompt = st.hasPrompt || k.prompt
	st.entitle(look)
	var n int
	if _, err := fmt.Sscanf(l.ID, "%d", &n); err == nil {
		st.last = max(st.last, n)
	}
	return nil
}

// entitle makes the first prompt of the history the title, unless one was assigned.
func (st *state) entitle(look preview) {
	if look.title != "" && !st.hasTitle && (st.title == "" || st.emptied) {
		st.title, st.emptied = look.title, false
	}
}

// withdraw drops the turns from position keep on, and stores the prompts among them as withdrawn.
func (st *state) withdraw(keep int) {
	if st.contents {
		for _, k := range st.history {
			if k.at >= keep && k.prompt {
				st.withdrawn = append(st.withdrawn, k)
			}
		}
	}
	st.rewind(keep)
}

// rewind drops the turns from position keep on.
func (st *state) rewind(keep int) {
	n := len(st.history)
	for n > 0 && st.history[n-1].at >= keep {
		n--
	}
	clear(st.history[n:])
	st.history = st.history[:n]
	st.emptied = st.emptied || n == 0
}

// replace applies a new history. A turn that was in the history keeps what is recorded with
// it, such as the results of calls.
func (st *state) replace(l anyLine) error {
	history := make([]placedTurn, 0, len(l.History))
	before := st.history
	st.emptied = st.emptied || len(l.History) == 0
	for i, content := range l.History {
		look, err := peek(content)
		if err != nil {
			return fmt.Errorf("turn %d of the history: %w", i+1, err)
		}
		k := placedTurn{at: i, prompt: look.prompt, turn: Turn{Time: l.Time}}
		if st.contents {
			k.turn.Content, k.turn.Highest = content, l.Highest
			if n := slices.IndexFunc(before, func(old placedTurn) bool { return bytes.Equal(old.turn.Content, content) }); n >= 0 {
				k.turn, before = before[n].turn, before[n+1:]
			}
		}
		history = append(history, k)
		st.hasPrompt = st.hasPrompt || k.prompt
		st.entitle(look)
	}
	for i := range st.withdrawn { // their positions are gone; they precede the new turns
		st.withdrawn[i].at = min(st.withdrawn[i].at, len(history))
	}
	st.history = history
	return nil
}

// gaps reports whether turns are missing in the history.
func (st *state) gaps() bool {
	n := len(st.history)
	return n > 0 && st.history[n-1].at != n-1
}

// preview is a summary of a turn's content.
type preview struct {
	prompt bool
	title  string
}

func peek(content json.RawMessage) (preview, error) {
	var c struct {
		Role  string `json:"role"`
		Parts []struct {
			Text     string          `json:"text"`
			Thought  bool            `json:"thought"`
			Response json.RawMessage `json:"functionResponse"`
		} `json:"parts"`
	}
	if err := json.Unmarshal(content, &c); err != nil || c.Role != "user" && c.Role != "model" {
		return preview{}, errors.New("it contains no turn of a conversation")
	}
	var l preview
	if c.Role == "user" {
		for _, p := range c.Parts {
			if p.Response != nil {
				return preview{}, nil
			}
			if title := titleOf(p.Text); title != "" && !p.Thought && !l.prompt {
				l = preview{prompt: true, title: title}
			}
		}
	}
	return l, nil
}

// maxTitle is the limit of a title, in characters.
const maxTitle = 100

// titleOf returns the beginning of a text as one printable line.
func titleOf(text string) string { return escape.Plain(text, maxTitle) }
