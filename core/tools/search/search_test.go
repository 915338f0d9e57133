package search_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/discovery"
	"github.com/fettle-dev/fettle/core/services/filestate"
	"github.com/fettle-dev/fettle/core/services/workspace"
	"github.com/fettle-dev/fettle/core/tools"
	"github.com/fettle-dev/fettle/core/tools/search"
	"github.com/fettle-dev/fettle/core/tools/tooltest"
)

var (
	_ search.Paths      = (*workspace.Workspace)(nil)
	_ search.Finder     = (*discovery.Finder)(nil)
	_ search.Visibility = (*filestate.Service)(nil)
)

type args = map[string]any

// Both tools fulfil the contract of tools (TE-10, TO-15).
func TestToolsKeepTheContract(t *testing.T) {
	t.Parallel()
	files := map[string]string{"a.go": "func main() {\n}\n", "sub/b.txt": "text\n", ".gitignore": "*.log\n", "c.log": "func"}
	for name, c := range map[string]struct{ examples, failing, bad []args }{
		search.Glob: {
			[]args{{"pattern": "**/*.go"}, {"pattern": "*", "dir_path": "sub"}, {"pattern": "A.GO", "case_sensitive": true}, {"pattern": "*", "path": "."}},
			[]args{{"pattern": "*", "dir_path": "absent"}, {"pattern": "*", "dir_path": "a.go"}},
			[]args{{}, {"pattern": ""}, {"pattern": "[a"}, {"pattern": "*", "dir_path": ".."}, {"pattern": "*", "limit": 1}},
		},
		search.SearchFileContent: {
			[]args{{"pattern": "func"}, {"pattern": "(", "fixed_strings": true, "context": 2}, {"pattern": "t", "include": "*.txt", "names_only": true, "path": "sub"}},
			[]args{{"pattern": "x", "dir_path": "absent"}},
			[]args{{}, {"pattern": ""}, {"pattern": "("}, {"pattern": "a", "dir_path": "/etc"}, {"pattern": "a", "include_pattern": "["},
				{"pattern": "a", "context": -1}, {"pattern": "a", "total_max_matches": 0}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			all := func(list []args) (data []json.RawMessage) {
				for _, a := range list {
					data = append(data, raw(t, a))
				}
				return data
			}
			tooltest.Run(t, newWorld(t, files).tool(name), tooltest.Cases{Examples: all(c.examples), Failing: all(c.failing), Bad: all(c.bad)})
		})
	}
	made, err := search.Factories()
	require.NoError(t, err)
	require.Len(t, made, 2)
	for _, f := range made {
		require.NoError(t, f.Compile())
		require.Equal(t, tools.KindSearch, f.Spec().Kind)
	}
	require.Equal(t, []string{"grep_search"}, made[1].Spec().Aliases)
}

// TO-05: glob.
func TestGlob(t *testing.T) {
	w := newWorld(t, map[string]string{"a.go": "", "B.GO": "", "sub/c.go": "", "sub/d.txt": "", ".hidden.go": "", ".gitignore": "built/\n*.gen.go\n",
		"built/e.go": "", "x.gen.go": "", "odd[1].go": "", ".git/f.go": "", "Sub2/g.go": ""})
	for name, tt := range map[string]struct {
		call args
		want []string
	}{
		"one directory":            {args{"pattern": "*.go"}, []string{".hidden.go", "B.GO", "a.go", "odd[1].go"}},
		"minding case":             {args{"pattern": "*.go", "case_sensitive": true}, []string{".hidden.go", "a.go", "odd[1].go"}},
		"all directories":          {args{"pattern": "**/[a-g].go"}, []string{"B.GO", "Sub2/g.go", "a.go", "sub/c.go"}},
		"directory of any case":    {args{"pattern": "SUB*/**"}, []string{"Sub2/g.go", "sub/c.go", "sub/d.txt"}},
		"folder":                   {args{"pattern": "*", "dir_path": "sub"}, []string{"sub/c.go", "sub/d.txt"}},
		"directory, by its alias":  {args{"pattern": "*.go", "path": "sub"}, []string{"sub/c.go"}},
		"absolute":                 {args{"pattern": w.path("sub") + "/*.txt"}, []string{"sub/d.txt"}},
		"a name with brackets":     {args{"pattern": "odd[1].go"}, []string{"odd[1].go"}},
		"ignored, named":           {args{"pattern": "x.gen.go"}, []string{"x.gen.go"}},
		"ignored directory, named": {args{"pattern": "built/*"}, []string{"built/e.go"}},
		"none":                     {args{"pattern": "*.rs"}, nil},
		"the parent":               {args{"pattern": "../*.go", "dir_path": "sub"}, []string{".hidden.go", "B.GO", "a.go", "odd[1].go"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, a := w.shown(search.Glob, tt.call)
			require.Equal(t, tt.want, got)
			require.Equal(t, tt.want == nil, strings.Contains(a.Notice, "No file matches"))
		})
	}
	_, a := w.shown(search.Glob, args{"pattern": "**"})
	require.Equal(t, 2, a.Ignored)
	require.Equal(t, []string{w.path(".gitignore") + `:1: "built/"`, w.path(".gitignore") + `:2: "*.gen.go"`}, a.IgnoredBy)
	require.Equal(t, []string{w.dir}, a.Searched)
}

// Recently changed files come first, the newest before the others; the rest is sorted by path.
func TestGlobOrder(t *testing.T) {
	w := newWorld(t, map[string]string{"a": "", "b": "", "c": "", "d": "", "e": ""})
	w.now = time.Now()
	for name, age := range map[string]time.Duration{"a": 48 * time.Hour, "b": time.Hour, "c": 72 * time.Hour, "d": time.Minute, "e": 23 * time.Hour} {
		at := w.now.Add(-age)
		require.NoError(t, os.Chtimes(w.path(name), at, at))
	}
	got, _ := w.shown(search.Glob, args{"pattern": "*"})
	require.Equal(t, []string{"d", "b", "e", "a", "c"}, got)
}

// TO-05, CF-04: fileFiltering.maxFileCount and respectGitIgnore.
func TestFiltering(t *testing.T) {
	w := newWorld(t, map[string]string{"a": "x", "b": "x", "c": "x", ".gitignore": "c\n", ".fettleignore": "b\n"})
	for name, tt := range map[string]struct {
		options    discovery.Options
		glob, grep []string
	}{
		"the default":                 {discovery.Options{}, []string{"a", "b"}, []string{"a", "b"}},
		"own file":                    {discovery.Options{IgnoreFile: ".fettleignore"}, []string{"a"}, []string{"a"}},
		"not git's":                   {discovery.Options{NoGitIgnore: true}, []string{"a", "b", "c"}, []string{"a", "b", "c"}},
		"own ignore files, not git's": {discovery.Options{NoGitIgnore: true, IgnoreFile: ".fettleignore"}, []string{"a", "c"}, []string{"a", "c"}},
		"custom file":                 {discovery.Options{CustomFiles: []string{".fettleignore"}}, []string{"a"}, []string{"a"}},
		"at most one file":            {discovery.Options{MaxFiles: 1}, []string{"a"}, []string{"a"}},
	} {
		t.Run(name, func(t *testing.T) {
			w.options = tt.options
			got, a := w.shown(search.Glob, args{"pattern": "[abc]"})
			require.Equal(t, tt.glob, got)
			require.Equal(t, tt.options.MaxFiles > 0, a.LeftOut > 0)
			got, a = w.shown(search.SearchFileContent, args{"pattern": "x", "names_only": true})
			require.Equal(t, tt.grep, got)
			require.Equal(t, tt.options.MaxFiles > 0, a.More)
			require.Equal(t, a.More, strings.Contains(a.Notice, "There are more"))
		})
	}
}

// TO-05: search_file_content.
func TestSearchFileContent(t *testing.T) {
	w := newWorld(t, map[string]string{"a.go": "one\nfunc A() {\n}\nfunc B() {\n", "sub/b.go": "FUNC c\n", "c.txt": "func", "x.log": "func", ".gitignore": "*.log\n", "bin": "func\x00"})
	for name, tt := range map[string]struct {
		call args
		want []string
	}{
		"any case":        {args{"pattern": "^func "}, []string{"a.go:2:func A() {", "a.go:4:func B() {", "sub/b.go:1:FUNC c"}},
		"minding case":    {args{"pattern": "^func ", "case_sensitive": true}, []string{"a.go:2:func A() {", "a.go:4:func B() {"}},
		"fixed":           {args{"pattern": "a()", "fixed_strings": true}, []string{"a.go:2:func A() {"}},
		"include":         {args{"pattern": "func", "include": "*.{txt,md}"}, []string{"c.txt:1:func"}},
		"exclude":         {args{"pattern": "func", "exclude_pattern": "*.go"}, []string{"c.txt:1:func"}},
		"names":           {args{"pattern": "func", "names_only": true}, []string{"a.go", "c.txt", "sub/b.go"}},
		"context":         {args{"pattern": "A", "context": 1, "case_sensitive": true}, []string{"a.go-1-one", "a.go:2:func A() {", "a.go-3-}"}},
		"a few of a file": {args{"pattern": "func", "max_matches_per_file": 1}, []string{"a.go:2:func A() {", "c.txt:1:func", "sub/b.go:1:FUNC c"}},
		"a few":           {args{"pattern": "func", "total_max_matches": 1}, []string{"a.go:2:func A() {"}},
		"one file":        {args{"pattern": "func", "dir_path": "x.log"}, []string{"x.log:1:func"}},
		"a directory":     {args{"pattern": "func", "path": "sub"}, []string{"sub/b.go:1:FUNC c"}},
		"none":            {args{"pattern": "absent"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if tt.call["context"] == nil {
				tt.call["context"] = 0
			}
			got, a := w.shown(search.SearchFileContent, tt.call)
			require.Equal(t, tt.want, got)
			require.Equal(t, tt.want == nil, strings.Contains(a.Notice, "No line matches"))
			require.Equal(t, name == "a few", a.More)
		})
	}
	_, a := w.shown(search.SearchFileContent, args{"pattern": "absent"})
	require.Equal(t, 1, a.Binary)
	require.Contains(t, a.Notice, "dir_path")
	require.Equal(t, []string{w.path(".gitignore") + `:1: "*.log"`}, a.IgnoredBy)
}

// By default, a single match is shown with 50 lines of context, two or three matches with 15 each, and fewer if lines
// are very long.
func TestContextOfItsOwn(t *testing.T) {
	var numbered, long strings.Builder
	for i := range 200 {
		fmt.Fprintf(&numbered, "line %d\n", i+1)
		fmt.Fprintf(&long, "%s %d\n", strings.Repeat("x", 1000), i+1)
	}
	w := newWorld(t, map[string]string{"a": numbered.String(), "sub/b": numbered.String(), "long": long.String()})
	for name, tt := range map[string]struct {
		call         args
		lines, match int
	}{
		"one":             {args{"pattern": "^line 100$", "dir_path": "a"}, 101, 1},
		"at the end":      {args{"pattern": "^line 200$", "dir_path": "a"}, 51, 1},
		"two files":       {args{"pattern": "^line 100$"}, 62, 2},
		"three":           {args{"pattern": "^line (1|100|200)$", "dir_path": "a"}, 16 + 31 + 16, 3},
		"close together":  {args{"pattern": "^line 10[0-2]$", "dir_path": "a"}, 33, 3},
		"four":            {args{"pattern": "^line 10[0-3]$", "dir_path": "a"}, 4, 4},
		"asked for none":  {args{"pattern": "^line 100$", "dir_path": "a", "context": 0}, 1, 1},
		"asked for two":   {args{"pattern": "^line 100$", "dir_path": "a", "context": 2}, 5, 1},
		"limited":         {args{"pattern": "^line 10", "total_max_matches": 1}, 1, 1},
		"limited by file": {args{"pattern": "^line 10", "dir_path": "sub", "max_matches_per_file": 1}, 1, 1},
		"included":        {args{"pattern": "^line 100$", "include_pattern": "sub/*"}, 101, 1},
		"long lines":      {args{"pattern": " 100$", "dir_path": "long"}, 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			got, a := w.shown(search.SearchFileContent, tt.call)
			require.Len(t, got, tt.lines)
			require.Equal(t, tt.match, a.Matches)
			require.Equal(t, tt.match, len(slices.DeleteFunc(got, func(l string) bool { return strings.Contains(l, "-line") })))
		})
	}
	got, _ := w.shown(search.SearchFileContent, args{"pattern": "^line 3$", "dir_path": "a", "names_only": true})
	require.Equal(t, []string{"a"}, got)
	w.visible = func(p workspace.Path) bool { return p.Rel() == "a" }
	got, a := w.shown(search.SearchFileContent, args{"pattern": "^line 100$"})
	require.Len(t, got, 101)
	require.Equal(t, 1, a.Withheld)
}

// A result has at most 100 matches by default, and 256 KiB of text.
func TestSearchIsBounded(t *testing.T) {
	w := newWorld(t, map[string]string{"many": strings.Repeat("hit\n", 1000), "long": strings.Repeat(strings.Repeat("x", 5000)+"\n", 1000)})
	got, a := w.shown(search.SearchFileContent, args{"pattern": "hit"})
	require.Len(t, got, 100)
	require.True(t, a.More)
	r := w.run(t.Context(), search.SearchFileContent, args{"pattern": "x", "total_max_matches": 1000, "context": 50})
	require.Less(t, len(r.LLMContent.String()), 300<<10)
	require.Contains(t, r.ReturnDisplay.Text, "limited")
}

// Without dir_path all directories of the workspace are searched, each file once.
func TestSeveralDirectories(t *testing.T) {
	w := newWorld(t, map[string]string{"one/a": "x", "two/b": "x", "one/in/c": "x"})
	w.dirs = []string{w.path("one"), w.path("two"), w.path("one/in")}
	got, a := w.shown(search.Glob, args{"pattern": "**"})
	require.Equal(t, []string{"one/a", "one/in/c", "two/b"}, got)
	require.Equal(t, []string{w.path("one"), w.path("two")}, a.Searched)
	got, _ = w.shown(search.SearchFileContent, args{"pattern": "x"})
	require.Equal(t, []string{"one/a:1:x", "one/in/c:1:x", "two/b:1:x"}, got)
	got, _ = w.shown(search.SearchFileContent, args{"pattern": "x", "dir_path": w.path("two")})
	require.Equal(t, []string{"two/b:1:x"}, got)
}

// PR-29: neither the lines nor the name of a file that read_file may not show are returned, and it does not count for
// the limits. Permission is checked only for files with a match, once each.
func TestWhatMayNotBeShown(t *testing.T) {
	w := newWorld(t, map[string]string{"a/.env": "key=1\nkey=2\n", "a/b": "key=3\n", "c": "key=4\n", "d": "none\n", "e.env": "none\n"})
	var mu sync.Mutex
	asked := map[string]int{}
	w.visible = func(p workspace.Path) bool {
		mu.Lock()
		defer mu.Unlock()
		asked[p.Rel()]++
		return !strings.HasSuffix(p.Rel(), ".env")
	}
	for name, tt := range map[string]struct {
		call     args
		want     []string
		withheld int
		asked    map[string]int
	}{
		"lines":            {args{"pattern": "key"}, []string{"a/b:1:key=3", "c:1:key=4"}, 1, map[string]int{"a/.env": 1, "a/b": 1, "c": 1}},
		"with context":     {args{"pattern": "key", "context": 3}, []string{"a/b:1:key=3", "c:1:key=4"}, 1, map[string]int{"a/.env": 1, "a/b": 1, "c": 1}},
		"names":            {args{"pattern": "key", "names_only": true}, []string{"a/b", "c"}, 1, map[string]int{"a/.env": 1, "a/b": 1, "c": 1}},
		"directory, limit": {args{"pattern": "key", "dir_path": "a", "total_max_matches": 1}, []string{"a/b:1:key=3"}, 1, map[string]int{"a/.env": 1, "a/b": 1}},
		"file":             {args{"pattern": "key", "dir_path": "a/.env"}, nil, 1, map[string]int{"a/.env": 1}},
		"file, names":      {args{"pattern": "key", "dir_path": "a/.env", "names_only": true}, nil, 1, map[string]int{"a/.env": 1}},
		"no match":         {args{"pattern": "absent"}, nil, 0, map[string]int{}},
	} {
		t.Run(name, func(t *testing.T) {
			clear(asked)
			if tt.call["context"] == nil {
				tt.call["context"] = 0
			}
			got, a := w.shown(search.SearchFileContent, tt.call)
			require.Equal(t, tt.want, got)
			require.Equal(t, len(tt.want), a.Matches)
			require.Equal(t, tt.withheld, a.Withheld)
			require.Equal(t, tt.withheld > 0, strings.Contains(a.Notice, "read_file may not show"))
			require.Equal(t, tt.asked, asked)
		})
	}
	got, _ := w.shown(search.Glob, args{"pattern": "**/*.env"})
	require.Equal(t, []string{"a/.env", "e.env"}, got, "names of files are not their content")
}

// TO-05: maxFileCount is for all directories together.
func TestMaxFileCountOverSeveralDirectories(t *testing.T) {
	w := newWorld(t, map[string]string{"one/a": "x", "one/b": "x", "two/a": "x", "two/b": "x"})
	w.dirs = []string{w.path("one"), w.path("two")}
	for most, want := range map[int][]string{1: {"one/a"}, 2: {"one/a", "one/b"}, 3: {"one/a", "one/b", "two/a"}, 4: {"one/a", "one/b", "two/a", "two/b"}} {
		w.options.MaxFiles = most
		got, a := w.shown(search.SearchFileContent, args{"pattern": "x", "names_only": true})
		require.Equal(t, want, got)
		require.Equal(t, most < 4, a.More)
		got, a = w.shown(search.Glob, args{"pattern": "*"})
		require.Equal(t, want, got)
		require.Equal(t, 4-most, a.LeftOut)
	}
}

// FS-10: neither tool returns a version or a hash.
func TestResultsCarryNoState(t *testing.T) {
	w := newWorld(t, map[string]string{"a": "text"})
	for tool, a := range map[string]args{search.Glob: {"pattern": "*"}, search.SearchFileContent: {"pattern": "text"}} {
		content := w.run(t.Context(), tool, a).LLMContent.String()
		require.Contains(t, content, w.path("a"))
		for _, key := range []string{"version", "sha256", "content"} {
			require.NotContains(t, content, `"`+key+`"`)
		}
	}
}

func TestRefusals(t *testing.T) {
	w := newWorld(t, map[string]string{"a": "x"})
	_, err := w.tool(search.SearchFileContent).Build(raw(t, args{"pattern": "a(b"}))
	require.Equal(t, fault.InvalidToolParams, fault.CodeOf(err))
	require.Contains(t, fault.As(err).Message, "a(b")
	require.Contains(t, fault.As(err).Remedy, "fixed_strings")
	for _, tool := range []string{search.Glob, search.SearchFileContent} {
		_, err := w.tool(tool).Build(raw(t, args{"pattern": "a", "dir_path": "../.."}))
		require.Equal(t, fault.PathNotInWorkspace, fault.CodeOf(err))
		require.Equal(t, fault.FileNotFound, w.run(t.Context(), tool, args{"pattern": "a", "dir_path": "absent"}).Error.Code)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		require.Equal(t, fault.Cancelled, w.run(ctx, tool, args{"pattern": "a"}).Error.Code)
	}
	require.Equal(t, fault.PathIsNotADirectory, w.run(t.Context(), search.Glob, args{"pattern": "*", "dir_path": "a"}).Error.Code)
}

// failing is a Finder whose errors have no code.
type failing struct{ search.Finder }

func (failing) Find(context.Context, discovery.Find) (discovery.Found, error) {
	return discovery.Found{}, errors.New("broken")
}

func (failing) Search(context.Context, discovery.Search) (discovery.Results, error) {
	return discovery.Results{}, errors.New("broken")
}

func (failing) Options() discovery.Options { return discovery.Options{} }

func TestFailuresHaveACode(t *testing.T) {
	ws, err := workspace.Open(t.TempDir())
	require.NoError(t, err)
	defer ws.Close() //nolint:errcheck // a test
	all, err := search.Factories()
	require.NoError(t, err)
	for i, code := range []fault.Code{fault.GlobExecutionError, fault.GrepExecutionError} {
		inv, err := all[i].Bind(search.Services{Paths: ws, Finder: failing{}, Visible: visibility(nil)}).Build(raw(t, args{"pattern": "a*"}))
		require.NoError(t, err)
		result, err := inv.Execute(t.Context(), nil)
		require.NoError(t, err)
		require.Equal(t, code, result.Error.Code)
	}
}

func TestDescriptions(t *testing.T) {
	w := newWorld(t, nil)
	inv, err := w.tool(search.SearchFileContent).Build(raw(t, args{"pattern": "a\nb", "dir_path": "sub", "include_pattern": "*.go"}))
	require.NoError(t, err)
	require.Equal(t, `'"a\nb"' in sub in files that match '*.go'`, inv.Description())
	require.Equal(t, []tools.Location{{Path: w.path("sub")}}, inv.Locations())
	inv, err = w.tool(search.Glob).Build(raw(t, args{"pattern": strings.Repeat("x", 500)}))
	require.NoError(t, err)
	require.Less(t, len(inv.Description()), 100)
}

// Names that are not valid UTF-8 are shown and marked as unreachable.
func TestOddNames(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the file system may refuse such names")
	}
	w := newWorld(t, map[string]string{"line\nbreak": "x", "bad\xff\xfe": "x"})
	for tool, a := range map[string]args{search.Glob: {"pattern": "*"}, search.SearchFileContent: {"pattern": "x", "names_only": true}} {
		got, answer := w.shown(tool, a)
		require.Equal(t, []string{"bad\ufffd\ufffd", "line\nbreak"}, got)
		require.Contains(t, answer.Notice, "UTF-8")
	}
}

// The notice names the limit that applied, and the next step.
func TestLimitNotices(t *testing.T) {
	line := "x" + strings.Repeat("y", 1500) + "\n"
	w := newWorld(t, map[string]string{"a": strings.Repeat(line, 300), "b": "x\nx\n", "c": "x\n"})
	for name, tt := range map[string]struct {
		files     int
		args      args
		says, not string
	}{
		"matches":        {0, args{"total_max_matches": 2}, "total_max_matches", "max_matches_per_file"},
		"names":          {0, args{"total_max_matches": 2, "names_only": true}, "raise total_max_matches", "names_only"},
		"files":          {2, args{"total_max_matches": 100_000, "max_matches_per_file": 1}, "the 2 files of one result", "raise"},
		"files by name":  {2, args{"total_max_matches": 100_000, "names_only": true}, "the 2 files of one result", "raise"},
		"size":           {0, args{"total_max_matches": 100_000}, "the 256 KiB of one result", "raise"},
		"size of a file": {0, args{"total_max_matches": 100_000, "dir_path": "a"}, "the 256 KiB of one result", "raise"},
		"of a file":      {0, args{"max_matches_per_file": 1, "dir_path": "b"}, "raise max_matches_per_file", "total_max_matches"},
		"all of a file":  {0, args{"total_max_matches": 1, "dir_path": "b"}, "raise total_max_matches", "max_matches_per_file"},
	} {
		t.Run(name, func(t *testing.T) {
			w.options.MaxFiles = tt.files
			tt.args["pattern"] = "x"
			_, got := w.shown(search.SearchFileContent, tt.args)
			require.True(t, got.More)
			require.Contains(t, got.Notice, "There are more")
			require.Contains(t, got.Notice, tt.says)
			require.NotContains(t, got.Notice, tt.not)
		})
	}
}

// Files in an encoding that is not searched are reported if they may matter.
func TestOlderEncodings(t *testing.T) {
	w := newWorld(t, map[string]string{"latin.txt": "needle caf\xe9\n"})
	got, a := w.shown(search.SearchFileContent, args{"pattern": "café"})
	require.Empty(t, got)
	require.Contains(t, a.Notice, "neither UTF-8 nor UTF-16")
	got, a = w.shown(search.SearchFileContent, args{"pattern": "needle"})
	require.Equal(t, []string{"latin.txt:1:needle caf\ufffd"}, got)
	require.Empty(t, a.Notice)
	_, a = w.shown(search.SearchFileContent, args{"pattern": "absent"})
	require.Equal(t, "No line matches.", a.Notice)
}

// A git directory is not ignored by any rule, but it is not searched, even if it is named.
func TestGitDirectory(t *testing.T) {
	w := newWorld(t, map[string]string{".git/config": "x"})
	for tool, a := range map[string]args{search.Glob: {"pattern": ".git/*"}, search.SearchFileContent: {"pattern": "x", "dir_path": ".git"}} {
		got, answer := w.shown(tool, a)
		require.Empty(t, got)
		require.Contains(t, answer.Notice, "The directory is a git directory or inside one; these are never searched.")
	}
}
