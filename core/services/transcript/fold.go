package transcript

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/fault"
)

// kindDamaged is a file that is no recording, or not any more.
const kindDamaged fault.ProblemKind = "damaged"

// errNoRecording says that a file does not begin as recordings do, which only
// damage can have done to one.
var errNoRecording = errors.New("its first line is not that of a session")

// mostProblems is how many of one file are told one by one.
const mostProblems = 20

// anyLine has the keys of all lines but those of the header.
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

// kept is a turn of the history with its recorded place in it.
type kept struct {
	at   int
	said bool // it is of a person's words
	turn Turn // only its Time where contents are not kept
}

// state is what the lines of a file come to.
type state struct {
	path     string
	contents bool // whether contents of turns are kept

	header   Header
	begun    bool // the header was read
	history  []kept
	taken    []kept // prompts that were taken back
	spoken   bool   // a person said something, taken back or not
	title    string // given, else the first words of a person's
	titled   bool   // given
	highest  int64
	last     int // number of the last turn's ID
	updated  time.Time
	problems []fault.Problem
	more     int // problems that are not among those

	lines int   // so far
	size  int64 // of the lines that are whole
	torn  int   // bytes after them
	ended bool  // those bytes are a whole line that lacks its line break
}

// fold reads a recording. It returns an error only where the whole of it is
// not readable; what else is wrong is among the problems.
func fold(ctx context.Context, path string, r io.Reader, contents bool) (*state, error) {
	st := &state{path: path, contents: contents}
	in := bufio.NewReaderSize(r, 64<<10)
	for {
		if ctx.Err() != nil {
			return nil, cancelled(ctx, "Reading recorded sessions")
		}
		line, err := in.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, unreadable(path, err)
		}
		whole := err == nil
		if len(line) > 0 {
			if err := st.add(line, whole); err != nil {
				return nil, unreadable(path, err)
			}
		}
		if !whole {
			break
		}
	}
	if !st.begun {
		return nil, unreadable(path, fmt.Errorf("%w, as it is empty", errNoRecording))
	}
	if st.more > 0 {
		st.problems = append(st.problems, fault.Problem{Path: path, Message: fmt.Sprintf("%d more lines could not be read.", st.more)})
	}
	return st, nil
}

// add takes in the next line. The error says that the file is no recording.
func (st *state) add(line []byte, whole bool) error {
	st.lines++
	text := bytes.TrimSuffix(line, []byte("\n"))
	err := st.apply(text)
	if !st.begun {
		if err == nil {
			err = errNoRecording
		}
		return err
	}
	if whole {
		st.size += int64(len(line))
	} else {
		st.torn, st.ended = len(line), err == nil
	}
	switch {
	case err == nil:
	case !whole:
		st.problem("The last line was not finished, as the process that wrote it ended, and is left out (%d bytes).", len(line))
	default:
		st.problem("The line cannot be read and is left out: %s.", err)
	}
	return nil
}

func (st *state) problem(format string, args ...any) {
	if len(st.problems) == mostProblems {
		st.more++
		return
	}
	st.problems = append(st.problems, fault.Problem{Path: st.path, Line: st.lines, Message: fmt.Sprintf(format, args...)})
}

// apply does what a line says.
func (st *state) apply(text []byte) error {
	var l anyLine
	err := json.Unmarshal(text, &l)
	switch {
	case !st.begun && err != nil:
		return errNoRecording
	case !st.begun:
		return st.begin(l, text)
	case err != nil:
		return errors.New("it is not JSON of a recording")
	}
	if l.At < 0 || l.Keep < 0 {
		return errors.New("it names a place before the first turn")
	}
	switch l.Type {
	case lineTurn:
		err = st.turn(l)
	case lineRewind:
		st.takeBack(l.Keep)
	case lineReplace:
		err = st.replace(l)
	case lineTitle:
		st.title, st.titled = titleOf(l.Title), true
	case lineSession:
		err = errors.New("the session begins a second time")
	default:
		err = fmt.Errorf("there are no lines of type %.40q", l.Type)
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
		return errNoRecording
	}
	if CheckID(h.ID) != nil {
		return fmt.Errorf("%w, but of %.*q", errNoRecording, maxID, h.ID)
	}
	st.header, st.begun, st.updated = h.Header, true, h.StartTime
	return nil
}

func (st *state) turn(l anyLine) error {
	look, err := peek(l.Content)
	if err != nil {
		return err
	}
	st.rewind(l.At) // a rewind that cannot be read shows in the place of the next turn
	k := kept{at: l.At, said: look.said, turn: Turn{Time: l.Time}}
	if st.contents {
		k.turn = Turn{ID: l.ID, Time: l.Time, Content: l.Content, Model: l.Model, Usage: l.Usage, Calls: l.Calls, Highest: l.Highest}
	}
	st.history = append(st.history, k)
	st.spoken = st.spoken || k.said
	if st.title == "" && !st.titled {
		st.title = look.title
	}
	var n int
	if _, err := fmt.Sscanf(l.ID, "%d", &n); err == nil {
		st.last = max(st.last, n)
	}
	return nil
}

// takeBack drops the turns from a place on, and remembers the prompts among them.
func (st *state) takeBack(keep int) {
	if st.contents {
		for _, k := range st.history {
			if k.at >= keep && k.said {
				st.taken = append(st.taken, k)
			}
		}
	}
	st.rewind(keep)
}

// rewind drops the turns from a place on.
func (st *state) rewind(keep int) {
	n := len(st.history)
	for n > 0 && st.history[n-1].at >= keep {
		n--
	}
	clear(st.history[n:])
	st.history = st.history[:n]
}

func (st *state) replace(l anyLine) error {
	history := make([]kept, 0, len(l.History))
	for i, content := range l.History {
		look, err := peek(content)
		if err != nil {
			return fmt.Errorf("turn %d of the history: %w", i+1, err)
		}
		k := kept{at: i, said: look.said, turn: Turn{Time: l.Time}}
		if st.contents {
			k.turn.Content, k.turn.Highest = content, l.Highest
		}
		history = append(history, k)
		st.spoken = st.spoken || k.said
		if st.title == "" && !st.titled {
			st.title = look.title
		}
	}
	for i := range st.taken { // their places are no more; they come before what follows
		st.taken[i].at = min(st.taken[i].at, len(history))
	}
	st.history = history
	return nil
}

// gaps reports whether turns are missing among those that are there.
func (st *state) gaps() bool {
	n := len(st.history)
	return n > 0 && st.history[n-1].at != n-1
}

// look is what a turn's content shows at a glance.
type look struct {
	said  bool
	title string
}

func peek(content json.RawMessage) (look, error) {
	var c struct {
		Role  string `json:"role"`
		Parts []struct {
			Text     string          `json:"text"`
			Thought  bool            `json:"thought"`
			Response json.RawMessage `json:"functionResponse"`
		} `json:"parts"`
	}
	if err := json.Unmarshal(content, &c); err != nil || c.Role != "user" && c.Role != "model" {
		return look{}, errors.New("it holds no turn of a conversation")
	}
	var l look
	if c.Role == "user" {
		for _, p := range c.Parts {
			if p.Response != nil {
				return look{}, nil
			}
			if title := titleOf(p.Text); title != "" && !p.Thought && !l.said {
				l = look{said: true, title: title}
			}
		}
	}
	return l, nil
}

// maxTitle is the longest title, in characters.
const maxTitle = 100

// titleOf returns the beginning of a text as one line that a terminal can show.
func titleOf(text string) string { return escape.Plain(text, maxTitle) }
