package file

import (
	"context"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"unicode/utf8"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/discovery"
	"github.com/fettle-dev/fettle/core/services/workspace"
	"github.com/fettle-dev/fettle/core/tools"
)

// ListDirectoryParams are the parameters of list_directory.
type ListDirectoryParams struct {
	DirPath string   `json:"dir_path" jsonschema_description:"Absolute or relative."`
	Ignore  []string `json:"ignore,omitempty" jsonschema_description:"Names to omit, with * and ?."`
}

// maxListed is the maximum number of entries of a listing; the limit of a result may be lower.
const maxListed = 2000

const listDirectoryDescription = "Lists one directory: directories first, then files with their size in bytes. " +
	"Ignored entries are counted, with their rules, and listed only in an ignored directory that you name."

func newListDirectory() (*Factory, error) {
	return tools.NewFactory(tools.Definition[Services, ListDirectoryParams]{
		Spec: tools.Spec{
			Name: ListDirectory, DisplayName: "ReadFolder", Description: listDirectoryDescription,
			Kind: tools.KindSearch, Effects: []tools.Effect{tools.EffectReadFiles}, Parallel: true, OutputSchema: json.RawMessage(listDirectoryOutput),
		},
		Rewrite: func(args map[string]json.RawMessage) error {
			rename(args, "path", "dir_path")
			return nil
		},
		Validate: func(_ Services, p ListDirectoryParams) error {
			for _, pattern := range p.Ignore {
				if _, err := path.Match(pattern, ""); err != nil {
					return fmt.Errorf("ignore contains %q, which is not a shell pattern", pattern)
				}
			}
			return nonEmpty("dir_path", p.DirPath)
		},
		Build: func(s Services, p ListDirectoryParams, params json.RawMessage) (tools.ToolInvocation, error) {
			dir, err := s.Paths.Resolve(p.DirPath)
			if err != nil {
				return nil, err
			}
			return &listDirectory{s, dir, p.Ignore, params}, nil
		},
	})
}

type listDirectory struct {
	services Services
	dir      workspace.Path
	ignore   []string
	params   json.RawMessage
}

// listing is the result for the model.
type listing struct {
	DirPath string         `json:"dir_path"`
	Entries []listingEntry `json:"entries"`
	Ignored int            `json:"ignored,omitempty"`    // number of ignored names
	Reasons []string       `json:"ignored_by,omitempty"` // the first few rules
	LeftOut int            `json:"left_out,omitempty"`   // number of entries beyond maxListed
	Notice  string         `json:"notice,omitempty"`
}

type listingEntry struct {
	Name  string `json:"name"`
	Type  string `json:"type"` // of the target of the name: directory, file or special; symlink for a broken link
	Link  bool   `json:"link,omitempty"`
	Size  *int64 `json:"size,omitempty"`
	Error string `json:"error,omitempty"`
}

func (c *listDirectory) Params() json.RawMessage { return c.params }

func (c *listDirectory) Description() string { return short(c.dir) }

func (c *listDirectory) Locations() []tools.Location {
	return []tools.Location{{Path: c.dir.String()}}
}

func (c *listDirectory) Confirmation(context.Context) (*tools.Confirmation, error) { return nil, nil }

func (c *listDirectory) Execute(ctx context.Context, _ tools.Output) (tools.Result, error) {
	entries, err := c.services.Directories.ReadDir(ctx, c.dir)
	if err != nil {
		return tools.Fail(c.failed(ctx, err)), nil
	}
	scope, err := c.services.Finder.In(ctx, c.dir)
	if err != nil {
		return tools.Fail(c.failed(ctx, err)), nil
	}
	out := listing{DirPath: c.dir.String(), Entries: make([]listingEntry, 0, len(entries))}
	for _, e := range entries {
		if c.left(e.Name) {
			continue
		}
		if v := scope.Check(e.Name, e.Info.Mode.IsDir() && !e.Link); v.Ignored {
			out.Ignored++
			out.because(v)
			continue
		}
		out.Entries = append(out.Entries, describe(e))
	}
	slices.SortStableFunc(out.Entries, func(a, b listingEntry) int {
		return boolOrder(a.Type != "directory") - boolOrder(b.Type != "directory")
	})
	all := len(out.Entries)
	display := fmt.Sprintf("Listed %d entries of %s", all, short(c.dir))
	if out.fit(c.services.resultBytes()); out.LeftOut > 0 {
		display = fmt.Sprintf("Listed %d of %d entries of %s", len(out.Entries), all, short(c.dir))
		out.Notice = noteOthers
	}
	content, err := tools.JSON(out)
	return tools.Result{LLMContent: content, ReturnDisplay: tools.TextDisplay(display)}, err
}

const noteOthers = "To see other entries, omit names with ignore, or use a pattern with read_many_files."

// fit omits the last entries beyond maxListed, and those that do not fit into most bytes of JSON.
func (l *listing) fit(most int) {
	all := len(l.Entries)
	l.Entries = l.Entries[:min(all, maxListed)]
	if all <= maxListed && tools.JSONBytes(l) <= most {
		return
	}
	bare := *l
	bare.Entries, bare.LeftOut, bare.Notice = []listingEntry{}, all, noteOthers
	room := most - tools.JSONBytes(bare)
	if room < 0 {
		l.Reasons = nil
	}
	for i, e := range l.Entries {
		if room -= tools.JSONBytes(e) + len(","); room < 0 {
			l.Entries = l.Entries[:i]
			break
		}
	}
	l.LeftOut = all - len(l.Entries)
}

// because records the rule that ignores a name, each rule once.
func (l *listing) because(v discovery.Verdict) {
	const most = 5
	if reason := v.String(); reason != "" && len(l.Reasons) < most && !slices.Contains(l.Reasons, reason) {
		l.Reasons = append(l.Reasons, reason)
	}
}

func (c *listDirectory) failed(ctx context.Context, err error) *fault.Error {
	f := asFault(ctx, "file.list_directory", fault.LSExecutionError, err)
	if f.Code == fault.PathIsNotADirectory {
		f = fault.Wrap(f.Code, f.Op, f.Message, "Use read_file to see a file, or list the directory above it.", err)
	}
	return f
}

func (c *listDirectory) left(name string) bool {
	for _, pattern := range c.ignore {
		if ok, _ := path.Match(pattern, name); ok {
			return true
		}
	}
	return false
}

func describe(e workspace.Entry) listingEntry {
	d := listingEntry{Name: e.Name, Link: e.Link}
	switch {
	case e.Link && e.Err != nil:
		d.Type = "symlink"
	case e.Info.Mode.IsDir():
		d.Type = "directory"
	case e.Info.Mode.IsRegular():
		d.Type = "file"
		d.Size = &e.Info.Size
	default:
		d.Type = "special"
	}
	if f := fault.As(e.Err); f != nil {
		d.Error = f.Message
	} else if !utf8.ValidString(e.Name) {
		d.Error = "The name is not valid UTF-8, so only the shell tool can name this entry."
	}
	return d
}

func boolOrder(b bool) int {
	if b {
		return 1
	}
	return 0
}
