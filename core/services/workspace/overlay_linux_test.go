package workspace

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
)

// forked returns a fork of the directory ws in a tree of files, and the name of the tree.
func forked(t *testing.T, files ...string) (w *Workspace, top string) {
	t.Helper()
	top = tree(t, append(files, "upper/", "ws/")...)
	w, err := OpenOverlays([]Overlay{{Dir: top + "/ws", Upper: top + "/upper"}}, top+"/ws")
	require.NoError(t, err)
	t.Cleanup(func() { w.Close() })
	return w, top
}

func readText(t *testing.T, w *Workspace, path string) string {
	t.Helper()
	f, err := w.OpenRead(resolve(t, w, path))
	require.NoError(t, err)
	defer f.Close()
	data, err := io.ReadAll(f)
	require.NoError(t, err)
	return string(data)
}

// FK-01: directories that cannot be shown together are refused.
func TestOpenOverlaysRefuses(t *testing.T) {
	top := tree(t, "ws/d/", "ws/upper/", "upper/ws/", "other/", "link ->$/ws")
	for name, overlays := range map[string][]Overlay{
		"missing":         {{Dir: top + "/none", Upper: top + "/upper"}},
		"missing upper":   {{Dir: top + "/ws", Upper: top + "/none"}},
		"relative":        {{Dir: "ws", Upper: top + "/upper"}},
		"link":            {{Dir: top + "/link", Upper: top + "/upper"}},
		"upper in it":     {{Dir: top + "/ws", Upper: top + "/ws/upper"}},
		"in its upper":    {{Dir: top + "/upper/ws", Upper: top + "/upper"}},
		"nested":          {{Dir: top + "/ws", Upper: top + "/upper"}, {Dir: top + "/ws/d", Upper: top + "/other"}},
		"upper of others": {{Dir: top + "/ws", Upper: top + "/upper"}, {Dir: top + "/other", Upper: top + "/ws/upper"}},
	} {
		_, err := OpenOverlays(overlays, top+"/ws")
		require.Equal(t, fault.InvalidConfig, fault.CodeOf(err), "%s: %v", name, err)
	}
	_, err := OpenOverlays(nil)
	require.Equal(t, fault.InvalidConfig, fault.CodeOf(err))
}

// FK-04: no other directory becomes writable; others are read-only.
func TestOverlaysStayAlone(t *testing.T) {
	top := tree(t, "ws/a x", "upper/", "beside/b x", "skill/c x")
	w, err := OpenOverlays([]Overlay{{Dir: top + "/ws", Upper: top + "/upper"}}, top+"/ws", top+"/beside")
	require.NoError(t, err)
	defer w.Close()
	require.Equal(t, []string{top + "/ws"}, w.Directories())
	require.Equal(t, []string{top + "/ws"}, w.RealDirectories())
	require.Equal(t, []string{top + "/beside"}, w.ReadOnlyDirectories())
	require.Equal(t, "x", readText(t, w, top+"/beside/b"))
	_, err = w.Locate(resolve(t, w, top+"/beside/b"))
	require.Equal(t, fault.PermissionDenied, fault.CodeOf(err))
	for _, dir := range []string{top + "/beside", top + "/skill", top} {
		require.Equal(t, fault.InvalidConfig, fault.CodeOf(w.Add(dir)), dir)
	}
	require.NoError(t, w.Add(top+"/ws"), "it is one already")
	require.NoError(t, w.AddReadOnly(top+"/skill"))
	require.Equal(t, "x", readText(t, w, top+"/skill/c"))
	require.Equal(t, fault.PermissionDenied, fault.CodeOf(w.Writable(resolve(t, w, top+"/skill/c"))))
}

// FK-04: repositories are read-only at any depth, and through links.
func TestForkRepositoryIsReadOnly(t *testing.T) {
	w, top := forked(t, "ws/.git/config x", "ws/sub/.git/config x", "ws/link ->.git", "ws/sub/deep ->.git/config", "ws/file x")
	for _, name := range []string{".git", ".git/config", ".git/new", ".git/a/b/new", "sub/.git/config", "sub/.git/new", "link/config", "link/new", "sub/deep", ".Git/config", "file/../.git/config"} {
		p := resolve(t, w, name)
		if _, err := w.Stat(p); err == nil {
			_, err = w.Locate(p)
			require.Equal(t, fault.PermissionDenied, fault.CodeOf(err), "%s: %v", name, err)
		}
		_, err := w.MakeParents(p)
		require.Equal(t, fault.PermissionDenied, fault.CodeOf(err), "%s: %v", name, err)
		require.Equal(t, fault.PermissionDenied, fault.CodeOf(w.Writable(p)), name)
		for what, err := range map[string]error{
			"chmod": w.Chmod(p, 0o777), "mkdir": w.MakeDir(p, 0o777), "remove": w.RemoveEntry(p),
		} {
			if name == "sub/deep" {
				continue // the link itself is not in the repository
			}
			require.Error(t, err, "%s %s", what, name)
		}
	}
	require.Equal(t, "x", readText(t, w, ".git/config"))
	entries, err := os.ReadDir(top + "/upper/")
	require.NoError(t, err)
	for _, e := range entries {
		require.NotEqual(t, ".git", e.Name())
	}
	require.NoError(t, w.Writable(resolve(t, w, "file")))
	require.NoError(t, w.Writable(resolve(t, w, ".gitignore")))
}

// FK-02, FK-04: each way to a file of the project shows that of the fork.
func TestForkLinksStayInView(t *testing.T) {
	w, top := forked(t, "ws/a below", "ws/d/b below", "ws/abs ->$/ws/a", "ws/up ->../ws/a", "ws/d/rel ->../a", "ws/proc ->/proc/self/root$/ws/a",
		"ws/dir ->d", "ws/out ->$/outside", "outside secret", "ws/raw ->$/upper/a")
	require.NoError(t, os.WriteFile(top+"/upper/a", []byte("above"), 0o644))
	require.NoError(t, os.Mkdir(top+"/upper/d", 0o755))
	require.NoError(t, os.WriteFile(top+"/upper/d/b", []byte("above"), 0o644))
	require.NoError(t, os.Symlink("/proc/self/root"+top+"/ws/d", top+"/upper/made"))
	for _, name := range []string{"a", "abs", "up", "d/rel", "proc", "d/b", "dir/b", "made/b", "made/../a"} {
		require.Equal(t, "above", readText(t, w, name), name)
		at, err := w.Locate(resolve(t, w, name))
		require.NoError(t, err, name)
		dir, err := filepath.EvalSymlinks("/proc/self/fd/" + strconv.Itoa(int(at.Dir.Fd())))
		require.NoError(t, err)
		require.Contains(t, dir, top+"/upper", name)
		require.NoError(t, at.Close())
	}
	for _, name := range []string{"out", "raw"} {
		_, err := w.OpenRead(resolve(t, w, name))
		require.Equal(t, fault.PathNotInWorkspace, fault.CodeOf(err), "%s: %v", name, err)
	}
	for name, want := range map[string]string{"a": "a", "abs": "a", "up": "a", "made/b": "d/b", "dir/b": "d/b", "dir/new/x": "d/new/x", ".": "."} {
		real, err := w.RealPath(filepath.Join(top, "ws", name))
		require.NoError(t, err, name)
		require.Equal(t, filepath.Join(top, "ws", want), real, name)
	}
	real, err := w.RealPath(top + "/ws/out")
	require.NoError(t, err)
	require.Equal(t, top+"/outside", real)
	require.NoError(t, os.Symlink("nowhere", top+"/upper/dangling"))
	_, err = w.RealPath(top + "/ws/dangling")
	require.ErrorIs(t, err, fs.ErrNotExist)
	place, err := w.Place(resolve(t, w, "dangling"))
	require.NoError(t, err)
	require.Equal(t, top+"/ws/nowhere", place)
	place, err = w.Place(resolve(t, w, "made/b"))
	require.NoError(t, err)
	require.Equal(t, top+"/ws/d/b", place)
	require.NoFileExists(t, top+"/upper/nowhere")
}

// FK-01: files that are not regular are refused, above and below.
func TestForkSpecialFiles(t *testing.T) {
	w, top := forked(t, "ws/a x")
	require.NoError(t, syscall.Mkfifo(top+"/ws/below", 0o644))
	require.NoError(t, syscall.Mkfifo(top+"/upper/above", 0o644))
	_, err := w.Locate(resolve(t, w, "below"))
	require.Equal(t, fault.NotARegularFile, fault.CodeOf(err), "%v", err)
	require.Equal(t, fault.NotARegularFile, fault.CodeOf(w.Chmod(resolve(t, w, "below"), 0o600)))
	for _, name := range []string{"below", "above"} {
		info, err := w.Stat(resolve(t, w, name))
		require.NoError(t, err)
		require.Equal(t, fs.ModeNamedPipe, info.Mode.Type())
		require.Error(t, w.RemoveEntry(resolve(t, w, name)))
	}
	require.NoFileExists(t, top+"/upper/below")
}

// FK-02: a directory of the project that is removed and created again is used.
func TestForkOfReplacedDirectory(t *testing.T) {
	w, top := forked(t, "ws/a below")
	require.NoError(t, os.WriteFile(top+"/upper/b", []byte("above"), 0o644))
	require.Equal(t, "below", readText(t, w, "a"))
	require.NoError(t, os.Rename(top+"/ws", top+"/old"))
	require.NoError(t, os.Mkdir(top+"/ws", 0o755))
	require.NoError(t, os.WriteFile(top+"/ws/a", []byte("new"), 0o644))
	require.Equal(t, "new", readText(t, w, "a"))
	require.Equal(t, "above", readText(t, w, "b"))
}
