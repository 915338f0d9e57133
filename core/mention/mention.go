// Package mention expands @ references in a prompt: files become state objects, server resources become content, and
// subagent names become an instruction to delegate.
package mention

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/internal/lazyregexp"
	"github.com/fettle-dev/fettle/core/tools"
)

// Found describes the target of a path in a prompt.
type Found struct {
	Path    string // absolute
	IsDir   bool
	Ignored bool // an ignore rule matches it
}

// Files finds files of a session.
type Files interface {
	// Stat returns the target of a path. A relative path may be in any directory of the workspace. The error has code
	// file_not_found, path_not_in_workspace or another code of reading, and explains why the path cannot be used.
	Stat(ctx context.Context, path string) (Found, error)
	// Search returns the absolute paths of at most most files whose path contains text. It omits ignored files.
	Search(ctx context.Context, text string, most int) ([]string, error)
}

// Tools runs calls through the scheduler, so that policy applies and the files count as read.
type Tools interface {
	// Call returns the result of a call, also if the call is denied.
	Call(ctx context.Context, tool string, args json.RawMessage) tools.Result
}

// Resources reads resources of MCP servers (@server:uri).
type Resources interface {
	Has(server string) bool
	Read(ctx context.Context, server, uri string) (tools.Content, error)
}

// Options configures an [Expander]. Files and Tools are required.
type Options struct {
	Files     Files
	Tools     Tools
	Resources Resources              // nil: no resources
	Agents    func(name string) bool // reports whether name is a subagent; nil: no subagents
}

// Expander expands the references of prompts. It is stateless and safe for concurrent use.
type Expander struct{ o Options }

// New returns an Expander.
func New(o Options) *Expander { return &Expander{o} }

// Expanded is a prompt with the content of its references.
type Expanded struct {
	// Content begins with the prompt's text, and is that text alone if no reference was resolved.
	Content tools.Content
	Files   []string // absolute paths of the files read, in the order of reference
	Agents  []string // referenced subagents
	// Notices has an entry for each reference that remains text, with the reason.
	Notices []Notice
}

// Notice explains why a reference was not resolved.
type Notice struct {
	Name    string // as written, including the @
	Message string // a sentence or two, for the user
}

const (
	// maxNames is the number of references of one prompt that are resolved; further ones remain text.
	maxNames = 100
	// maxSearches is the number of missing names of one prompt for which similar files are searched.
	maxSearches = 10
)

// Expand resolves the references of a prompt. Each file is included as the state object that read_many_files returns, so
// that it counts as read. A directory stands for its files, within ignore rules and limits; a picture or document is
// included as data. In the prompt's text, names of files and directories become absolute paths.
//
// Only exact names are read, because pasted text may contain @ without meaning a file. A name that is missing, ignored
// or outside of the workspace remains text, with a notice. The notice of a missing file suggests similar files if the
// name contains a slash or an inner full stop. An escaped @ is text and has no notice. The error has code cancelled.
func (e *Expander) Expand(ctx context.Context, prompt string) (Expanded, error) {
	w := &work{Expander: e, ctx: ctx}
	for i, r := range references(prompt) {
		if i == maxNames {
			w.notice(prompt[r.from:r.to], fmt.Sprintf("The prompt has more than %d references; this one and later ones remain text.", maxNames))
			break
		}
		w.resolve(r, prompt[r.from:r.to])
		if err := ctx.Err(); err != nil {
			return Expanded{}, fault.Wrap(fault.Cancelled, "mention.expand", "Reading the references of the prompt was cancelled.", "", err)
		}
	}
	w.read()
	if err := ctx.Err(); err != nil {
		return Expanded{}, fault.Wrap(fault.Cancelled, "mention.expand", "Reading the references of the prompt was cancelled.", "", err)
	}
	w.Content = tools.Content{Parts: append([]tools.Part{{Text: w.rewritten(prompt)}}, w.parts()...)}
	return w.Expanded, nil
}

// work is the expansion of one prompt.
type work struct {
	*Expander
	ctx context.Context
	Expanded

	requests []request
	rewrite  []replacement
	content  []tools.Part // content of the references, between its two markers
	context  []tools.Part // context added by hooks

	searches int
}

// request is a path or pattern for read_many_files.
type request struct {
	written string // the reference, as written
	pattern string
	isDir   bool
}

type replacement struct {
	from, to int
	text     string
}

func (w *work) notice(name, message string) {
	w.Notices = append(w.Notices, Notice{Name: name, Message: message})
}

// place matches the line and column after a path, as compilers print them.
var place = lazyregexp.New(`:\d+(:\d+)?:?$`)

// resolve resolves a reference to a subagent, a resource, or else a path.
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
	if err := invalidName(r.name); err != "" {
		w.notice(written, err)
		return
	}
	if strings.ContainsAny(r.name, "*?[{") && !r.quoted {
		w.ask(request{written, r.name, true})
		return
	}
	path, at := r.name, ""
	found, err := w.o.Files.Stat(w.ctx, path)
	if err != nil && place().MatchString(path) {
		at = place().FindString(path)
		if again, errAgain := w.o.Files.Stat(w.ctx, strings.TrimSuffix(path, at)); errAgain == nil {
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
		w.notice(written, "An ignore rule matches it, so it was not read. Ask the model to read it if it is needed.")
	default:
		pattern := found.Path
		if found.IsDir {
			pattern = escaped(found.Path) + "/**"
		}
		w.ask(request{written, pattern, found.IsDir})
		w.rewrite = append(w.rewrite, replacement{r.from, r.to, "@" + found.Path + at})
	}
}

// similar returns a sentence that lists files similar to a missing name. It returns "" if there are none, or if the name
// is a plain word.
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
	return " Files with a similar path: " + strings.Join(paths, ", ") + more + "."
}

func (w *work) ask(a request) {
	if !slices.ContainsFunc(w.requests, func(b request) bool { return b.pattern == a.pattern }) {
		w.requests = append(w.requests, a)
	}
}

// invalidName returns why a name is not a valid path, or "".
func invalidName(name string) string {
	switch {
	case len(name) > 4096:
		return "The name is too long for a path."
	case strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return "The name contains a control character."
	}
	for part := range strings.SplitSeq(filepath.ToSlash(name), "/") {
		if len(part) > 255 {
			return "A part of the name is too long for a file name."
		}
	}
	return ""
}

// escaped returns a path as a pattern that matches only that path.
func escaped(path string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, "{", `\{`).Replace(path)
}

// rewritten returns the prompt with the absolute paths of resolved references.
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
