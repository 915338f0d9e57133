package file_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/config/configtest"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/services/discovery"
	"github.com/fettle-dev/fettle/core/services/workspace"
	"github.com/fettle-dev/fettle/core/tools"
	"github.com/fettle-dev/fettle/core/tools/file"
)

// directory is the result of list_directory, as the model receives it.
type directory struct {
	DirPath string `json:"dir_path"`
	Entries []struct {
		Name  string `json:"name"`
		Type  string `json:"type"`
		Link  bool   `json:"link"`
		Size  *int64 `json:"size"`
		Error string `json:"error"`
	} `json:"entries"`
	Ignored int      `json:"ignored"`
	Reasons []string `json:"ignored_by"`
	LeftOut int      `json:"left_out"`
	Notice  string   `json:"notice"`
}

func list(t testing.TB, s *configtest.Session, a args) directory {
	t.Helper()
	r := s.Call(file.ListDirectory, a)
	require.Equal(t, scheduler.StatusSuccess, r.Status, "%s", r.Result.LLMContent.String())
	return configtest.Decode[directory](t, r)
}

// TO-04: types, directories first, ignore rules, and targets of links.
func TestListDirectory(t *testing.T) {
	s := newSession(t)
	s.Write("b.txt", "12345")
	s.Write("a.log", "")
	s.Write("z/inner", "")
	s.Write("m/inner", "")
	s.Write(".git/config", "")
	s.Write(".gitignore", "*.log\n")
	require.NoError(t, os.Symlink("b.txt", s.Path("to-file")))
	require.NoError(t, os.Symlink("m", s.Path("to-folder")))
	require.NoError(t, os.Symlink("nowhere", s.Path("to-nothing")))
	require.NoError(t, os.Symlink("/etc", s.Path("to-outside")))
	got := list(t, s, args{"dir_path": "."})
	var lines []string
	for _, e := range got.Entries {
		line := e.Name + " " + e.Type
		if e.Link {
			line += " link"
		}
		if e.Size != nil {
			line += fmt.Sprint(" ", *e.Size)
		}
		lines = append(lines, line)
		require.Equal(t, strings.HasPrefix(e.Type, "symlink"), e.Error != "", "%v", e)
		require.NotContains(t, e.Error, "workspace.Stat", "models see no names of operations")
	}
	require.Equal(t, []string{
		"m directory", "to-folder directory link", "z directory",
		".gitignore file 6", "b.txt file 5", "to-file file link 5", "to-nothing symlink link", "to-outside symlink link",
	}, lines)
	require.Equal(t, 2, got.Ignored)
	require.Equal(t, []string{s.Path(".gitignore") + `:1: "*.log"`}, got.Reasons)
	require.Equal(t, s.Dir, got.DirPath)

	got = list(t, s, args{"path": s.Path("."), "ignore": []string{"to-*", ".*", "?"}})
	require.Len(t, got.Entries, 1)
	require.Equal(t, "b.txt", got.Entries[0].Name)
}

// An ignored directory is listed if the call names it; the rules inside it apply (16980).
func TestListDirectoryOfAnIgnoredDirectory(t *testing.T) {
	s := newSession(t)
	s.Write(".gitignore", "built/\n*.o\n")
	s.Write("built/a.o", "")
	s.Write("built/.gitignore", "*.tmp\n")
	s.Write("built/b.tmp", "")
	require.Equal(t, 1, list(t, s, args{"dir_path": "."}).Ignored)
	got := list(t, s, args{"dir_path": "built"})
	require.Len(t, got.Entries, 2)
	require.Equal(t, "a.o", got.Entries[1].Name)
	require.Equal(t, []string{s.Path("built/.gitignore") + `:1: "*.tmp"`}, got.Reasons)
}

// FS-10: a listing has no version and no hash, and a listed file does not count as read.
func TestListingIsNoReading(t *testing.T) {
	s := newSession(t)
	s.Write("a.txt", base)
	r := s.Call(file.ListDirectory, args{"dir_path": "."})
	for _, key := range []string{"version", "sha256", "content"} {
		require.NotContains(t, r.Result.LLMContent.String(), key)
	}
	require.Zero(t, versionNow(t, s))
	refuse(t, s.Call(file.Edit, args{"file_path": "a.txt", "old_string": "two", "new_string": "2"}),
		fault.EditRequiresPriorRead, fault.NeverRead)
}

func TestListDirectoryArguments(t *testing.T) {
	s := newSession(t)
	s.Write("a.txt", base)
	r := s.Call(file.ListDirectory, args{"dir_path": ""})
	require.Equal(t, "The 'dir_path' parameter must be non-empty.", r.Result.Error.Message)
	requireError(t, s.Call(file.ListDirectory, args{"dir_path": ".", "ignore": []string{"[a"}}), fault.InvalidToolParams, "")
	r = s.Call(file.ListDirectory, args{"dir_path": "a.txt"})
	requireError(t, r, fault.PathIsNotADirectory, "")
	require.Contains(t, r.Result.Error.Remedy, "read_file")
	inv := build(t, s, file.ListDirectory, args{"dir_path": "sub/deep"})
	require.Equal(t, "sub/deep", inv.Description())
	require.Equal(t, []tools.Location{{Path: s.Path("sub/deep")}}, inv.Locations())
}

// fakeDir is a directory of many files, and one subdirectory that sorts last.
type fakeDir struct {
	file.Directories
	file.Finder
	files int
}

func (f fakeDir) ReadDir(context.Context, workspace.Path) ([]workspace.Entry, error) {
	var entries []workspace.Entry
	for i := range f.files {
		entries = append(entries, workspace.Entry{Name: fmt.Sprintf("f%05d", i)})
	}
	return append(entries, workspace.Entry{Name: "zzz", Info: workspace.Info{Mode: fs.ModeDir}}), nil
}

func (f fakeDir) In(context.Context, workspace.Path) (*discovery.Scope, error) {
	return new(discovery.Scope), nil
}

// A huge directory is cut, with directories first, the number of omitted entries, and the next step.
func TestListDirectoryOfAHugeDirectory(t *testing.T) {
	ws, err := workspace.Open(t.TempDir())
	require.NoError(t, err)
	defer ws.Close()
	fake := fakeDir{files: 10_000}
	tool := bind(t, file.ListDirectory, file.Services{Paths: ws, Directories: fake, Finder: fake})
	list := func(a args) (got directory) {
		require.NoError(t, json.Unmarshal([]byte(execute(t, tool, a).LLMContent.String()), &got))
		return got
	}
	got := list(args{"dir_path": "."})
	require.Len(t, got.Entries, 2000)
	require.Equal(t, "zzz", got.Entries[0].Name)
	require.Equal(t, 8001, got.LeftOut)
	// the next step of the notice
	require.Contains(t, got.Notice, "ignore")
	got = list(args{"dir_path": ".", "ignore": []string{"f0[1-9]*"}})
	require.Len(t, got.Entries, 1001)
	require.Zero(t, got.LeftOut)
	require.Empty(t, got.Notice)
}

// A name that is not valid UTF-8 is listed and marked as unreachable, with one U+FFFD for each invalid byte, as in the
// search tools.
func TestListDirectoryOddNames(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the file system may refuse such names")
	}
	s := newSession(t)
	require.NoError(t, os.WriteFile(filepath.Join(s.Dir, "bad\xff\xfe"), nil, 0o644))
	s.Write("line\nbreak", base)
	got := list(t, s, args{"dir_path": "."})
	require.Equal(t, "bad\ufffd\ufffd", got.Entries[0].Name)
	require.Contains(t, got.Entries[0].Error, "UTF-8")
	require.Equal(t, "line\nbreak", got.Entries[1].Name)
	require.Equal(t, base, *read(t, s, got.Entries[1].Name).Content)
}
