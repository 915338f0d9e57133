// Package mention puts what a prompt names with @ into it: files as state
// objects, resources of servers, and the wish to have a subagent do the work.
package mention

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/tools"
)

// Found is what a path of a prompt leads to.
type Found struct {
	Path    string // absolute
	Folder  bool
	Ignored bool // ignore rules cover it
}

// Files tells about the files of a session.
type Files interface {
	// Look says what a path leads to, relative ones in any directory of the
	// workspace. The error is of code file_not_found, path_not_in_workspace or
	// another of those of reading, and says why the path cannot be used.
	Look(ctx context.Context, path string) (Found, error)
	// Search returns absolute paths of files whose path holds the text, at most
	// so many. Ignored ones are left out.
	Search(ctx context.Context, text string, most int) ([]string, error)
}

// Tools run calls through the session's whole path, so that policy decides and
// the files count as read.
type Tools interface {
	// Call returns the result of a call, that of a refusal included.
	Call(ctx context.Context, tool string, args json.RawMessage) tools.Result
}

// Resources are what servers offer (@server:uri).
type Resources interface {
	Has(server string) bool
	Read(ctx context.Context, server, uri string) (tools.Content, error)
}

// Options are the parts of an [Expander]. Files and Tools are required.
type Options struct {
	Files     Files
	Tools     Tools
	Resources Resources              // nil: there are none
	Agents    func(name string) bool // whether it names a subagent; nil: there are none
}

// Expander puts into prompts what they name. It keeps nothing and is safe for
// concurrent use.
type Expander struct{ o Options }

// New returns an Expander.
func New(o Options) *Expander { return &Expander{o} }

// Expanded is a prompt with what it names.
type Expanded struct {
	// Content begins with the prompt's text. It is that text alone where nothing
	// was found.
	Content tools.Content
	Files   []string // absolute paths that were read, in the order named
	Agents  []string // subagents that were named
	// Notices say, one for each name that was left as text, why.
	Notices []Notice
}

// Notice is about a name of a prompt.
type Notice struct {
	Name    string // as written, with its @
	Message string // a sentence or two, for the person
}

const (
	// maxNames bounds how many names of one prompt are looked at; further ones are
	// text.
	maxNames = 100
	// maxSearches bounds for how many names of one prompt similar files are looked
	// for.
	maxSearches = 10
)

// Expand puts into a prompt what it names (CM-13, CM-14). Each file stands
// there as the state object that read_many_files hands out, so that it counts
// as read; a directory is its files, as far as ignore rules and caps let them; a
// picture or document is data. In the prompt's text the names of files and directories
// become absolute paths.
//
// Only what a name says exactly is read, as much of a prompt may be pasted and
// mean no file at all: a name that is missing, ignored or outside stays as it is,
// with a notice. That of a missing file, if the name holds a slash or a full stop
// within, names the files that may be meant. An @ that is escaped is text, of
// which nothing is said. The error is of code cancelled.
func (e *Expander) Expand(ctx context.Context, prompt string) (Expanded, error) {
	w := &work{Expander: e, ctx: ctx}
	for i, r := range references(prompt) {
		if i == maxNames {
			w.notice(prompt[r.from:r.to], fmt.Sprintf("More than %d names are in the prompt; this and the next are text.", maxNames))
			break
		}
		w.resolve(r, prompt[r.from:r.to])
		if err := ctx.Err(); err != nil {
			return Expanded{}, fault.Wrap(fault.Cancelled, "mention.expand", "Reading what the prompt names was cancelled.", "", err)
		}
	}
	w.read()
	if err := ctx.Err(); err != nil {
		return Expanded{}, fault.Wrap(fault.Cancelled, "mention.expand", "Reading what the prompt names was cancelled.", "", err)
	}
	w.Content = tools.Content{Parts: append([]tools.Part{{Text: w.rewritten(prompt)}}, w.parts()...)}
	return w.Expanded, nil
}

// work is the expansion of one prompt.
type work struct {
	*Expander
	ctx context.Context
	Expanded

	asked   []asked
	rewrite []replacement
	content []tools.Part // what was read, between its two marks
	context []tools.Part // what hooks say of it

	searches int
}

// asked is a path, or pattern, for read_many_files.
type asked struct {
	written string // the name, as written
	pattern string
	folder  bool
}

type replacement struct {
	from, to int
	text     string
}

func (w *work) notice(name, message string) {
	w.Notices = append(w.Notices, Notice{Name: name, Message: message})
}

// place is a line and column after a path, as compilers print them.
var place = regexp.MustCompile(`:\d+(:\d+)?:?$`)

// resolve finds out what a reference names: a subagent, a resource, else a path.
func (w *work) resolve(r reference, written string) {
	if !r.quoted && w.o.Agents != nil && w.o.Agents(r.name) {
		if !slices.Contains(w.Agents, r.name) {
			w.Agents = append(w.Agents, r.name)
		}
		return
	}
	if server, uri, ok := strings.Cut(r.name, ":"); ok && uri != "" && w.o.Resources != nil && w.o.Resources.Has(server) {
		w.resource(written, server, uri)
		return
	}
	if err := usable(r.name); err != "" {
		w.notice(written, err)
		return
	}
	if strings.ContainsAny(r.name, "*?[{") && !r.quoted {
		w.ask(asked{written, r.name, true})
		return
	}
	path, at := r.name, ""
	found, err := w.o.Files.Look(w.ctx, path)
	if err != nil && place.MatchString(path) {
		at = place.FindString(path)
		if again, errAgain := w.o.Files.Look(w.ctx, strings.TrimSuffix(path, at)); errAgain == nil {
			found, err = again, nil
		}
	}
	switch {
	case err != nil:
		why := fault.MessageOf(err)
		if fault.CodeOf(err) == fault.FileNotFound {
			why += w.similar(strings.TrimSuffix(path, at))
		}
		w.notice(written, why)
	case found.Ignored:
		w.notice(written, "Ignore rules cover it, so it was not read. Ask for it in words if it is needed.")
	default:
		pattern := found.Path
		if found.Folder {
			pattern = escaped(found.Path) + "/**"
		}
		w.ask(asked{written, pattern, found.Folder})
		w.rewrite = append(w.rewrite, replacement{r.from, r.to, "@" + found.Path + at})
	}
}

// similar is a sentence about the files that a missing one's name may mean, ""
// where there are none, or where the name is but a word.
func (w *work) similar(name string) string {
	const most = 6
	inner := strings.Trim(name, "./")
	if filepath.IsAbs(name) || !strings.ContainsAny(inner, "./") || w.searches == maxSearches {
		return ""
	}
	w.searches++
	paths, err := w.o.Files.Search(w.ctx, name, most)
	if err != nil || len(paths) == 0 {
		return ""
	}
	more := ""
	if len(paths) == most {
		paths, more = paths[:most-1], " and more"
	}
	return " These have that in their path: " + strings.Join(paths, ", ") + more + "."
}

func (w *work) ask(a asked) {
	if !slices.ContainsFunc(w.asked, func(b asked) bool { return b.pattern == a.pattern }) {
		w.asked = append(w.asked, a)
	}
}

// usable says why a name cannot be a path, "" if it can.
func usable(name string) string {
	switch {
	case len(name) > 4096:
		return "The name is longer than a path can be."
	case strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return "The name holds a control character."
	}
	for part := range strings.SplitSeq(filepath.ToSlash(name), "/") {
		if len(part) > 255 {
			return "A part of the name is longer than a file's name can be."
		}
	}
	return ""
}

// escaped is a path as a pattern that means it alone.
func escaped(path string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, "{", `\{`).Replace(path)
}

// rewritten is the prompt with the paths that its names stand for.
func (w *work) rewritten(prompt string) string {
	var b strings.Builder
	at := 0
	for _, r := range w.rewrite {
		b.WriteString(prompt[at:r.from])
		b.WriteString(r.text)
		at = r.to
	}
	return b.String() + prompt[at:]
}
