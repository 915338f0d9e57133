//go:build unix

package file_test

import (
	"bytes"
	"errors"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/configtest"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/tools/file"
)

// situation is a path, with the outcome of each tool for it: "ok", or code and reason of the error.
type situation struct {
	name    string
	prepare func(t *testing.T, s *configtest.Session) (path string)

	readFile, readMany, list, patch, write, edit string
}

// Abbreviations of the table.
const (
	ok          = "ok"
	notFound    = "file_not_found"
	isDir       = "target_is_directory"
	notDir      = "path_is_not_a_directory"
	outsideCode = "path_not_in_workspace"
	badParams   = "invalid_tool_params"
	noRegular   = "not_a_regular_file/special_file"
	special     = "edit_requires_prior_read/special_file"
	neverRead   = "edit_requires_prior_read/never_read"
	noText      = "edit_requires_prior_read/non_text"
	tooLarge    = "file_too_large"
	noVerify    = "prior_read_verification_failed/unverifiable"
	disappeared = "file_changed_since_read/disappeared"
	invalidDiff = "invalid_diff"
	denied      = "permission_denied"
)

func atPath(path string) func(*testing.T, *configtest.Session) string {
	return func(*testing.T, *configtest.Session) string { return path }
}

func withFile(name, content string) func(*testing.T, *configtest.Session) string {
	return func(_ *testing.T, s *configtest.Session) string { s.Write(name, content); return name }
}

func withLink(name, target string) func(*testing.T, *configtest.Session) string {
	return func(t *testing.T, s *configtest.Session) string {
		require.NoError(t, os.Symlink(target, s.Path(name)))
		return name
	}
}

// situations are those that require no privileges.
var situations = []situation{
	{"absent", atPath("absent"), notFound, notFound, notFound, disappeared, disappeared, notFound},
	{"absent tree", atPath("no/such/tree/file"), notFound, notFound, notFound, disappeared, disappeared, notFound},
	{"folder", func(t *testing.T, s *configtest.Session) string {
		require.NoError(t, os.Mkdir(s.Path("dir"), 0o755))
		return "dir"
	}, isDir, isDir, ok, isDir, isDir, isDir},
	{"the target directory", atPath("."), isDir, isDir, ok, isDir, isDir, isDir},
	{"FIFO", func(t *testing.T, s *configtest.Session) string {
		require.NoError(t, syscall.Mkfifo(s.Path("fifo"), 0o666))
		return "fifo"
	}, noRegular, noRegular, notDir, special, special, special},
	{"socket", func(t *testing.T, s *configtest.Session) string {
		// The path of a socket is limited to 107 bytes.
		t.Chdir(s.Dir)
		l, err := net.Listen("unix", "socket")
		require.NoError(t, err)
		t.Cleanup(func() { l.Close() })
		return "socket"
	}, noRegular, noRegular, notDir, special, special, special},
	{"device behind a link", withLink("null", "/dev/null"), outsideCode, outsideCode, outsideCode, outsideCode, outsideCode, outsideCode},
	{"2 GB", func(t *testing.T, s *configtest.Session) string {
		require.NoError(t, os.Truncate(s.Write("huge", ""), 2<<30))
		return "huge"
	}, tooLarge, tooLarge, notDir, tooLarge, tooLarge, tooLarge},
	{"NUL bytes", withFile("nul", "a\x00b\x00"), ok, ok, notDir, noText, noText, neverRead},
	{"invalid UTF-8", withFile("latin", "\xff\xc3 \x81\n"), ok, ok, notDir, noText, noText, neverRead},
	{"empty file", withFile("empty", ""), ok, ok, notDir, invalidDiff, ok, neverRead},
	{"line break in the name", withFile("a\nb", base), ok, ok, notDir, ok, ok, neverRead},
	{"quote in the name", withFile(`a"b\`, base), ok, ok, notDir, ok, ok, neverRead},
	{"blank in the name", withFile(" a ", base), ok, ok, notDir, ok, ok, neverRead},
	{"empty path", atPath(""), badParams, badParams, badParams, badParams, badParams, badParams},
	{"blank path", atPath(" "), badParams, badParams, badParams, badParams, badParams, badParams},
	{"NUL in the path", atPath("a\x00b"), badParams, badParams, badParams, badParams, badParams, badParams},
	{"long name", atPath(strings.Repeat("n", 300)), badParams, badParams, badParams, noVerify, noVerify, noVerify},
	{"long path", atPath(strings.Repeat("n/", 4000)), badParams, badParams, badParams, noVerify, noVerify, noVerify},
	{"..", atPath("../x"), outsideCode, outsideCode, outsideCode, outsideCode, outsideCode, outsideCode},
	{".. inside", atPath("a/../../x"), outsideCode, outsideCode, outsideCode, outsideCode, outsideCode, outsideCode},
	{"absolute", atPath("/etc/passwd"), outsideCode, outsideCode, outsideCode, outsideCode, outsideCode, outsideCode},
	{"name of the directory as prefix", func(_ *testing.T, s *configtest.Session) string { return s.Dir + "x" },
		outsideCode, outsideCode, outsideCode, outsideCode, outsideCode, outsideCode},
	{"link outside", withLink("link", "/etc/passwd"), outsideCode, outsideCode, outsideCode, outsideCode, outsideCode, outsideCode},
	{"relative link outside", withLink("link", "../../../../../../etc/passwd"), outsideCode, outsideCode, outsideCode, outsideCode, outsideCode, outsideCode},
	{"below a link outside", func(t *testing.T, s *configtest.Session) string {
		require.NoError(t, os.Symlink("/etc", s.Path("etc")))
		return "etc/passwd"
	}, outsideCode, outsideCode, outsideCode, outsideCode, outsideCode, outsideCode},
	{"below a file", func(_ *testing.T, s *configtest.Session) string { s.Write("file", base); return "file/x" },
		notDir, notDir, notDir, noVerify, noVerify, noVerify},
	{"dangling link", withLink("link", "nowhere"), notFound, notFound, notFound, disappeared, disappeared, notFound},
	{"link to itself", withLink("link", "link"), "read_content_failure", "read_content_failure", "read_content_failure", noVerify, noVerify, noVerify},
	{"link to a directory", func(t *testing.T, s *configtest.Session) string {
		require.NoError(t, os.Mkdir(s.Path("dir"), 0o755))
		require.NoError(t, os.Symlink("dir", s.Path("link")))
		return "link"
	}, isDir, isDir, ok, isDir, isDir, isDir},
}

// rootSituations require a device node.
var rootSituations = []situation{
	{"device", func(t *testing.T, s *configtest.Session) string {
		const null = 1<<8 | 3
		if err := syscall.Mknod(s.Path("null"), syscall.S_IFCHR|0o666, null); err != nil {
			t.Skip("no device can be made here: ", err)
		}
		return "null"
	}, noRegular, noRegular, notDir, special, special, special},
}

// nobodySituations require a user without privileges, for whom mode bits apply.
var nobodySituations = []situation{
	{"unreadable file", func(t *testing.T, s *configtest.Session) string {
		require.NoError(t, os.Chmod(s.Write("closed", base), 0))
		return "closed"
	}, denied, denied, notDir, denied, denied, neverRead},
	{"unreadable directory", func(t *testing.T, s *configtest.Session) string {
		s.Write("dir/a", base)
		closeDirectory(t, s.Path("dir"), 0)
		return "dir/a"
	}, denied, denied, denied, noVerify, noVerify, noVerify},
	{"unlisted directory", func(t *testing.T, s *configtest.Session) string {
		s.Write("dir/a", base)
		closeDirectory(t, s.Path("dir"), 0o333)
		return "dir"
	}, isDir, isDir, denied, isDir, isDir, isDir},
	{"read-only file", func(t *testing.T, s *configtest.Session) string {
		require.NoError(t, os.Chmod(s.Write("fixed", base), 0o444))
		return "fixed"
	}, ok, ok, notDir, denied, denied, neverRead},
	{"read-only directory", func(t *testing.T, s *configtest.Session) string {
		s.Write("dir/a", base)
		closeDirectory(t, s.Path("dir"), 0o555)
		return "dir/a"
	}, ok, ok, notDir, ok, ok, neverRead},
}

func closeDirectory(t *testing.T, path string, mode fs.FileMode) {
	require.NoError(t, os.Chmod(path, mode))
	t.Cleanup(func() { _ = os.Chmod(path, 0o755) })
}

// hostileArgs returns the arguments for a path; those of a mutator are valid except for the path.
func hostileArgs(s *configtest.Session, tool, path string) args {
	content := base
	if info, err := os.Stat(filepath.Join(s.Dir, path)); err == nil && info.Mode().IsRegular() && info.Size() < 1<<20 {
		if data, err := os.ReadFile(filepath.Join(s.Dir, path)); err == nil {
			content = string(data)
		}
	}
	switch tool {
	case file.ReadFile:
		return args{"file_path": path}
	case file.ReadManyFiles:
		return args{"paths": []string{path}}
	case file.ListDirectory:
		return args{"dir_path": path}
	case file.SafePatch:
		return patchArgs(path, baseDiff, sum(content))
	case file.WriteFile:
		return writeArgs(path, "x", sum(content))
	case file.ApplyPatch:
		return args{"input": envelope(two(path))}
	case file.TextEditor:
		return args{"command": "str_replace", "path": path, "old_str": "two", "new_str": "TWO"}
	}
	return editArgs(path, "two", "TWO")
}

// outcome returns the entry of a situation's table.
func outcome(t *testing.T, tool string, r scheduler.Response) string {
	e := r.Result.Error
	if tool == file.ReadManyFiles && e == nil {
		e = configtest.Decode[[]element](t, r)[0].Error
	}
	if e == nil {
		return ok
	}
	require.NotEmpty(t, e.Message)
	if e.Code != fault.InvalidToolParams {
		require.NotEmpty(t, e.Remedy, "%s", e.Message)
	}
	if e.Reason == "" {
		return string(e.Code)
	}
	return string(e.Code) + "/" + string(e.Reason)
}

func trySituations(t *testing.T, all []situation) {
	for _, tt := range all {
		for _, c := range []struct{ tool, want string }{
			{file.ReadFile, tt.readFile}, {file.ReadManyFiles, tt.readMany}, {file.ListDirectory, tt.list},
			{file.SafePatch, tt.patch}, {file.WriteFile, tt.write}, {file.Edit, tt.edit},
		} {
			t.Run(tt.name+"/"+c.tool, func(t *testing.T) {
				s := newSession(t)
				path := tt.prepare(t, s)
				a := hostileArgs(s, c.tool, path)
				before := tree(t, s.Dir)
				begin := time.Now()
				r := s.Call(c.tool, a)
				require.Equal(t, c.want, outcome(t, c.tool, r), "%s", r.Result.LLMContent.String())
				require.Less(t, time.Since(begin), time.Minute)
				mutates := c.tool != file.ReadFile && c.tool != file.ReadManyFiles && c.tool != file.ListDirectory
				if c.want == ok && mutates {
					succeed(t, r)
					return
				}
				require.Equal(t, before, tree(t, s.Dir), "no file has changed")
				if mutates && c.want != outsideCode && c.want != badParams {
					reportOf(t, r)
				}
			})
		}
	}
}

// FS-20, FS-47, PR-08 to PR-11, PR-19, TO-01, TE-07, TE-10: for every path a tool returns at once, with a code and the
// next step, and changes nothing.
func TestHostilePaths(t *testing.T) { trySituations(t, situations) }

func TestHostilePathsOfRoot(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can create a device")
	}
	trySituations(t, rootSituations)
}

// TestAsNobody runs the tests TestNobody… as a user without privileges.
func TestAsNobody(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can change the user")
	}
	home, err := os.MkdirTemp("", "fettle") //nolint:usetesting // t.TempDir lies in a directory that others may not enter
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(home)) })
	require.NoError(t, os.Chmod(home, 0o777))
	// The link can be executed even if the user cannot reach the name of the binary.
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run=^TestNobody", "-test.v")
	cmd.Env = append(os.Environ(), "FETTLE_TEST_NOBODY=1", "TMPDIR="+home, "HOME="+home)
	cmd.Dir = home
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := cmd.CombinedOutput()
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist) {
		t.Skip("the test binary cannot be run by another user")
	}
	require.NoError(t, err, "%s", out)
	require.True(t, bytes.Contains(out, []byte("--- PASS: TestNobodyHostilePaths")), "%s", out)
}

func TestNobodyHostilePaths(t *testing.T) {
	if os.Getenv("FETTLE_TEST_NOBODY") == "" {
		t.Skip("run by TestAsNobody")
	}
	trySituations(t, nobodySituations)
	trySituations(t, situations)
}

// Read-only files and directories can be read. A change of such a file is refused even after a read, and so is a new
// file in such a directory. A writable file in it is changed in place.
func TestNobodyReadOnly(t *testing.T) {
	if os.Getenv("FETTLE_TEST_NOBODY") == "" {
		t.Skip("run by TestAsNobody")
	}
	eachMutator(t, func(t *testing.T, m mutator) {
		s := newSession(t)
		require.NoError(t, os.Chmod(s.Write("a.txt", base), 0o444))
		s.Write("dir/a.txt", base)
		closeDirectory(t, s.Path("dir"), 0o555)
		read(t, s, "a.txt")
		before := tree(t, s.Dir)
		report := refuse(t, s.Call(m.tool, m.change("a.txt")), fault.PermissionDenied, "")
		requireShown(t, report.LatestFileState)
		require.Equal(t, before, tree(t, s.Dir))
		names := listing(t, s.Dir)
		read(t, s, "dir/a.txt")
		succeed(t, s.Call(m.tool, m.change("dir/a.txt")))
		require.NotEqual(t, base, s.Read("dir/a.txt"))
		require.Equal(t, names, listing(t, s.Dir))
		before = tree(t, s.Dir)
		for _, name := range []string{"dir/new.txt", "dir/new/tree.txt"} {
			requireWithheld(t, refuse(t, s.Call(m.tool, m.create(name)), fault.PermissionDenied, "").LatestFileState, s.Path(name))
		}
		require.Equal(t, before, tree(t, s.Dir))
	})
}

// TO-01: the error names the directories of the workspace, and a path in any of them is accepted.
func TestOutsideNamesTheWorkspace(t *testing.T) {
	second := t.TempDir()
	s := newSession(t, func(p *config.Parameters) { p.IncludeDirs = []string{second} })
	for _, tool := range allTools {
		a := hostileArgs(s, tool, "/etc/passwd")
		r := s.Call(tool, a)
		e := r.Result.Error
		if tool == file.ReadManyFiles {
			e = configtest.Decode[[]element](t, r)[0].Error
		}
		require.Equal(t, fault.PathNotInWorkspace, e.Code)
		require.True(t, strings.HasPrefix(e.Message, "File path must be within workspace: "), e.Message)
		require.Contains(t, e.Message, s.Dir)
		require.Contains(t, e.Message, second)
	}
	path := filepath.Join(second, "a.txt")
	succeed(t, s.Call(file.WriteFile, writeArgs(path, base, "")))
	succeed(t, s.Call(file.Edit, editArgs(path, "two", "TWO")))
	require.Equal(t, changed, *read(t, s, path).Content)
}

// FS-63: a link within the workspace is followed and stays a link, for changes and for new files.
func TestChangesThroughLinks(t *testing.T) {
	eachMutator(t, func(t *testing.T, m mutator) {
		s := newSession(t)
		s.Write("real/a.txt", base)
		require.NoError(t, os.Symlink("real/a.txt", s.Path("link")))
		require.NoError(t, os.Symlink("real/new.txt", s.Path("dangling")))
		require.NoError(t, os.Symlink(s.Path("real"), s.Path("absolute")))
		read(t, s, "link")
		st := succeed(t, s.Call(m.tool, m.change("link"))).LatestFileState
		require.Equal(t, s.Path("link"), st.FilePath)
		require.Equal(t, changed, s.Read("real/a.txt"))
		succeed(t, s.Call(m.tool, m.create("dangling")))
		require.Equal(t, "made\n", s.Read("real/new.txt"))
		for _, name := range []string{"link", "dangling"} {
			target, err := os.Readlink(s.Path(name))
			require.NoError(t, err)
			require.True(t, strings.HasPrefix(target, "real/"))
		}
		succeed(t, s.Call(file.Edit, editArgs("absolute/a.txt", "one", "1")))
		require.Equal(t, "1\nTWO\nthree\n", s.Read("link"))
	})
}

// FS-64: all names of a file change together.
func TestChangesOfAFileWithTwoNames(t *testing.T) {
	eachMutator(t, func(t *testing.T, m mutator) {
		s := newSession(t)
		path := s.Write("a.txt", base)
		require.NoError(t, os.Link(path, s.Path("b.txt")))
		info, err := os.Stat(path)
		require.NoError(t, err)
		read(t, s, "a.txt")
		succeed(t, s.Call(m.tool, m.change("a.txt")))
		require.Equal(t, changed, s.Read("b.txt"))
		after, err := os.Stat(path)
		require.NoError(t, err)
		require.Equal(t, identity(info), identity(after))
		// The other name counts as read too.
		succeed(t, s.Call(file.Edit, editArgs("b.txt", "one", "1")))
	})
}
