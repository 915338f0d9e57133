package search

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/discovery"
	"github.com/fettle-dev/fettle/core/services/workspace"
	"github.com/fettle-dev/fettle/core/tools"
)

// SearchFileContentParams are the parameters of search_file_content.
type SearchFileContentParams struct {
	Pattern           string `json:"pattern" jsonschema_description:"RE2: no look-around or back-references."`
	DirPath           string `json:"dir_path,omitempty" jsonschema_description:"Directory or file. Default: the workspace."`
	IncludePattern    string `json:"include_pattern,omitempty" jsonschema_description:"Glob of a name (*.{ts,tsx}) or a path below dir_path (src/**)."`
	ExcludePattern    string `json:"exclude_pattern,omitempty" jsonschema_description:"Glob of files to omit."`
	NamesOnly         bool   `json:"names_only,omitempty" jsonschema_description:"Return paths only."`
	CaseSensitive     bool   `json:"case_sensitive,omitempty" jsonschema_description:"Match case."`
	FixedStrings      bool   `json:"fixed_strings,omitempty" jsonschema_description:"pattern is plain text."`
	Context           *int   `json:"context,omitempty" jsonschema:"minimum=0,maximum=100" jsonschema_description:"Lines around a match. Default: more for few matches."`
	MaxMatchesPerFile int    `json:"max_matches_per_file,omitempty" jsonschema:"minimum=1" jsonschema_description:"Per file."`
	TotalMaxMatches   int    `json:"total_max_matches,omitempty" jsonschema:"minimum=1" jsonschema_description:"Default: 100."`
}

const (
	defaultMatches = 100
	// Number of context lines around a single match and around each of two or three, if the call does not set it.
	aroundOne, aroundFew, few = 50, 15, 3
	// aroundBytes is the maximum size of this context per file.
	aroundBytes = 16 << 10
	// maxBytes is the maximum size of the text of one result.
	maxBytes = 256 << 10
)

const searchDescription = "Finds lines of files that match a regular expression. Binary and ignored files are omitted; name an ignored file or directory with dir_path. " +
	"In encodings other than UTF-8 and UTF-16 only ASCII is found. " +
	"A match is no read: call read_file before a change."

func newSearchFileContent() (*Factory, error) {
	return tools.NewFactory(tools.Definition[Services, SearchFileContentParams]{
		Spec: tools.Spec{
			Name: SearchFileContent, Aliases: []string{GrepSearch}, DisplayName: "SearchText", Description: searchDescription,
			Kind: tools.KindSearch, Effects: []tools.Effect{tools.EffectReadFiles}, Parallel: true, OutputSchema: json.RawMessage(searchOutput),
		},
		Rewrite: func(args map[string]json.RawMessage) error {
			rename(args, "path", "dir_path")
			rename(args, "include", "include_pattern")
			return nil
		},
		Validate: func(_ Services, p SearchFileContentParams) error {
			for _, glob := range []string{p.IncludePattern, p.ExcludePattern} {
				if glob == "" {
					continue
				}
				if err := discovery.CheckGlob(filepath.ToSlash(glob)); err != nil {
					return err
				}
			}
			return nil
		},
		Build: func(s Services, p SearchFileContentParams, params json.RawMessage) (tools.ToolInvocation, error) {
			pattern, err := discovery.CompilePattern(p.Pattern, p.FixedStrings, !p.CaseSensitive)
			if err != nil {
				return nil, err
			}
			places, err := s.places(p.DirPath)
			if err != nil {
				return nil, err
			}
			return &searchFileContent{s, p, pattern, places, params}, nil
		},
	})
}

type searchFileContent struct {
	services Services
	p        SearchFileContentParams
	pattern  *discovery.Pattern
	places   []workspace.Path
	params   json.RawMessage
}

// searchResult is the result for the model.
type searchResult struct {
	Searched []string     `json:"searched"` // directories, or the one file
	Matches  int          `json:"matches"`  // number of lines, or of files with names_only
	Files    []fileResult `json:"files"`
	More     bool         `json:"more,omitempty"` // a limit omitted matches
	Binary   int          `json:"binary,omitempty"`
	Failed   int          `json:"failed,omitempty"`   // files that could not be read
	Withheld int          `json:"withheld,omitempty"` // number of files omitted because read_file may not show them
	left
	odd   bool            // a name is not valid UTF-8
	limit discovery.Limit // the limit that omitted matches, if More
}

type fileResult struct {
	FilePath string       `json:"file_path"`
	Lines    []lineResult `json:"lines,omitempty"`
	More     bool         `json:"more,omitempty"` // the file has further matches
}

type lineResult struct {
	Line    int    `json:"line"` // 1-based
	Text    string `json:"text"`
	Context bool   `json:"context,omitempty"` // a context line, not a match
}

func (c *searchFileContent) Params() json.RawMessage { return c.params }

func (c *searchFileContent) Description() string {
	text := describe(c.p.Pattern, c.places, c.p.DirPath)
	if c.p.IncludePattern != "" {
		text += " in files that match '" + oneLine(c.p.IncludePattern) + "'"
	}
	return text
}

func (c *searchFileContent) Locations() []tools.Location { return locations(c.places) }

func (c *searchFileContent) Confirmation(context.Context) (*tools.Confirmation, error) {
	return nil, nil
}

func (c *searchFileContent) Execute(ctx context.Context, _ tools.Output) (tools.Result, error) {
	total := cmp.Or(c.p.TotalMaxMatches, defaultMatches)
	out := searchResult{Files: []fileResult{}}
	var files []discovery.FileMatches
	bytes, mostFiles := maxBytes, c.services.Finder.Options().MaxFileCount()
	for _, place := range c.places {
		switch {
		case out.Matches >= total:
			out.limit = discovery.LimitTotal
		case len(files) >= mostFiles:
			out.limit = discovery.LimitFiles
		case bytes <= 0:
			out.limit = discovery.LimitBytes
		}
		if out.limit != 0 {
			out.More = true
			break
		}
		s := c.search(place)
		s.Total, s.MaxBytes, s.MaxFiles = total-out.Matches, bytes, mostFiles-len(files)
		r, err := c.services.Finder.Search(ctx, s)
		if err != nil {
			return tools.Fail(asFault(ctx, "search.search_file_content", fault.GrepExecutionError, err)), nil
		}
		out.Searched = append(out.Searched, place.String())
		out.Matches += r.Matches
		out.More, out.limit = r.More, r.Limit
		out.Binary += r.Binary
		out.Failed += r.Unreadable
		out.Withheld += r.Withheld
		out.add(r.Tally)
		for _, file := range r.Files {
			bytes -= size(file.Lines)
			files = append(files, file)
		}
	}
	if err := c.surround(ctx, &out, files); err != nil {
		return tools.Fail(asFault(ctx, "search.search_file_content", fault.GrepExecutionError, err)), nil
	}
	for _, file := range files {
		out.show(file, c.p.NamesOnly)
	}
	most := c.services.resultBytes()
	room := most - out.besides() - len(c.more(discovery.LimitBytes)) - len(noteNames)
	if out.trim(room) {
		out.More, out.limit = true, discovery.LimitBytes
	}
	c.explain(&out)
	out.left.fit(tools.JSONBytes(out), most)
	content, err := tools.JSON(out)
	display := "Found " + counted(out.Matches, "match", "matches")
	if out.More {
		display += " (limited)"
	}
	return tools.Result{LLMContent: content, ReturnDisplay: tools.TextDisplay(display)}, err
}

// search returns the query for a place.
func (c *searchFileContent) search(place workspace.Path) discovery.Search {
	s := discovery.Search{
		Pattern: c.pattern, Start: place, Include: c.p.IncludePattern, Exclude: c.p.ExcludePattern,
		NamesOnly: c.p.NamesOnly, PerFile: c.p.MaxMatchesPerFile, MaxBytes: maxBytes, MayShow: c.services.Visible.MayShow,
	}
	if c.p.Context != nil {
		s.Context = *c.p.Context
	}
	return s
}

// surround adds context to a few matches, if the call does not set it, by searching their files again. A file that has
// changed meanwhile, or has very long lines around a match, stays as it was found.
func (c *searchFileContent) surround(ctx context.Context, out *searchResult, files []discovery.FileMatches) error {
	cut := func(f discovery.FileMatches) bool { return f.More }
	if c.p.Context != nil || c.p.NamesOnly || out.More || out.Matches > few || slices.ContainsFunc(files, cut) {
		return nil
	}
	for i, file := range files {
		s := c.search(file.Path)
		s.Include, s.Exclude = "", ""
		if s.Context = aroundFew; out.Matches == 1 {
			s.Context = aroundOne
		}
		r, err := c.services.Finder.Search(ctx, s)
		if ctx.Err() != nil {
			return err
		}
		if err == nil && len(r.Files) == 1 && r.Matches == file.Matches && size(r.Files[0].Lines) <= aroundBytes {
			files[i] = r.Files[0]
		}
	}
	return nil
}

func size(lines []discovery.Line) (bytes int) {
	for _, line := range lines {
		bytes += len(line.Text)
	}
	return bytes
}

// show adds the matches of a file.
func (r *searchResult) show(file discovery.FileMatches, nameOnly bool) {
	name := file.Path.String()
	r.odd = r.odd || !utf8.ValidString(name)
	f := fileResult{FilePath: name, More: file.More && !nameOnly}
	for _, line := range file.Lines {
		f.Lines = append(f.Lines, lineResult{line.Number, line.Text, !line.Match})
	}
	r.Files = append(r.Files, f)
}

// explain adds notices about omitted results.
func (c *searchFileContent) explain(out *searchResult) {
	if out.Withheld > 0 {
		out.note(counted(out.Withheld, "file is", "files are") +
			" omitted, because read_file may not show them, or needs approval: call it for such a file to request approval.")
	}
	if out.odd {
		out.note(noteNames)
	}
	switch {
	case out.More:
		out.note(c.more(out.limit))
	case out.Matches > 0 || out.Withheld > 0:
	case out.Ignored > 0:
		out.note("No line matches. Ignored files were not searched: name one, or its directory, with dir_path to search it.")
	case out.Binary > 0:
		out.note("No line matches. Binary files were not searched.")
	default:
		out.note("No line matches.")
	}
	if out.Matches == 0 && strings.ContainsFunc(c.p.Pattern, func(r rune) bool { return r >= utf8.RuneSelf }) {
		out.note("In files that are neither UTF-8 nor UTF-16 only ASCII is found: search for the ASCII part of the text.")
	}
}

// room returns the maximum size of one result, for a sentence.
func (c *searchFileContent) room() string {
	if most := c.services.resultBytes(); most < maxBytes {
		return fmt.Sprintf("%d bytes", most)
	}
	return fmt.Sprintf("%d KiB", maxBytes>>10)
}

// more returns a notice about the limit that omitted matches, with a remedy.
func (c *searchFileContent) more(limit discovery.Limit) string {
	const narrow = "narrow the pattern, dir_path or include_pattern"
	switch limit {
	case discovery.LimitFiles:
		return fmt.Sprintf("There are more matches, in more than the %d files of one result: "+narrow+".", c.services.Finder.Options().MaxFileCount())
	case discovery.LimitBytes:
		return fmt.Sprintf("There are more matches than fit into the %s of one result: "+narrow+", lower context or max_matches_per_file, or set names_only.", c.room())
	case discovery.LimitPerFile:
		return "There are more matches in the file: narrow the pattern, or raise max_matches_per_file."
	}
	if c.p.NamesOnly {
		return "There are more matches: " + narrow + ", or raise total_max_matches."
	}
	return "There are more matches: " + narrow + ", set names_only, or raise total_max_matches."
}
