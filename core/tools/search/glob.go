package search

import (
	"context"
	"encoding/json"
	"path/filepath"
	"time"
	"unicode/utf8"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/discovery"
	"github.com/fettle-dev/fettle/core/services/workspace"
	"github.com/fettle-dev/fettle/core/tools"
)

// GlobParams are the parameters of glob.
type GlobParams struct {
	Pattern       string `json:"pattern" jsonschema_description:"Glob (* ? [a-z] {a,b} **), absolute or relative to dir_path: *.go matches in dir_path alone, **/*.go also below."`
	DirPath       string `json:"dir_path,omitempty" jsonschema_description:"Default: the workspace."`
	CaseSensitive bool   `json:"case_sensitive,omitempty" jsonschema_description:"Match case."`
}

const (
	// recent is the maximum age of files that come first.
	recent = 24 * time.Hour
	// maxGlobBytes is the maximum size of the paths of one result.
	maxGlobBytes = 256 << 10
)

const globDescription = "Finds files by name. Returns absolute paths: those changed in the last 24 hours first, newest first, then the others by path. " +
	"Ignored files are found only if pattern or dir_path names them or their directory."

func newGlob() (*Factory, error) {
	return tools.NewFactory(tools.Definition[Services, GlobParams]{
		Spec: tools.Spec{
			Name: Glob, DisplayName: "FindFiles", Description: globDescription,
			Kind: tools.KindSearch, Effects: []tools.Effect{tools.EffectReadFiles}, Parallel: true, OutputSchema: json.RawMessage(globOutput),
		},
		Rewrite: func(args map[string]json.RawMessage) error {
			rename(args, "path", "dir_path")
			return nil
		},
		Validate: func(_ Services, p GlobParams) error {
			if err := blank("pattern", p.Pattern); err != nil {
				return err
			}
			return discovery.CheckGlob(filepath.ToSlash(p.Pattern))
		},
		Build: func(s Services, p GlobParams, params json.RawMessage) (tools.ToolInvocation, error) {
			places, err := s.places(p.DirPath)
			if err != nil {
				return nil, err
			}
			return &glob{s, p, places, params}, nil
		},
	})
}

type glob struct {
	services Services
	p        GlobParams
	places   []workspace.Path
	params   json.RawMessage
}

// globResult is the result for the model.
type globResult struct {
	Searched []string `json:"searched"` // the directories
	Files    []string `json:"files"`    // absolute paths
	LeftOut  int      `json:"left_out,omitempty"`
	left
}

func (c *glob) Params() json.RawMessage { return c.params }

func (c *glob) Description() string { return describe(c.p.Pattern, c.places, c.p.DirPath) }

func (c *glob) Locations() []tools.Location { return locations(c.places) }

func (c *glob) Confirmation(context.Context) (*tools.Confirmation, error) { return nil, nil }

func (c *glob) Execute(ctx context.Context, _ tools.Output) (tools.Result, error) {
	out := globResult{Files: []string{}}
	limit, size, odd := c.services.Finder.Options().MaxFileCount(), 0, false
	for _, place := range c.places {
		found, err := c.find(ctx, place, limit-len(out.Files))
		if err != nil {
			return tools.Fail(asFault(ctx, "search.glob", fault.GlobExecutionError, err)), nil
		}
		out.Searched = append(out.Searched, place.String())
		out.add(found.Tally)
		out.LeftOut += found.More
		for _, p := range found.Files {
			name := p.String()
			if size += len(name); size > maxGlobBytes || out.LeftOut > found.More {
				out.LeftOut++
				continue
			}
			odd = odd || !utf8.ValidString(name)
			out.Files = append(out.Files, name)
		}
		if filepath.IsAbs(c.p.Pattern) {
			break
		}
	}
	if odd {
		out.note(noteNames)
	}
	switch {
	case out.LeftOut > 0:
		out.note(noteNarrower)
	case len(out.Files) == 0 && out.Ignored > 0:
		out.note("No file matches. Ignored directories were not searched: name one with dir_path to search it.")
	case len(out.Files) == 0:
		out.note("No file matches. * does not cross directories, ** does.")
	}
	out.fit(c.services.resultBytes())
	content, err := tools.JSON(out)
	display := "Found " + counted(len(out.Files)+out.LeftOut, "file", "files")
	return tools.Result{LLMContent: content, ReturnDisplay: tools.TextDisplay(display)}, err
}

const noteNarrower = "Not all files fit into one result: use a narrower pattern, or name a subdirectory with dir_path."

// fit omits the last files if the JSON text of r exceeds most bytes.
func (r *globResult) fit(most int) {
	size := tools.JSONBytes(r)
	if size <= most {
		return
	}
	if r.LeftOut == 0 {
		r.note(noteNarrower)
		r.LeftOut = len(r.Files) // the maximum number of digits
		size = tools.JSONBytes(r)
		r.LeftOut = 0
	}
	for size++; size > most && len(r.Files) > 0; r.LeftOut++ { // LeftOut may need a digit more
		last := len(r.Files) - 1
		size -= tools.JSONBytes(r.Files[last]) + len(",")
		r.Files = r.Files[:last]
	}
	r.left.fit(size, most)
}

func (c *glob) find(ctx context.Context, place workspace.Path, limit int) (discovery.Found, error) {
	info, err := c.services.Paths.Stat(place)
	if err != nil {
		return discovery.Found{}, err
	}
	if !info.Mode.IsDir() {
		return discovery.Found{}, fault.New(fault.PathIsNotADirectory, "search.glob", "Not a directory: "+place.String()+".", "Name a directory with dir_path.")
	}
	return c.services.Finder.Find(ctx, discovery.Find{
		Pattern: c.p.Pattern, Dir: place, FoldCase: !c.p.CaseSensitive, Limit: limit,
		RecentNS: c.services.now().Add(-recent).UnixNano(),
	})
}
