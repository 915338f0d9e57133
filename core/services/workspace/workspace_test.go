package workspace

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
)

// onEach runs a test with every implementation of directory.
func onEach(t *testing.T, test func(t *testing.T, start func(dirs ...string) *Workspace)) {
	t.Helper()
	for name, openDirectory := range map[string]func(string) (directory, error){
		"platform": openDirectory, "os.Root": openRootDirectory,
	} {
		t.Run(name, func(t *testing.T) {
			test(t, func(dirs ...string) *Workspace {
				w, err := open(openDirectory, dirs)
				require.NoError(t, err)
				t.Cleanup(func() { require.NoError(t, w.Close()) })
				return w
			})
		})
	}
}

// tree creates files, links for content that begins with "->", and directories for names that end
// in a slash. $ in a target is the directory of the tree.
func tree(t testing.TB, entries ...string) string {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	for _, e := range entries {
		name, content, _ := strings.Cut(e, " ")
		path := filepath.Join(top, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		switch {
		case strings.HasSuffix(name, "/"):
			require.NoError(t, os.MkdirAll(path, 0o755))
		case strings.HasPrefix(content, "->"):
			require.NoError(t, os.Symlink(strings.ReplaceAll(content[2:], "$", top), path))
		default:
			require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
		}
	}
	return top
}

func resolve(t testing.TB, w *Workspace, path string) Path {
	t.Helper()
	p, err := w.Resolve(path)
	require.NoError(t, err)
	return p
}

func readAll(f *os.File, err error) (string, error) {
	if err != nil {
		return "", err
	}
	defer f.Close()
	data, err := io.ReadAll(f)
	return string(data), err
}

// openAt opens the file of a location by directory and name, as callers do.
func openAt(l *Location) (*os.File, error) { return l.in.openEntry(l.Name) }

// requireAt requires that a location is that of path, which has no links.
func requireAt(t testing.TB, path string, l *Location) {
	t.Helper()
	held, err := l.Dir.Stat()
	require.NoError(t, err)
	directory, err := os.Stat(filepath.Dir(path))
	require.NoError(t, err)
	require.True(t, os.SameFile(held, directory), "not in the directory of %s", path)
	require.Equal(t, filepath.Base(path), l.Name)
}

func requireCode(t testing.TB, err error, code fault.Code) {
	t.Helper()
	require.Error(t, err)
	require.Equal(t, code, fault.CodeOf(err), "%v", err)
	f := fault.As(err)
	require.NotEmpty(t, f.Message)
	require.NotEmpty(t, f.Remedy)
}

func TestOpen(t *testing.T) {
	top := tree(t, "a/", "file x", "link ->a")
	for name, dirs := range map[string][]string{
		"none": nil, "empty name": {""}, "absent": {top + "/none"}, "a file": {top + "/file"}, "second absent": {top, top + "/none"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Open(dirs...)
			requireCode(t, err, fault.InvalidConfig)
		})
	}
	w, err := Open(top+"/link/../a/", top, top)
	require.NoError(t, err)
	require.Equal(t, []string{top + "/a", top}, w.Directories())
	require.Equal(t, top+"/a", w.Target())
	require.NoError(t, w.Add(top+"/link"))
	require.Equal(t, []string{top + "/a", top, top + "/link"}, w.Directories())
	requireCode(t, w.Add(top+"/none"), fault.InvalidConfig)

	require.NoError(t, w.Close())
	require.NoError(t, w.Close())
	_, err = w.Stat(newPath(top, "."))
	requireCode(t, err, fault.NotInitialized)
	require.ErrorIs(t, err, os.ErrClosed)
	requireCode(t, w.Add(top), fault.NotInitialized)
}

// An idle session costs no descriptor: 10,000 idle Configs.
func TestOpenTakesNoDescriptor(t *testing.T) {
	top := tree(t)
	const n = 10_000
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	open := make([]*Workspace, n)
	for i := range open {
		w, err := Open(top)
		require.NoError(t, err)
		open[i] = w
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	require.Less(t, int64(after.HeapAlloc)-int64(before.HeapAlloc), int64(n*1024), "heap for %d workspaces", n)
	for _, w := range open {
		require.Nil(t, w.roots[0].dir)
		require.NoError(t, w.Close())
	}
}

// TO-01, TE-10
func TestResolve(t *testing.T) {
	top := tree(t, "ws/sub/", "ws2/", "ws/sub/inner/", "alias ->ws", "other/", "dangling ->nowhere", "wsx/", "real/", "link ->real")
	w, err := Open(top+"/ws", top+"/ws2", top+"/ws/sub/inner", top+"/link")
	require.NoError(t, err)
	defer w.Close()
	for _, tt := range []struct{ path, directory, rel string }{
		{"a.txt", "/ws", "a.txt"},
		{"./sub//b/../c", "/ws", "sub/c"},
		{".", "/ws", "."},
		{"..\\a", "/ws", "..\\a"},
		{"...", "/ws", "..."},
		{top + "/ws2/x", "/ws2", "x"},
		{top + "/ws/../ws2/x", "/ws2", "x"},
		{"../ws2/x", "/ws2", "x"},
		{"sub/inner/x", "/ws/sub/inner", "x"},         // the innermost directory
		{top + "/real/new/file", "/link", "new/file"}, // by the name with links resolved
		{top + "/real", "/link", "."},
		{"line\nbreak", "/ws", "line\nbreak"},
		{"\xff", "/ws", "\xff"},
	} {
		if runtime.GOOS == "windows" && strings.ContainsAny(tt.path, "\\\n") {
			continue
		}
		p, err := w.Resolve(tt.path)
		require.NoError(t, err, "%q", tt.path)
		require.Equal(t, top+tt.directory, p.Root(), "%q", tt.path)
		require.Equal(t, tt.rel, p.Rel(), "%q", tt.path)
		require.Equal(t, filepath.Join(top+tt.directory, tt.rel), p.String())
		require.Equal(t, filepath.Base(p.String()), p.Base())
	}
	for path, code := range map[string]fault.Code{
		"":                     fault.InvalidToolParams,
		"a\x00b":               fault.InvalidToolParams,
		"..":                   fault.PathNotInWorkspace,
		"../other/x":           fault.PathNotInWorkspace,
		top + "/wsx":           fault.PathNotInWorkspace, // a name that only has the same prefix
		top + "/other/new":     fault.PathNotInWorkspace,
		top + "/alias/x":       fault.PathNotInWorkspace, // a link under which the workspace was not opened
		top + "/dangling/x":    fault.PathNotInWorkspace,
		"/":                    fault.PathNotInWorkspace,
		"../../../../../../..": fault.PathNotInWorkspace,
	} {
		_, err := w.Resolve(path)
		requireCode(t, err, code)
		if code == fault.PathNotInWorkspace {
			message := fault.As(err).Message
			require.True(t, strings.HasPrefix(message, "File path must be within workspace: "), message)
			for _, directory := range w.Directories() {
				require.Contains(t, message, directory)
			}
		}
	}
	_, err = w.Stat(Path{})
	requireCode(t, err, fault.InvalidToolParams)
	_, err = w.Stat(newPath(top+"/other", "x"))
	requireCode(t, err, fault.PathNotInWorkspace)
}

// The file that a name leads to: its content, or the error. TO-01, KH-24, FS-63.
var leadCases = []struct {
	path string
	want string // content
	code fault.Code
	real string // result of Locate; "" if it fails with code
}{
	{path: "file", want: "file", real: "ws/file"},
	{path: "sub/file", want: "sub", real: "ws/sub/file"},
	{path: "sub/link", want: "file", real: "ws/file"},
	{path: "abs", want: "sub", real: "ws/sub/file"},
	{path: "absdir/file", want: "sub", real: "ws/sub/file"},
	{path: "chain", want: "sub", real: "ws/sub/file"},
	{path: "cross", want: "ws2", real: "ws2/file"},
	{path: "crossrel", want: "ws2", real: "ws2/file"},
	{path: "physical", want: "ws2 beside", real: "ws2/beside"}, // todeep/../beside differs from ./beside
	{path: "physicalabs", want: "ws2 beside", real: "ws2/beside"},
	{path: "roundabout", want: "file", real: "ws/file"}, // outside by .. and inside again
	{path: "viaalias", want: "file", real: "ws/file"},   // outside through a link and inside again
	{path: "dotted", want: "file", real: "ws/file"},
	{path: "none", code: fault.FileNotFound, real: "ws/none"},
	{path: "sub/none", code: fault.FileNotFound, real: "ws/sub/none"},
	{path: "none/none", code: fault.FileNotFound},
	{path: "dangling", code: fault.FileNotFound, real: "ws/sub/new"},
	{path: "danglingabs", code: fault.FileNotFound, real: "ws2/new"},
	{path: "danglingdeep", code: fault.FileNotFound},
	{path: "danglingout", code: fault.PathNotInWorkspace},
	{path: "out", code: fault.PathNotInWorkspace},
	{path: "outabs", code: fault.PathNotInWorkspace},
	{path: "outdir/secret", code: fault.PathNotInWorkspace},
	{path: "outdir/none", code: fault.PathNotInWorkspace},
	{path: "outdir/secret/x", code: fault.PathNotInWorkspace},
	{path: "outroot", code: fault.PathNotInWorkspace},
	{path: "alike", code: fault.PathNotInWorkspace}, // /ws-alike has the prefix /ws
	{path: "loop", code: fault.ReadContentFailure},
	{path: "self/x", code: fault.ReadContentFailure},
	{path: "file/x", code: fault.PathIsNotADirectory},
	{path: "slashed", code: fault.PathIsNotADirectory}, // a link to file/
	{path: strings.Repeat("n", 300), code: fault.InvalidToolParams},
	{path: "new\nline", want: "odd", real: "ws/new\nline"},
	{path: "bad\xff\xfe", want: "odd", real: "ws/bad\xff\xfe"},
}

func leadsTree(t testing.TB) string {
	return tree(t,
		"ws/file file", "ws/sub/file sub", "ws2/file ws2", "ws2/beside ws2 beside", "ws/beside wrong", "ws2/deep/",
		"ws/sub/link ->../file", "ws/abs ->$/ws/sub/file", "ws/absdir ->$/ws/sub", "ws/chain ->chain2", "ws/chain2 ->$/ws/chain3", "ws/chain3 ->absdir/file",
		"ws/cross ->$/ws2/file", "ws/crossrel ->../ws2/file", "ws/todeep ->$/ws2/deep", "ws/physical ->todeep/../beside", "ws/physicalabs ->$/ws/todeep/../beside",
		"ws/roundabout ->sub/../../ws/file", "ws/viaalias ->$/alias/file", "alias ->ws", "ws/dotted ->./sub/.././/file",
		"ws/dangling ->sub/new", "ws/danglingabs ->$/ws2/new", "ws/danglingdeep ->gone/new", "ws/danglingout ->$/outside/new",
		"outside/secret secret", "ws/out ->../outside/secret", "ws/outabs ->$/outside/secret", "ws/outdir ->$/outside", "ws/outroot ->/",
		"ws-alike/file secret", "ws/alike ->$/ws-alike/file",
		"ws/loop ->loop2", "ws/loop2 ->loop", "ws/self ->self", "ws/slashed ->file/",
		"ws/new\nline odd", "ws/bad\xff\xfe odd",
	)
}

func TestLeads(t *testing.T) {
	top := leadsTree(t)
	onEach(t, func(t *testing.T, start func(...string) *Workspace) {
		checkLeads(t, start(top+"/ws", top+"/ws2"), top)
	})
}

func checkLeads(t *testing.T, w *Workspace, top string) {
	t.Helper()
	for _, tt := range leadCases {
		name := tt.path[:min(len(tt.path), 30)]
		p := resolve(t, w, tt.path)
		info, err := w.Stat(p)
		content, rerr := readAll(w.OpenRead(p))
		if tt.code != "" {
			requireCode(t, err, tt.code)
			requireCode(t, rerr, tt.code)
		} else {
			require.NoError(t, err, name)
			require.NoError(t, rerr, name)
			require.Equal(t, tt.want, content, name)
			require.EqualValues(t, len(tt.want), info.Size, name)
		}
		l, err := w.Locate(p)
		if tt.real == "" {
			requireCode(t, err, tt.code)
			continue
		}
		require.NoError(t, err, name)
		requireAt(t, filepath.Join(top, tt.real), l)
		content, err = readAll(openAt(l))
		if tt.want != "" {
			require.NoError(t, err, name)
			require.Equal(t, tt.want, content, name)
		} else {
			require.ErrorIs(t, err, fs.ErrNotExist, name)
		}
		require.NoError(t, l.Close())
		require.NoError(t, l.Close())
	}
}

func TestLeadsErrno(t *testing.T) {
	top := leadsTree(t)
	onEach(t, func(t *testing.T, start func(...string) *Workspace) {
		w := start(top + "/ws")
		_, err := w.Stat(resolve(t, w, "none"))
		require.ErrorIs(t, err, fs.ErrNotExist)
		_, err = w.OpenRead(resolve(t, w, "dangling"))
		require.ErrorIs(t, err, fs.ErrNotExist)
		_, err = w.Locate(resolve(t, w, "."))
		requireCode(t, err, fault.TargetIsDirectory)
		_, err = w.Stat(resolve(t, w, strings.Repeat("deep/", 1000)+"x"))
		require.Contains(t, []fault.Code{fault.FileNotFound, fault.InvalidToolParams}, fault.CodeOf(err))
		require.Less(t, len(fault.As(err).Message), 1000)
		_, err = w.Locate(resolve(t, w, "bad\xff\xfe/x"))
		requireCode(t, err, fault.PathIsNotADirectory)
		require.Contains(t, err.Error(), `bad\xff\xfe`) // displayed quoted
		l, err := w.Locate(resolve(t, w, "sub"))
		require.NoError(t, err)
		require.Equal(t, "sub", l.Name)
		require.NoError(t, l.Close())
	})
}

// A location stays with its directory if that is moved.
func TestLocationStaysWithItsDirectory(t *testing.T) {
	onEach(t, func(t *testing.T, start func(...string) *Workspace) {
		top := tree(t, "ws/file inside")
		w := start(top + "/ws")
		l, err := w.Locate(resolve(t, w, "file"))
		require.NoError(t, err)
		defer l.Close()
		require.NoError(t, os.Rename(top+"/ws", top+"/moved"))
		require.NoError(t, os.Mkdir(top+"/ws", 0o755))
		requireAt(t, top+"/moved/file", l)
		content, err := readAll(openAt(l))
		require.NoError(t, err)
		require.Equal(t, "inside", content)
	})
}

func TestReadDir(t *testing.T) {
	top := tree(t, "ws/b bb", "ws/a/", "ws/c ->b", "ws/gone ->nowhere", "ws/out ->$/outside/secret", "outside/secret x", "ws/new\nline x", "ws/\xff x", "ws/d ->a", "ws/toa ->$/ws/a")
	onEach(t, func(t *testing.T, start func(...string) *Workspace) {
		w := start(top + "/ws")
		entries, err := w.ReadDir(t.Context(), resolve(t, w, "."))
		require.NoError(t, err)
		var names []string
		found := map[string]Entry{}
		for _, e := range entries {
			names = append(names, e.Name)
			found[e.Name] = e
		}
		require.Equal(t, []string{"a", "b", "c", "d", "gone", "new\nline", "out", "toa", "\xff"}, names)
		require.True(t, found["a"].Info.Mode.IsDir())
		require.True(t, found["d"].Info.Mode.IsDir() && found["d"].Link)
		require.True(t, found["toa"].Info.Mode.IsDir() && found["toa"].Link)
		require.EqualValues(t, 2, found["b"].Info.Size)
		require.EqualValues(t, 2, found["c"].Info.Size)
		require.True(t, found["c"].Link)
		require.False(t, found["b"].Link)
		requireCode(t, found["gone"].Err, fault.FileNotFound)
		requireCode(t, found["out"].Err, fault.PathNotInWorkspace)

		entries, err = w.ReadDir(t.Context(), resolve(t, w, "toa"))
		require.NoError(t, err)
		require.Empty(t, entries)
		for path, code := range map[string]fault.Code{
			"b": fault.PathIsNotADirectory, "none": fault.FileNotFound, "out": fault.PathNotInWorkspace, "c": fault.PathIsNotADirectory,
		} {
			_, err := w.ReadDir(t.Context(), resolve(t, w, path))
			requireCode(t, err, code)
		}
	})
}

// Existing omits only names that certainly do not exist, and never follows a link.
func TestExisting(t *testing.T) {
	onEach(t, func(t *testing.T, start func(dirs ...string) *Workspace) {
		top := tree(t, "a x", "dangling ->nowhere", "d/a x", "d/b/ ", "link ->d")
		w := start(top)
		names := []string{"a", "b", "c", "dangling", "d/b"}
		found, err := w.Existing(resolve(t, w, "."), names)
		require.NoError(t, err)
		require.Equal(t, []string{"a", "dangling", "d/b"}, found)

		found, err = w.Existing(resolve(t, w, "d"), names)
		require.NoError(t, err)
		require.Subset(t, found, []string{"a", "b"})
		if runtime.GOOS == "linux" && t.Name() == "TestExisting/platform" {
			require.Equal(t, []string{"a", "b", "d/b"}, found)
		}
		found, err = w.Existing(resolve(t, w, "link"), names)
		require.NoError(t, err)
		require.Equal(t, names, found, "the path contains a link")

		require.NoError(t, os.Rename(top, top+".old"))
		require.NoError(t, os.Mkdir(top, 0o755))
		found, err = w.Existing(resolve(t, w, "."), []string{"a", "b"})
		require.NoError(t, err)
		require.Empty(t, found, "of the new directory")
	})
}
