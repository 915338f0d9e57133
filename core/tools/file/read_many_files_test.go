package file_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/configtest"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/services/discovery"
	"github.com/fettle-dev/fettle/core/services/filestate"
	"github.com/fettle-dev/fettle/core/services/workspace"
	"github.com/fettle-dev/fettle/core/tools"
	"github.com/fettle-dev/fettle/core/tools/file"
)

// element is an element of a result of read_many_files.
type element struct {
	filestate.State
	Error *fault.Error `json:"error"`
}

func readMany(t testing.TB, s *configtest.Session, a args) []element {
	t.Helper()
	r := s.Call(file.ReadManyFiles, a)
	require.Equal(t, scheduler.StatusSuccess, r.Status, "%s", r.Result.LLMContent.String())
	return configtest.Decode[[]element](t, r)
}

func names(s *configtest.Session, elements []element) []string {
	var names []string
	for _, e := range elements {
		name := e.FilePath
		if rel, err := filepath.Rel(s.Dir, name); err == nil {
			name = filepath.ToSlash(rel)
		}
		names = append(names, name)
	}
	return names
}

// FS-21, TE-02: the order of the input, one version each, correct hashes.
func TestReadManyFilesKeepsTheOrder(t *testing.T) {
	s := newSession(t)
	for _, name := range []string{"a", "b", "c"} {
		s.Write(name, "content of "+name)
	}
	got := readMany(t, s, args{"paths": []string{"c", "a", "b"}})
	require.Equal(t, []string{"c", "a", "b"}, names(s, got))
	for i, e := range got {
		require.Equal(t, int64(i+1), *e.Version)
		requireShown(t, e.State)
	}
}

// FS-22: after a failure the others are read.
func TestReadManyFilesGoesOnAfterAFailure(t *testing.T) {
	s := newSession(t)
	s.Write("a", "a")
	s.Write("c", "c")
	require.NoError(t, os.Mkdir(s.Path("dir"), 0o755))
	r := s.Call(file.ReadManyFiles, args{"paths": []string{"a", "missing", "dir", "../outside", "c"}})
	require.Equal(t, "Read 2 of 5 files", r.Result.ReturnDisplay.Text)
	got := configtest.Decode[[]element](t, r)
	require.Equal(t, []string{"a", "missing", "dir", "../outside", "c"}, names(s, got)[:5])
	require.Equal(t, fault.FileNotFound, got[1].Error.Code)
	require.NotEmpty(t, got[1].Error.Message)
	require.Equal(t, fault.TargetIsDirectory, got[2].Error.Code)
	require.Equal(t, fault.PathNotInWorkspace, got[3].Error.Code)
	require.Contains(t, got[3].Error.Message, "File path must be within workspace: ")
	requireShown(t, got[4].State)
	require.Equal(t, int64(2), *got[4].Version, "an error uses no version")
}

// FS-23: each read has the content, and counts as a read.
func TestReadManyFilesNeverUsesAPlaceholder(t *testing.T) {
	s := newSession(t)
	s.Write("a.txt", base)
	for range 2 {
		require.Equal(t, base, *readMany(t, s, args{"paths": []string{"a.txt"}})[0].Content)
	}
	succeed(t, s.Call(file.Edit, args{"file_path": "a.txt", "old_string": "two", "new_string": "TWO"}))
}

// TO-03: a file that several patterns match is read once. Ignored files match no pattern but can be named; exclude
// applies to patterns only.
func TestReadManyFilesPatterns(t *testing.T) {
	s := newSession(t)
	for _, name := range []string{"a.go", "b.txt", "sub/c.go", "sub/d.go", "sub/deep/e.go", "built/f.go", ".git/g.go", "odd[1].go"} {
		s.Write(name, name)
	}
	s.Write(".gitignore", "built/\n")
	for _, tt := range []struct {
		paths, exclude, want []string
	}{
		{[]string{"*.go"}, nil, []string{"a.go", "odd[1].go"}},
		{[]string{"**/*.go"}, nil, []string{"a.go", "odd[1].go", "sub/c.go", "sub/d.go", "sub/deep/e.go"}},
		{[]string{"sub/d.go", "sub/*.go", "./sub/../sub/c.go"}, nil, []string{"sub/d.go", "sub/c.go"}},
		{[]string{"sub/**"}, []string{"**/d.go", "sub/deep/**"}, []string{"sub/c.go"}},
		{[]string{"sub/d.go"}, []string{"**/d.go"}, []string{"sub/d.go"}},
		{[]string{"built/f.go"}, nil, []string{"built/f.go"}},
		{[]string{"odd[1].go"}, nil, []string{"odd[1].go"}},
		{[]string{"{a.go,sub/c.go}"}, nil, []string{"a.go", "sub/c.go"}},
		{[]string{s.Path("sub") + "/*.go"}, nil, []string{"sub/c.go", "sub/d.go"}},
	} {
		got := readMany(t, s, args{"paths": tt.paths, "exclude": tt.exclude})
		require.Equal(t, tt.want, names(s, got), "%v", tt)
		for _, e := range got {
			require.Nil(t, e.Error)
		}
	}
	// the name of the parameter in upstream
	require.Len(t, readMany(t, s, args{"include": []string{"a.go"}}), 1)
}

// The error for a pattern without a match states the reason, and nothing outside the workspace is read.
func TestReadManyFilesPatternsWithoutResult(t *testing.T) {
	s := newSession(t)
	s.Write("a.go", "a")
	s.Write(".gitignore", "*.log\n")
	s.Write("x.log", "x")
	for _, tt := range []struct {
		pattern, exclude, message string
		code                      fault.Code
	}{
		{"*.rs", "", "No file matches", fault.FileNotFound},
		{"*.log", "", "No file matches", fault.FileNotFound},
		{"*.go", "**/*.go", "is excluded", fault.FileNotFound},
		{"../*", "", "within workspace", fault.PathNotInWorkspace},
		{"/etc/host*", "", "within workspace", fault.PathNotInWorkspace},
		{"missing[id.go", "", "malformed", fault.InvalidToolParams},
		{"{", "", "malformed", fault.InvalidToolParams},
		{strings.Repeat("{a,b}", 12), "", "too many patterns", fault.InvalidToolParams},
	} {
		a := args{"paths": []string{tt.pattern}}
		if tt.exclude != "" {
			a["exclude"] = []string{tt.exclude}
		}
		got := readMany(t, s, a)
		require.Len(t, got, 1)
		if tt.exclude == "" { // the other files are read
			a["paths"] = []string{"a.go", tt.pattern, ".gitignore"}
			all := readMany(t, s, a)
			require.Equal(t, "a", *all[0].Content)
			require.Equal(t, got[0].Error.Message, all[1].Error.Message)
			require.Equal(t, "*.log\n", *all[2].Content)
		}
		require.Equal(t, tt.code, got[0].Error.Code)
		require.Contains(t, got[0].Error.Message, tt.message)
		require.NotEmpty(t, got[0].Error.Remedy)
	}
	r := s.Call(file.ReadManyFiles, args{"paths": []string{"a.go"}, "exclude": []string{"[a"}})
	requireError(t, r, fault.InvalidToolParams, "")
	for _, paths := range [][]string{{}, {""}, {"a.go", " "}} {
		requireError(t, s.Call(file.ReadManyFiles, args{"paths": paths}), fault.InvalidToolParams, "")
	}
}

// Links to directories are not followed, so no pattern leads outside.
func TestReadManyFilesDoesNotWalkLinks(t *testing.T) {
	s := newSession(t)
	outside := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(outside, "secret.go"), []byte("secret"), 0o644))
	require.NoError(t, os.Symlink(outside, s.Path("link")))
	require.NoError(t, os.Symlink(filepath.Join(outside, "secret.go"), s.Path("secret.go")))
	for _, pattern := range []string{"**/*.go", "link/*.go", "link/secret.go", "secret.go"} {
		r := s.Call(file.ReadManyFiles, args{"paths": []string{pattern}})
		require.NotContains(t, r.Result.LLMContent.String(), `"secret"`, pattern)
	}
}

// A call shows at most 4 MiB, even without a limit for results, and lists the files that it did not reach.
func TestReadManyFilesBoundsWhatItShows(t *testing.T) {
	s := newSession(t, func(p *config.Parameters) { p.Session.Limits.ResultBytes = -1 })
	content := strings.Repeat(strings.Repeat("x", 99)+"\n", 2000)
	for i := range 30 {
		s.Write(fmt.Sprintf("f%02d", i), content)
	}
	got := readMany(t, s, args{"paths": []string{"f*"}})
	require.Len(t, got, 30)
	shown := 0
	for i, e := range got {
		if e.Error == nil {
			require.Equal(t, content, *e.Content)
			shown += len(*e.Content)
			continue
		}
		require.Greater(t, i, 15)
		require.Equal(t, fault.FileTooLarge, e.Error.Code)
	}
	require.LessOrEqual(t, shown, 4<<20+256<<10)
	// The remedy: another call.
	require.Equal(t, content, *readMany(t, s, args{"paths": []string{"f29"}})[0].Content)
}

// Binary data does not fit in a list of states. Its element states how to read it.
func TestReadManyFilesPayloads(t *testing.T) {
	s := newSession(t, func(p *config.Parameters) {
		p.Calls.Seam = func(at string, path workspace.Path) error {
			if at == "reading" {
				t.Errorf("%s was read completely for nothing", path)
			}
			return nil
		}
	})
	s.Write("a.png", png)
	s.Write("a.bin", "\x00\x01\x02")
	got := readMany(t, s, args{"paths": []string{"a.png", "a.bin"}})
	require.Contains(t, got[0].Notice, "image/png")
	require.Contains(t, got[0].Notice, "read_file")
	require.Contains(t, got[1].Notice, "Cannot display content of binary file")
	for _, e := range got {
		require.Nil(t, e.SHA256)
		require.Nil(t, e.Content)
		require.Nil(t, e.Version)
	}
}

func TestReadManyFilesLocations(t *testing.T) {
	s := newSession(t)
	inv := build(t, s, file.ReadManyFiles, args{"paths": []string{"b", "*.go", "a", "../x"}})
	require.Equal(t, []tools.Location{{Path: s.Path("b")}, {Path: s.Path("a")}}, inv.Locations())
	require.Equal(t, "b, *.go, a, ../x", inv.Description())
	inv = build(t, s, file.ReadManyFiles, args{"paths": []string{"1", "2\n", "3", "4", "5", "6", "7"}})
	require.Equal(t, `1, "2\n", 3, 4, 5, and 2 more`, inv.Description())
}

// TO-03: a pattern that names an ignored directory reads its files, and reports it.
func TestReadManyFilesNamesIgnoredDirectories(t *testing.T) {
	s := newSession(t)
	for _, name := range []string{"built/a.go", "built/b.bin", "src/c.go"} {
		s.Write(name, map[bool]string{true: "\x00\x01", false: "text"}[strings.HasSuffix(name, ".bin")])
	}
	s.Write(".gitignore", "built/\n")
	got := readMany(t, s, args{"paths": []string{"built/*", "src/*"}})
	require.Equal(t, []string{"built/a.go", "built/b.bin", "src/c.go"}, names(s, got))
	says := "The file is ignored, because " + s.Path(".gitignore") + `:1: "built/" ignores its directory; it was read because the pattern names the directory.`
	require.Equal(t, says, got[0].Notice)
	require.True(t, strings.HasSuffix(got[1].Notice, says) && got[1].Notice != says, got[1].Notice)
	require.Empty(t, got[2].Notice)
	require.Empty(t, readMany(t, s, args{"paths": []string{"built/a.go"}})[0].Notice)
}

// manyFiles is a Finder that finds more files than a call may read.
type manyFiles struct {
	file.Finder
	paths []workspace.Path
}

func (m manyFiles) Find(_ context.Context, r discovery.Find) (discovery.Found, error) {
	given := min(r.Limit, len(m.paths))
	return discovery.Found{Files: m.paths[:given], More: len(m.paths) - given}, nil
}

func (m manyFiles) Options() discovery.Options { return discovery.Options{} }

// fakeReader returns a recognizable state for every read.
type fakeReader struct {
	asked []string
}

func (f *fakeReader) MayShow(workspace.Path) bool { return true }

func (f *fakeReader) Ahead(_ context.Context, r filestate.ReadRequest) filestate.ReadRequest {
	if r.Path.Base() == "panic" {
		panic("ahead")
	}
	return r
}

func (f *fakeReader) Read(_ context.Context, r filestate.ReadRequest) (*filestate.Read, error) {
	f.asked = append(f.asked, r.Path.Base())
	version, hash, content := int64(1000+len(f.asked)), "hash of "+r.Path.Base(), "content of "+r.Path.Base()
	return &filestate.Read{State: &filestate.State{FilePath: r.Path.String(), Version: &version, SHA256: &hash, Content: &content}}, nil
}

// bind returns a tool over the services of a test.
func bind(t testing.TB, name string, s file.Services) tools.DeclarativeTool {
	t.Helper()
	all, err := file.Factories()
	require.NoError(t, err)
	for _, f := range all {
		if f.Spec().Name == name {
			return f.Bind(s)
		}
	}
	t.Fatalf("no tool %s", name)
	return nil
}

func execute(t testing.TB, tool tools.DeclarativeTool, a args) tools.Result {
	t.Helper()
	inv, err := tool.Build(jsonOf(t, a))
	require.NoError(t, err)
	result, err := inv.Execute(t.Context(), nil)
	require.NoError(t, err)
	return result
}

// FS-24, CR-34, TE-02: both tools return the states of the one builder unchanged, which is called once for each path
// and in order.
func TestReadToolsOnlyPassStatesOn(t *testing.T) {
	ws, err := workspace.Open(t.TempDir())
	require.NoError(t, err)
	defer ws.Close()
	reader := new(fakeReader)
	services := file.Services{Paths: ws, Reader: reader, Directories: ws, Finder: discovery.New(ws)}
	one := execute(t, bind(t, file.ReadFile, services), args{"file_path": "x"})
	many := execute(t, bind(t, file.ReadManyFiles, services), args{"paths": []string{"c", "a", "c", "b"}})
	require.Equal(t, []string{"x", "c", "a", "b"}, reader.asked)
	var st filestate.State
	require.NoError(t, json.Unmarshal([]byte(one.LLMContent.String()), &st))
	require.Equal(t, "hash of x", *st.SHA256)
	var all []filestate.State
	require.NoError(t, json.Unmarshal([]byte(many.LLMContent.String()), &all))
	require.Len(t, all, 3)
	for i, name := range []string{"c", "a", "b"} {
		require.Equal(t, "hash of "+name, *all[i].SHA256)
		require.Equal(t, int64(1002+i), *all[i].Version)
	}
}

// AR-28: a panic while files are read ahead is a defect of the call.
func TestReadManyFilesDefect(t *testing.T) {
	ws, err := workspace.Open(t.TempDir())
	require.NoError(t, err)
	defer ws.Close()
	services := file.Services{Paths: ws, Reader: new(fakeReader), Directories: ws, Finder: discovery.New(ws)}
	inv, err := bind(t, file.ReadManyFiles, services).Build(jsonOf(t, args{"paths": []string{"a", "panic", "b"}}))
	require.NoError(t, err)
	_, err = inv.Execute(t.Context(), nil)
	var defect *tools.Defect
	require.ErrorAs(t, err, &defect)
	require.Equal(t, "ahead", defect.Cause)
}

// TO-03: the limit of files, for patterns and for named paths.
func TestReadManyFilesCapsFiles(t *testing.T) {
	const most = 20_000
	ws, err := workspace.Open(t.TempDir())
	require.NoError(t, err)
	defer ws.Close()
	finder := manyFiles{}
	var named []string
	for i := range most + 1 {
		p, err := ws.Resolve(fmt.Sprint("f", i))
		require.NoError(t, err)
		finder.paths = append(finder.paths, p)
		named = append(named, p.Base())
	}
	for name, paths := range map[string][]string{"pattern": {"*"}, "paths": named, "both": {"*", "g1", "g2"}} {
		t.Run(name, func(t *testing.T) {
			reader := new(fakeReader)
			tool := bind(t, file.ReadManyFiles, file.Services{Paths: ws, Reader: reader, Directories: ws, Finder: finder})
			var got []element
			require.NoError(t, json.Unmarshal([]byte(execute(t, tool, args{"paths": paths}).LLMContent.String()), &got))
			require.Len(t, got, most+1)
			require.Len(t, reader.asked, most)
			require.Equal(t, fault.ReadManyFilesSearch, got[most].Error.Code)
			require.Contains(t, got[most].Error.Message, "20000")
		})
	}
}

func TestReadManyFilesEndsWithItsContext(t *testing.T) {
	s := newSession(t)
	s.Write("a", "a")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	inv := build(t, s, file.ReadManyFiles, args{"paths": []string{"a", "*"}})
	result, err := inv.Execute(ctx, nil)
	require.NoError(t, err)
	require.Equal(t, fault.Cancelled, result.Error.Code)
}
