// Package memory keeps facts for later sessions: lines in a section of the
// user's context file, which is given to the model with every session.
package memory

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"time"
	"unicode"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/commit"
)

// Committer puts bytes in place; *commit.Committer has it.
type Committer interface {
	Commit(ctx context.Context, r commit.Request) (commit.Outcome, error)
}

// Options say where facts are kept. Both texts and Committer are required.
type Options struct {
	Path      string // absolute context file, which need not exist, nor its directory
	Heading   string // of the section, a line as "## Added Memories"; see [HeadingOf]
	Committer Committer
}

// HeadingOf returns the heading of the section in the context file of a
// program of that name: "fettle" gives "## Fettle Added Memories".
func HeadingOf(program string) string {
	name := []rune(program)
	if len(name) > 0 {
		name[0] = unicode.ToUpper(name[0])
	}
	return "## " + string(name) + " Added Memories"
}

// Service keeps the facts of one user. It is safe for concurrent use, also
// beside other Services and processes on the same file: no fact is lost, and
// nobody else's change of the file. It holds no descriptor between calls.
type Service struct {
	o    Options
	turn chan struct{} // holds a token while a call of this Service saves
}

// New returns a Service. It does no I/O.
func New(o Options) *Service { return &Service{o: o, turn: make(chan struct{}, 1)} }

// Path returns the context file as given.
func (s *Service) Path() string { return s.o.Path }

// Change is what saving a fact makes of the context file.
type Change struct {
	Path   string   // the context file as given; a link is followed when it is written
	Exists bool     // before; false: it will be, or was, made
	Before string   // its text, "" where it did not exist
	After  string   // the same as Before where the file has the fact already
	Kept   []string // absolute names of files beside it that hold somebody else's bytes; see commit.Outcome
}

// Known reports whether the file has the fact already.
func (c Change) Known() bool { return c.Exists && c.Before == c.After }

// MaxFact is the longest fact, in bytes.
const MaxFact = 4 << 10

// Fact returns a fact as it is kept: on one line, without blanks around it
// and without a list's dash at its head. The error is of code
// invalid_tool_params: nothing is left, it is longer than [MaxFact], or it has
// control characters, among which those that turn the direction of writing
// count, as they show a person another text than the model gets.
func Fact(text string) (string, error) {
	var lines []string
	for line := range strings.FieldsFuncSeq(text, func(r rune) bool { return strings.ContainsRune("\n\r\t\u0085\u2028\u2029", r) }) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	fact := strings.Join(lines, " ")
	for strings.HasPrefix(fact, "- ") {
		fact = strings.TrimSpace(fact[len("- "):])
	}
	refuse := func(message, remedy string) (string, error) {
		e := fault.New(fault.InvalidToolParams, "memory.fact", message, remedy)
		e.Short = "Invalid arguments"
		return "", e
	}
	switch {
	case strings.Trim(fact, "- ") == "":
		return refuse("The fact is empty.", "Give one fact, in a sentence that can be understood by itself.")
	case len(fact) > MaxFact:
		return refuse(fmt.Sprintf("The fact has %d bytes, more than the limit of %d.", len(fact), MaxFact), "Give one short fact; keep longer texts in a file of the project.")
	case strings.ContainsFunc(fact, func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) }):
		return refuse("The fact has control characters.", "Give it as plain text.")
	}
	return fact, nil
}

// Preview returns what saving a fact, as [Fact] returns it, would change now.
// It writes nothing. Errors are those of [Service.Save].
func (s *Service) Preview(ctx context.Context, fact string) (Change, error) {
	d, err := s.read(ctx)
	if err != nil {
		return Change{}, failed(ctx, err)
	}
	defer d.close()
	c, _, err := s.change(d, fact)
	return c, failed(ctx, err)
}

// maxTries bounds how often a change is made again because somebody else has
// changed the file meanwhile. Each such conflict is another one's success.
const maxTries = 200

// Save puts a fact, as [Fact] returns it, at the end of the section, and the
// section at the end of the file if it is not there. All else is kept byte for
// byte, encoding and line endings included, whatever happens: the file
// is replaced in one step, and the change is made again on what somebody else
// has written meanwhile. A fact that the section has is not written twice.
//
// A missing file is made, with mode 0666 less the umask, and a missing directory
// with mode 0700. A link is followed and stays.
//
// The error is of code memory_tool_execution_error, or cancelled; either means
// that the fact was not saved. Where the commit's own error says more, its
// reason is kept.
func (s *Service) Save(ctx context.Context, fact string) (Change, error) {
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return Change{}, failed(ctx, ctx.Err())
	}
	for try := 1; ; try++ {
		c, err := s.try(ctx, fact)
		if err == nil || !isConflict(err) || try == maxTries {
			return c, failed(ctx, err)
		}
		if err := pause(ctx, try); err != nil {
			return Change{}, failed(ctx, err)
		}
	}
}

// try saves the fact unless somebody else is faster.
func (s *Service) try(ctx context.Context, fact string) (Change, error) {
	if err := s.makeFolder(); err != nil {
		return Change{}, err
	}
	d, err := s.read(ctx)
	if err != nil {
		return Change{}, err
	}
	defer d.close()
	c, data, err := s.change(d, fact)
	if err != nil || c.Known() {
		return c, err
	}
	c.Kept, err = s.put(ctx, d, data)
	return c, err
}

// isConflict reports whether the file was another when it was to be written.
// Who has it open for writing is waited for by the commit, and no conflict.
func isConflict(err error) bool {
	e := fault.As(err)
	return e != nil && (e.Code == fault.FileChangedSinceRead && e.Reason != fault.OpenElsewhere ||
		e.Code == fault.EditRequiresPriorRead)
}

// pause lets others finish: for a random while, so that those who are in each
// other's way part.
func pause(ctx context.Context, try int) error {
	longest := time.Duration(min(try, 20)) * time.Millisecond
	timer := time.NewTimer(rand.N(longest))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// failed gives an error its class; nil stays nil.
func failed(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	e := fault.As(err)
	if e != nil && e.Code == fault.Cancelled || ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return fault.Wrap(fault.Cancelled, "memory.save", "The call was cancelled; the fact was not saved.", "", err)
	}
	out := fault.Wrap(fault.MemoryToolExecution, "memory.save", "Saving the fact failed. ", "Ask the user to look at the context file.", err)
	if e == nil {
		out.Message += err.Error() + "."
		return out
	}
	out.Message, out.Reason = out.Message+e.Message, e.Reason
	switch {
	case e.Code == fault.FileChangedSinceRead:
		out.Remedy = "Save it again in a moment; if that fails too, ask the user which program has the context file open."
	case e.Remedy != "":
		out.Remedy = e.Remedy
	}
	return out
}

// makeFolder makes the directory of the file that the path leads to.
func (s *Service) makeFolder() error {
	path, err := follow(s.o.Path)
	if err != nil {
		return err
	}
	return mkdirAll(filepath.Dir(path))
}
