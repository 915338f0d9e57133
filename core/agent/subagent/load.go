package subagent

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/internal/lockedfile"
	"github.com/fettle-dev/fettle/core/tools"
)

// Dir is a directory that may hold definitions.
type Dir struct {
	Path      string
	Scope     Scope
	Extension string // whose directory it is, for ScopeExtension
	// Expand fills variables into the text of a file before it is read. nil: none.
	Expand func(text string) string
}

// LoadOptions say where definitions are. Zero fields are none.
type LoadOptions struct {
	BuiltIn []Definition // fettle's own, and those of the embedder; see [BuiltIn]
	// Dirs are searched in the order of their scopes, and within one in
	// the order given. A caller names the project's only where it is trusted.
	Dirs []Dir
	// Reserved reports whether a name is taken, as that of a tool, so that no
	// definition of a file may have it. nil: no name is but complete_task.
	Reserved func(name string) bool
	// Tools returns those of the session, against which the lists of tools are
	// checked, where there is something to check. nil: they are not checked.
	Tools func() []tools.DeclarativeTool
	// CheckModel says what is wrong with the name of a model; such an agent runs
	// on the caller's. nil: names are not checked.
	CheckModel func(name string) error
}

// maxFolderFiles bounds how many definitions one directory gives.
const maxFolderFiles = 1000

// Load returns the available agents: first the built-in ones, then
// those of the project, the user and the extensions, each directory's by file name.
// Of two with one name the first stays, and the other is a problem. Files are
// *.md in the directory itself whose names do not begin with "_"; a directory that is
// not there holds none. What cannot be read or used loses only itself. The error
// is that of ctx.
func Load(ctx context.Context, o LoadOptions) ([]Definition, []fault.Problem, error) {
	l := &loading{o: o, by: make(map[string]Source)}
	for _, d := range o.BuiltIn {
		l.take(d)
	}
	for _, scope := range []Scope{ScopeBuiltIn, ScopeProject, ScopeUser, ScopeExtension} {
		for _, f := range o.Dirs {
			if f.Scope != scope {
				continue
			}
			if err := l.folder(ctx, f); err != nil {
				return nil, nil, err
			}
		}
	}
	return l.defs, l.problems, nil
}

// loading is one Load.
type loading struct {
	o        LoadOptions
	defs     []Definition
	by       map[string]Source
	problems []fault.Problem
}

func (l *loading) lose(path string, line int, message, remedy string) {
	l.problems = append(l.problems, fault.Problem{Path: path, Line: line, Message: message, Remedy: remedy, Severity: fault.SeverityError})
}

func (l *loading) warn(s Source, message, remedy string) {
	l.problems = append(l.problems, fault.Problem{Path: s.Path, Line: s.Line, Message: message, Remedy: remedy})
}

// folder reads a directory's definitions. The error is that of ctx.
func (l *loading) folder(ctx context.Context, f Dir) error {
	entries, err := os.ReadDir(f.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		l.lose(f.Path, 0, "The directory of agents cannot be read: "+cause(err)+".", "Check that it is a directory, and who may read it.")
		return nil
	}
	read := 0
	for _, e := range entries {
		name := e.Name()
		if e.IsDir() || strings.HasPrefix(name, "_") || !strings.EqualFold(filepath.Ext(name), ".md") {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if read++; read > maxFolderFiles {
			l.lose(f.Path, 0, fmt.Sprintf("The directory holds more than %d agents; the rest were not read.", maxFolderFiles), "")
			break
		}
		l.file(filepath.Join(f.Path, name), f)
	}
	return nil
}

func (l *loading) file(path string, f Dir) {
	data, err := lockedfile.Head(path, MaxFile+1)
	if err != nil {
		l.lose(path, 0, "The agent cannot be read: "+cause(err)+".", "Check the file, and who may read it.")
		return
	}
	if f.Expand != nil {
		data = []byte(f.Expand(string(data)))
	}
	defs, problems := Parse(data, Source{Scope: f.Scope, Path: path, Extension: f.Extension})
	l.problems = append(l.problems, problems...)
	for _, d := range defs {
		l.take(d)
	}
}

// take adds a definition, unless its name is taken.
func (l *loading) take(d Definition) {
	s := d.Source
	if first, taken := l.by[d.Name]; taken {
		at := "built in"
		if first.Path != "" {
			at = first.Path
		}
		l.lose(s.Path, s.Line, fmt.Sprintf("There is an agent %s already (%s), which comes first.", d.Name, at), "Give this one another name.")
		return
	}
	if s.Path != "" && (d.Name == completeTask || l.o.Reserved != nil && l.o.Reserved(d.Name)) {
		l.lose(s.Path, s.Line, fmt.Sprintf("An agent cannot be named %s, as there is a tool of that name.", d.Name), "Give it another name.")
		return
	}
	l.by[d.Name] = s
	l.check(&d)
	l.defs = append(l.defs, d)
}

// check tells what will be left out of the definition when it is run.
func (l *loading) check(d *Definition) {
	if d.IsRemote() {
		return
	}
	if d.Model != "" && l.o.CheckModel != nil {
		if err := l.o.CheckModel(d.Model); err != nil {
			l.warn(d.Source, fmt.Sprintf("The model %s of the agent %s is not known here; it runs on that of its caller.", quoted(d.Model), d.Name),
				"Write model: PROVIDER:NAME, or inherit.")
			d.Model = ""
		}
	}
	if l.o.Tools == nil || d.Source == (Source{Scope: ScopeBuiltIn}) { // fettle's own make do with what there is
		return
	}
	if len(d.Tools) == 0 {
		return
	}
	available := l.o.Tools()
	_, unknown := Select(d.Tools, available)
	for _, name := range unknown {
		remedy := "Leave it out, or list the tools with fettle tools."
		var names []string
		for _, t := range available {
			names = append(names, t.Spec().Name)
		}
		if near := nearest(name, names); near != "" {
			remedy = fmt.Sprintf("Did you mean %s?", near)
		}
		l.warn(d.Source, fmt.Sprintf("The agent %s lists the tool %s, which is not there, and runs without it.", d.Name, quoted(name)), remedy)
	}
}

// cause is an error of a file without the name of the file.
func cause(err error) string {
	if e := new(fs.PathError); errors.As(err, &e) {
		err = e.Err
	}
	return err.Error()
}

// Find returns the definition of a name.
func Find(defs []Definition, name string) (*Definition, bool) {
	i := slices.IndexFunc(defs, func(d Definition) bool { return d.Name == name })
	if i < 0 {
		return nil, false
	}
	return &defs[i], true
}
