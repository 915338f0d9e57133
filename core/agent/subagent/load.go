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

// Dir is a directory that may contain definitions.
type Dir struct {
	Path      string // with Claude it may be a file
	Scope     Scope
	Extension string // name of the extension, for ScopeExtension
	Claude    bool   // its definitions are those of Claude Code, see [Source]
	// Expand expands variables in the text of a file before it is parsed. nil: none.
	Expand func(text string) string
}

// LoadOptions locates definitions. Zero fields are none.
type LoadOptions struct {
	BuiltIn []Definition // fettle's own, and those of the embedder; see [BuiltIn]
	// Dirs are searched in the order of their scopes, and within a scope in the given order. A
	// caller passes the project's only if the project is trusted.
	Dirs []Dir
	// Reserved reports whether a name is taken, e.g. by a tool, so that no definition of a file may
	// have it. nil: only complete_task is.
	Reserved func(name string) bool
	// Tools returns the tools of the session, against which tool lists are checked. It is called
	// only if there is a list. nil: they are not checked.
	Tools func() []tools.DeclarativeTool
	// CheckModel validates the name of a model; an agent with an invalid one runs on the caller's
	// model. nil: names are not checked.
	CheckModel func(name string) error
}

// maxDirFiles is the limit of definitions in one directory.
const maxDirFiles = 1000

// Load returns the available agents: first the built-in ones, then those of the project, the user
// and the extensions, each directory's by file name. If a name occurs twice, the first definition
// is used and the other is a problem. Files are *.md directly in the directory, except names that
// begin with "_"; a missing directory is empty. An invalid file affects no other. The error is that
// of ctx.
func Load(ctx context.Context, o LoadOptions) ([]Definition, []fault.Problem, error) {
	l := &loading{o: o, by: make(map[string]Source), defs: make([]Definition, 0, len(o.BuiltIn))}
	for _, d := range o.BuiltIn {
		l.take(d)
	}
	for _, scope := range []Scope{ScopeBuiltIn, ScopeProject, ScopeUser, ScopeExtension} {
		for _, f := range o.Dirs {
			if f.Scope != scope {
				continue
			}
			if err := l.readDir(ctx, f); err != nil {
				return nil, nil, err
			}
		}
	}
	return l.defs, l.problems, nil
}

// loading is the state of Load.
type loading struct {
	o        LoadOptions
	defs     []Definition
	by       map[string]Source
	problems []fault.Problem
}

func (l *loading) fail(path string, line int, message, remedy string) {
	l.problems = append(l.problems, fault.Problem{Path: path, Line: line, Message: message, Remedy: remedy, Severity: fault.SeverityError})
}

func (l *loading) warn(s Source, message, remedy string) {
	l.problems = append(l.problems, fault.Problem{Path: s.Path, Line: s.Line, Message: message, Remedy: remedy})
}

// readDir reads the definitions of a directory. The error is that of ctx.
func (l *loading) readDir(ctx context.Context, f Dir) error {
	if info, err := os.Stat(f.Path); f.Claude && err == nil && info.Mode().IsRegular() {
		l.file(f.Path, f)
		return ctx.Err()
	}
	entries, err := os.ReadDir(f.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		l.fail(f.Path, 0, "The directory of agents cannot be read: "+cause(err)+".", "Check that it is a directory, and its permissions.")
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
		if read++; read > maxDirFiles {
			l.fail(f.Path, 0, fmt.Sprintf("The directory has more than %d agents; the rest were not read.", maxDirFiles), "")
			break
		}
		l.file(filepath.Join(f.Path, name), f)
	}
	return nil
}

func (l *loading) file(path string, f Dir) {
	data, err := lockedfile.Head(path, MaxFile+1)
	if err != nil {
		l.fail(path, 0, "The agent cannot be read: "+cause(err)+".", "Check the file and its permissions.")
		return
	}
	if f.Expand != nil {
		data = []byte(f.Expand(string(data)))
	}
	defs, problems := Parse(data, Source{Scope: f.Scope, Path: path, Extension: f.Extension, Claude: f.Claude})
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
		l.fail(s.Path, s.Line, fmt.Sprintf("The agent %s already exists (%s), and that one is used.", d.Name, at), "Give this agent a different name.")
		return
	}
	if s.Path != "" && (d.Name == completeTask || l.o.Reserved != nil && l.o.Reserved(d.Name)) {
		l.fail(s.Path, s.Line, fmt.Sprintf("An agent cannot be named %s, because there is a tool of that name.", d.Name), "Give it a different name.")
		return
	}
	l.by[d.Name] = s
	l.defs = append(l.defs, d)
	l.check(&l.defs[len(l.defs)-1])
}

// check reports the parts of a definition that a run will omit.
func (l *loading) check(d *Definition) {
	if d.IsRemote() {
		return
	}
	if d.Model != "" && l.o.CheckModel != nil {
		if err := l.o.CheckModel(d.Model); err != nil {
			reason, remedy := strings.TrimSuffix(fault.MessageOf(err), "."), "Write model: PROVIDER:NAME, or inherit."
			if f := fault.As(err); f != nil {
				remedy = f.Remedy
			}
			l.warn(d.Source, fmt.Sprintf("The agent %s runs on the model of its caller, because %s cannot be used: %s.", d.Name, quoted(d.Model), reason),
				remedy)
			d.Model = ""
		}
	}
	if l.o.Tools == nil || d.Source == (Source{Scope: ScopeBuiltIn}) { // fettle's own agents work with the available tools
		return
	}
	if len(d.Tools) == 0 {
		return
	}
	available := l.o.Tools()
	_, unknown := Select(d.Tools, available)
	for _, name := range unknown {
		remedy := "Remove it, or list the tools with fettle tools."
		var names []string
		for _, t := range available {
			names = append(names, t.Spec().Name)
		}
		if near := nearest(name, names); near != "" {
			remedy = fmt.Sprintf("Did you mean %s?", near)
		}
		l.warn(d.Source, fmt.Sprintf("The agent %s lists the tool %s, which does not exist, and runs without it.", d.Name, quoted(name)), remedy)
	}
}

// cause returns the text of a file error without the name of the file.
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
