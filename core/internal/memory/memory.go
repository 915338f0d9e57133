// Package memory stores facts for later sessions: lines in a section of the user's context file,
// which the model receives in every session.
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

// Committer replaces files; *commit.Committer implements it.
type Committer interface {
	Commit(ctx context.Context, r commit.Request) (commit.Outcome, error)
}

// Options configure a [Service]. All fields are required.
type Options struct {
	Path      string // absolute path of the context file; the file and its directory need not exist
	Heading   string // heading line of the section, such as "## Added Memories"; see [HeadingOf]
	Committer Committer
}

// HeadingOf returns the heading of the section for a program: "fettle" gives "## Fettle Added
// Memories".
func HeadingOf(program string) string {
	name := []rune(program)
	if len(name) > 0 {
		name[0] = unicode.ToUpper(name[0])
	}
	return "## " + string(name) + " Added Memories"
}

// Service stores the facts of one user. It is safe for concurrent use, including other Services and
// processes on the same file: no fact is lost, and no change of another program. It holds no
// descriptor between calls.
type Service struct {
	o    Options
	turn chan struct{} // holds a token while a call of this Service saves
}

// New returns a Service. It does no I/O.
func New(o Options) *Service { return &Service{o: o, turn: make(chan struct{}, 1)} }

// Path returns the path of the context file as configured.
func (s *Service) Path() string { return s.o.Path }

// Change describes how saving a fact changes the context file.
type Change struct {
	Path      string   // the configured path; writing follows a link
	Exists    bool     // before the change; false: saving creates the file
	Before    string   // the previous text; "" for a missing file
	After     string   // the new text; equal to Before if the file already has the fact
	KeptFiles []string // absolute names of files next to it with bytes of other programs; see commit.Outcome
}

// Known reports whether the file already has the fact.
func (c Change) Known() bool { return c.Exists && c.Before == c.After }

// MaxFact is the limit of a fact, in bytes.
const MaxFact = 4 << 10

// Fact normalizes a fact to one line, without surrounding blanks and without a leading list dash.
// The error has code invalid_tool_params: the fact is empty, longer than [MaxFact], or contains
// control characters. These include the characters that change the text direction, because they
// make the user see a different text than the model.
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
		return refuse("The fact is empty.", "Give one fact, in a self-contained sentence.")
	case len(fact) > MaxFact:
		return refuse(fmt.Sprintf("The fact has %d bytes, more than the limit of %d.", len(fact), MaxFact), "Give one short fact; store longer texts in a file of the project.")
	case strings.ContainsFunc(fact, func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) }):
		return refuse("The fact has control characters.", "Give it as plain text.")
	}
	return fact, nil
}

// Preview returns the change that saving a normalized fact would make now. It writes nothing. Its
// errors are those of [Service.Save].
func (s *Service) Preview(ctx context.Context, fact string) (Change, error) {
	d, err := s.read(ctx)
	if err != nil {
		return Change{}, failed(ctx, err)
	}
	defer d.close()
	c, _, err := s.change(d, fact)
	return c, failed(ctx, err)
}

// maxTries is the limit of attempts after conflicts with other writers. Each conflict is a
// successful write of another.
const maxTries = 200

// Save appends a fact, as [Fact] returns it, to the section. A missing section is added at the end
// of the file. All other bytes are kept, including encoding and line endings: the file is replaced
// atomically, and after a conflict the change is computed again from the new content. A fact that
// the section already has is not added again.
//
// A missing file is created with mode 0666 less the umask, a missing directory with mode 0700. A
// link is followed and kept.
//
// The error has code memory_tool_execution_error or cancelled; in both cases the fact was not
// saved. The reason of a commit error is kept.
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

// try saves the fact unless another writer interferes.
func (s *Service) try(ctx context.Context, fact string) (Change, error) {
	if err := s.makeDir(); err != nil {
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
	c.KeptFiles, err = s.put(ctx, d, data)
	return c, err
}

// isConflict reports whether the file changed before the write. A file that another program has
// open for writing is not a conflict, because the commit waits for it.
func isConflict(err error) bool {
	e := fault.As(err)
	return e != nil && (e.Code == fault.FileChangedSinceRead && e.Reason != fault.OpenElsewhere ||
		e.Code == fault.EditRequiresPriorRead)
}

// pause waits for a random time, so that conflicting writers separate.
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

// failed converts an error to a fault; nil stays nil.
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

// makeDir creates the directory of the context file, after resolving links.
func (s *Service) makeDir() error {
	path, err := resolveLinks(s.o.Path)
	if err != nil {
		return err
	}
	return mkdirAll(filepath.Dir(path))
}
