package file

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/discovery"
	"github.com/fettle-dev/fettle/core/services/filestate"
	"github.com/fettle-dev/fettle/core/services/workspace"
	"github.com/fettle-dev/fettle/core/tools"
)

// ReadManyFilesParams are the parameters of read_many_files.
type ReadManyFilesParams struct {
	Paths   []string `json:"paths" jsonschema:"minItems=1" jsonschema_description:"Paths or globs (** crosses directories)."`
	Exclude []string `json:"exclude,omitempty" jsonschema_description:"Globs to omit, relative to the workspace directory."`
}

// maxResultBytes is the maximum size of the result of one call, in addition to the session's limit.
const maxResultBytes = 4 << 20

const readManyDescription = "Reads files as read_file does and returns a JSON array in the requested order. A truncated file has a null sha256: continue with read_file. " +
	"A file that cannot be read or does not fit has an error in its place. Globs match ignored files only if they start with an ignored directory."

func newReadManyFiles() (*Factory, error) {
	return tools.NewFactory(tools.Definition[Services, ReadManyFilesParams]{
		Spec: tools.Spec{
			Name: ReadManyFiles, DisplayName: "ReadManyFiles", Description: readManyDescription,
			Kind: tools.KindRead, Effects: []tools.Effect{tools.EffectReadFiles}, Parallel: true, OutputSchema: json.RawMessage(readManyFilesOutput),
		},
		Rewrite: func(args map[string]json.RawMessage) error {
			rename(args, "include", "paths")
			return nil
		},
		Validate: func(_ Services, p ReadManyFilesParams) error {
			for _, path := range p.Paths {
				if err := nonEmpty("paths", path); err != nil {
					return err
				}
			}
			for _, pattern := range p.Exclude {
				if !doublestar.ValidatePattern(pattern) {
					return fmt.Errorf("exclude contains %q, which is not a glob pattern", pattern)
				}
			}
			return nil
		},
		Build: func(s Services, p ReadManyFilesParams, params json.RawMessage) (tools.ToolInvocation, error) {
			return &readManyFiles{s, p, params}, nil
		},
	})
}

type readManyFiles struct {
	services Services
	p        ReadManyFilesParams
	params   json.RawMessage
}

// unread is the element of a file that could not be read.
type unread struct {
	FilePath string       `json:"file_path"`
	Error    *fault.Error `json:"error"`
}

func (c *readManyFiles) Params() json.RawMessage { return c.params }

// Description lists the first few paths.
func (c *readManyFiles) Description() string {
	const most = 5
	var names []string
	for _, name := range c.p.Paths[:min(len(c.p.Paths), most)] {
		names = append(names, shorten(name))
	}
	if more := len(c.p.Paths) - most; more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(names, ", ")
}

// Locations lists the paths given by name; the matches of patterns are not known before the call runs.
func (c *readManyFiles) Locations() []tools.Location {
	var named []tools.Location
	for _, name := range c.p.Paths {
		if path, err := c.services.Paths.Resolve(name); err == nil && !isPattern(name) {
			named = append(named, tools.Location{Path: path.String()})
		}
	}
	return named
}

func (c *readManyFiles) Confirmation(context.Context) (*tools.Confirmation, error) { return nil, nil }

func (c *readManyFiles) Execute(ctx context.Context, _ tools.Output) (tools.Result, error) {
	targets, err := c.targets(ctx)
	if err != nil {
		return tools.Fail(asFault(ctx, "file.read_many_files", fault.ReadManyFilesSearch, err)), nil
	}
	elements := newElementList(targets, min(c.services.resultBytes(), maxResultBytes)-len(`{"files":[]}`))
	read, accessed := 0, make(map[string]bool)
	ahead, end := c.ahead(ctx, targets)
	defer end()
	for i, t := range targets {
		if ctx.Err() != nil {
			return tools.Fail(asFault(ctx, "file.read_many_files", fault.ReadManyFilesSearch, ctx.Err())), nil
		}
		if elements.full {
			break
		}
		rest := targets[i+1:]
		request, err := ahead()
		if defect := new(tools.Defect); errors.As(err, &defect) {
			return tools.Result{}, defect
		}
		if err != nil {
			elements.addError(ctx, t, err, rest)
			continue
		}
		const page = 1500 // less is not enough for a part of a file
		room := elements.roomBefore(rest)
		request.Uncut = read > 0 || len(rest) > 0 && room < page
		element, err := c.readOne(ctx, t, request, room)
		switch {
		case err != nil:
			elements.addError(ctx, t, err, rest)
		case !elements.add(element, rest):
			elements.leaveOut(t, rest)
		default:
			read++
		}
		if dir := filepath.Dir(t.path.String()); err == nil && !accessed[dir] {
			accessed[dir] = true
			c.services.accessed(ctx, t.path) // the same instructions apply to all files of a directory
		}
	}
	content, err := tools.JSON(elements.made)
	return tools.Result{
		LLMContent:    content,
		ReturnDisplay: tools.TextDisplay(fmt.Sprintf("Read %d of %d files", read, len(targets))),
		Structured:    json.RawMessage(`{"files":` + content.String() + `}`),
	}, err
}

// readOne reads one file; for a file that is not text it returns only its kind. The state takes at most room bytes.
func (c *readManyFiles) readOne(ctx context.Context, t target, request filestate.ReadRequest, room int) (element any, err error) {
	p := t.path
	if t.notice != "" {
		room -= tools.JSONBytes(t.notice) + len(`"notice":,`)
	}
	request.ResultBytes = max(room, 1)
	r, err := c.services.Reader.Read(ctx, request)
	if err != nil {
		return nil, err
	}
	if r.State != nil {
		r.State.Notice = joined(r.State.Notice, t.notice)
		return r.State, nil
	}
	if r.Payload != nil {
		r.Refusal = "This is " + r.Payload.MIMEType + "; read_file returns it as data."
	}
	st := filestate.Withheld(p.String())
	st.Notice = joined(r.Refusal, t.notice)
	return st, nil
}

// joined returns two notices as one; either may be "".
func joined(a, b string) string { return strings.TrimSpace(a + " " + b) }

// target is one file to read, or an error.
type target struct {
	name string
	path workspace.Path
	// notice explains why an ignored file is read; "" if it is not ignored, or is named by path.
	notice string
	err    error
}

// targets expands the patterns, in input order, without duplicates. The name of an existing file is taken literally even
// if it looks like a pattern.
func (c *readManyFiles) targets(ctx context.Context) ([]target, error) {
	list := targetList{most: c.services.Finder.Options().MaxFileCount()}
	for _, name := range c.p.Paths {
		path, err := c.services.Paths.Resolve(name)
		if err == nil && isPattern(name) {
			if _, statErr := c.services.Directories.Stat(path); errors.Is(statErr, fs.ErrNotExist) {
				if err = c.expand(ctx, name, &list); ctx.Err() != nil {
					return nil, err
				}
				if err == nil {
					continue
				}
			}
		}
		if err != nil {
			list.add(target{name: name, err: err})
			continue
		}
		list.add(target{name: path.String(), path: path})
	}
	return list.targets, nil
}

func isPattern(name string) bool { return strings.ContainsAny(name, "*?[{") }

// targetList holds distinct targets up to a limit, and an error target if there were more.
type targetList struct {
	most    int
	targets []target
	seen    map[string]bool
	full    bool
}

func (l *targetList) add(t target) {
	if l.full || l.seen[t.name] {
		return
	}
	if len(l.targets) == l.most {
		l.full = true
		t.err = l.tooMany(t.name + " and later ones were omitted")
	}
	if l.seen == nil {
		l.seen = make(map[string]bool)
	}
	l.seen[t.name] = true
	l.targets = append(l.targets, t)
}

func (l *targetList) tooMany(consequence string) *fault.Error {
	return fault.New(fault.ReadManyFilesSearch, "file.read_many_files",
		fmt.Sprintf("There are more than the %d files of one call; %s.", l.most, consequence),
		"Use narrower patterns, or several calls.")
}

// expand adds the matches of a pattern that are not excluded.
func (c *readManyFiles) expand(ctx context.Context, pattern string, list *targetList) error {
	found, err := c.services.Finder.Find(ctx, discovery.Find{Pattern: pattern, Limit: list.most})
	if err != nil {
		return err
	}
	notice := ""
	if dir := found.Tally.Start; dir.Ignored {
		notice = "The file is ignored, because " + dir.String() + " ignores its directory; it was read because the pattern names the directory."
	}
	kept := slices.DeleteFunc(slices.Clone(found.Files), c.excluded)
	for _, p := range kept {
		list.add(target{name: p.String(), path: p, notice: notice})
	}
	switch {
	case found.More > 0 || found.Tally.Partial:
		list.add(target{name: pattern, err: list.tooMany("some matches of " + pattern + " were not read")})
	case len(found.Files) == 0:
		list.add(target{name: pattern, err: fault.New(fault.FileNotFound, "file.read_many_files",
			"No file matches the pattern "+pattern+".", "Check it with list_directory; ** crosses directories, * does not, and ignored files never match.")})
	case len(kept) == 0:
		list.add(target{name: pattern, err: fault.New(fault.FileNotFound, "file.read_many_files",
			"Every file that matches the pattern "+pattern+" is excluded.", "Change exclude, or name the file itself in paths.")})
	}
	return nil
}

func (c *readManyFiles) excluded(p workspace.Path) bool {
	for _, pattern := range c.p.Exclude {
		if ok, _ := doublestar.Match(pattern, p.Rel()); ok {
			return true
		}
	}
	return false
}
