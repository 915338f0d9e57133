package file

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
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
	Paths   []string `json:"paths" jsonschema:"minItems=1" jsonschema_description:"Files to read, as paths or glob patterns (** crosses directories), absolute or relative to the target directory."`
	Exclude []string `json:"exclude,omitempty" jsonschema_description:"Glob patterns, relative to the workspace directory, of files that the patterns in paths should leave out."`
}

// maxResultBytes caps the result of one call, whatever the session's limit is.
const maxResultBytes = 4 << 20

const readManyDescription = "Reads several files at once, named by path or by glob pattern, and returns a JSON array with one object per file in the order asked for: " +
	"version, sha256, file_path and content, as read_file gives them. The version and the sha256 are needed to modify a file with safe_patch or write_file; " +
	"the sha256 is null for a file that was cut, so read on with read_file. What one result has no room for has an error in place of content: call read_file for it. A file that cannot be read appears in its place with an error, and the others are still returned. " +
	"Files that ignore rules cover are left out of patterns, but not where they are named by path, nor, with a notice, where a pattern begins with their directory."

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
					return fmt.Errorf("exclude holds %q, which is no glob pattern", pattern)
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

// unread is the element of a file that could not be read (FS-22).
type unread struct {
	FilePath string       `json:"file_path"`
	Error    *fault.Error `json:"error"`
}

func (c *readManyFiles) Params() json.RawMessage { return c.params }

// Description names the first few of the paths.
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

// Locations lists what is named by path; what a pattern matches is not known
// before the call runs.
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
	read := 0
	for i, t := range targets {
		if ctx.Err() != nil {
			return tools.Fail(asFault(ctx, "file.read_many_files", fault.ReadManyFilesSearch, ctx.Err())), nil
		}
		if elements.full {
			break
		}
		rest := targets[i+1:]
		if t.err == nil && !c.services.Reader.MayShow(t.path) {
			t.err = fault.New(fault.PolicyViolation, "file.read_many_files", "This file is not shown, as read_file may not show it, or not without asking.",
				"Call read_file for it, so that somebody can be asked; or go on without it.")
		}
		if t.err != nil {
			elements.addError(ctx, t, t.err, rest)
			continue
		}
		const page = 1500 // less is no room for a part of a file
		room := elements.roomBefore(rest)
		element, err := c.readOne(ctx, t, room, read > 0 || len(rest) > 0 && room < page)
		switch {
		case err != nil:
			elements.addError(ctx, t, err, rest)
		case !elements.add(element, rest):
			elements.leaveOut(t, rest)
		default:
			read++
		}
	}
	content, err := tools.JSON(elements.all())
	return tools.Result{
		LLMContent:    content,
		ReturnDisplay: tools.TextDisplay(fmt.Sprintf("Read %d of %d files", read, len(targets))),
		Structured:    json.RawMessage(`{"files":` + content.String() + `}`),
	}, err
}

// readOne reads one file, never as a placeholder (FS-23), and of what is no
// text only its kind. Its state has no more than room bytes; uncut refuses a text
// that takes more.
func (c *readManyFiles) readOne(ctx context.Context, t target, room int, uncut bool) (element any, err error) {
	p := t.path
	if t.notice != "" {
		room -= tools.JSONBytes(t.notice) + len(`"notice":,`)
	}
	r, err := c.services.Reader.Read(ctx, filestate.ReadRequest{Path: p, Repeat: true, TextOnly: true, ResultBytes: max(room, 1), Uncut: uncut})
	if err != nil {
		return nil, err
	}
	c.services.accessed(ctx, p)
	if r.State != nil {
		r.State.Notice = joined(r.State.Notice, t.notice)
		return r.State, nil
	}
	if r.Payload != nil {
		r.Refusal = "This is " + r.Payload.MIMEType + "; read_file hands it over as data."
	}
	st := filestate.Withheld(p.String())
	st.Notice = joined(r.Refusal, t.notice)
	return st, nil
}

// joined returns two notices as one; either may be "".
func joined(a, b string) string { return strings.TrimSpace(a + " " + b) }

// target is one file to read, or why it cannot be.
type target struct {
	name string
	path workspace.Path
	// notice says why an ignored file is read; "" if it is not ignored, or is
	// named by path.
	notice string
	err    error
}

// targets expands the patterns, in input order, each file once. A name that
// exists is taken literally even if it looks like a pattern.
func (c *readManyFiles) targets(ctx context.Context) ([]target, error) {
	list := targetList{most: c.services.Finder.Options().MaxFileCount()}
	for _, name := range c.p.Paths {
		path, err := c.services.Paths.Resolve(name)
		if err == nil && isPattern(name) {
			if _, statErr := c.services.Folders.Stat(path); errors.Is(statErr, fs.ErrNotExist) {
				if err := c.expand(ctx, name, &list); err != nil {
					return nil, err
				}
				continue
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

// targetList holds each target once, at most so many files, and one that says
// so if there were more.
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
		t.err = l.tooMany(t.name + " and those after it were left out")
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
		"Narrow the patterns, or use several calls.")
}

// expand adds what a pattern matches and exclude does not.
func (c *readManyFiles) expand(ctx context.Context, pattern string, list *targetList) error {
	found, err := c.services.Finder.Find(ctx, discovery.Find{Pattern: pattern, Limit: list.most})
	if err != nil {
		return err
	}
	notice := ""
	if folder := found.Tally.Start; folder.Ignored {
		notice = "The file is ignored, as its directory is by " + folder.String() + "; it was read because the pattern names the directory."
	}
	kept := slices.DeleteFunc(slices.Clone(found.Files), c.excluded)
	for _, p := range kept {
		list.add(target{name: p.String(), path: p, notice: notice})
	}
	switch {
	case found.More > 0 || found.Tally.Partial:
		list.add(target{name: pattern, err: list.tooMany("not all that match " + pattern + " were read")})
	case len(found.Files) == 0:
		list.add(target{name: pattern, err: fault.New(fault.FileNotFound, "file.read_many_files",
			"No file matches the pattern "+pattern+".", "Check it with list_directory; ** crosses directories, * does not, and ignored files never match.")})
	case len(kept) == 0:
		list.add(target{name: pattern, err: fault.New(fault.FileNotFound, "file.read_many_files",
			"Every file that matches the pattern "+pattern+" is excluded.", "Take it from exclude, or name the file itself in paths.")})
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
