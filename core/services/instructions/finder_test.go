package instructions

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/workspace"
)

// tree creates files in a temporary directory; "->" precedes the target of a link.
func tree(t testing.TB, entries ...string) string {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	for _, e := range entries {
		name, content, _ := strings.Cut(e, " ")
		path := filepath.Join(top, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		if target, ok := strings.CutPrefix(content, "->"); ok {
			require.NoError(t, os.Symlink(target, path))
			continue
		}
		require.NoError(t, os.WriteFile(path, []byte(content), 0o644))
	}
	return top
}

// found returns the texts that For returns for name in a workspace of the given directories.
func found(t *testing.T, name string, dirs ...string) []string {
	t.Helper()
	w, err := workspace.Open(dirs...)
	require.NoError(t, err)
	defer w.Close()
	p, err := w.Resolve(name)
	require.NoError(t, err)
	docs, err := New(w, Options{}).For(t.Context(), p, nil)
	require.NoError(t, err)
	var texts []string
	for _, d := range docs {
		require.True(t, filepath.IsAbs(d.Path))
		texts = append(texts, d.Text)
	}
	return texts
}

// FT-12, KH-19
func TestForReturnsOutermostFirst(t *testing.T) {
	top := tree(t, "AGENTS.md above", "ws/AGENTS.md root", "ws/a/AGENTS.md a", "ws/a/b/x.go x", "ws/a/b/c/AGENTS.md c", "ws/other/AGENTS.md other")
	ws := top + "/ws"
	require.Equal(t, []string{"root", "a"}, found(t, "a/b/x.go", ws), "only ancestors in the workspace")
	require.Equal(t, []string{"root", "a", "c"}, found(t, "a/b/c/not yet there.go", ws))
	require.Equal(t, []string{"root"}, found(t, "x.go", ws))
	require.Equal(t, []string{"root"}, found(t, ".", ws))
	require.Equal(t, []string{"root", "a"}, found(t, "a/AGENTS.md", ws), "itself too")
	require.Equal(t, []string{"root"}, found(t, "missing/deeper/x.go", ws))
	require.Equal(t, []string{"a"}, found(t, ws+"/a/b/x.go", ws, ws+"/a"), "an inner workspace directory is the root")
}

// FT-12: a tree without instruction files
func TestForFindsNothing(t *testing.T) {
	require.Empty(t, found(t, "a/x.go", tree(t, "a/x.go x")))
}

// FT-19
func TestSpellings(t *testing.T) {
	for _, name := range []string{"AGENTS.md", "agents.md", "Agents.md"} {
		require.Equal(t, []string{"text"}, found(t, "x.go", tree(t, name+" text")), name)
	}
	for name, want := range map[string]bool{"AGENTS.md": true, "agents.MD": true, "aGents.md": true, "agents.txt": false, "xagents.md": false, "": false} {
		require.Equal(t, want, IsFile(name), name)
	}
}

// FT-19: two names of one file count once, two files twice.
func TestNamesOfOneFile(t *testing.T) {
	top := tree(t, "AGENTS.md text", "agents.md ->AGENTS.md", "sub/AGENTS.md ->../agents.md", "sub/x.go x")
	require.Equal(t, []string{"text"}, found(t, "x.go", top))
	require.Equal(t, []string{"text"}, found(t, "sub/x.go", top))

	hard := tree(t, "AGENTS.md text")
	require.NoError(t, os.Link(hard+"/AGENTS.md", hard+"/Agents.md"))
	require.Equal(t, []string{"text"}, found(t, "x.go", hard))

	two := tree(t, "AGENTS.md upper")
	if _, err := os.Stat(two + "/agents.md"); err == nil {
		t.Skip("this file system treats both names as one")
	}
	require.NoError(t, os.WriteFile(two+"/agents.md", []byte("lower"), 0o644))
	require.Equal(t, []string{"upper", "lower"}, found(t, "x.go", two))
}

// FT-12: a file that cannot be read within the workspace is skipped.
func TestUnreadableFiles(t *testing.T) {
	outside := tree(t, "AGENTS.md outside")
	top := tree(t, "empty/AGENTS.md", "out/AGENTS.md ->"+outside+"/AGENTS.md", "gone/AGENTS.md ->nowhere", "AGENTS.md root")
	require.NoError(t, os.MkdirAll(top+"/dir/AGENTS.md", 0o755))
	for _, dir := range []string{"empty", "out", "gone", "dir"} {
		require.Equal(t, []string{"root"}, found(t, dir+"/x.go", top), dir)
	}
}

// A link with the name of an instruction file needs permission for its target; a file of that name,
// reached without links, does not.
func TestLinksToHiddenFiles(t *testing.T) {
	top := tree(t, "secret/key.txt hidden", "notes.md notes", "secret/AGENTS.md plain",
		"file/AGENTS.md ->../secret/key.txt", "dir ->secret", "chain/AGENTS.md ->../file/AGENTS.md", "good/AGENTS.md ->../notes.md")
	real := tree(t, "link ->"+top)
	for _, top := range []string{top, real + "/link"} {
		w, err := workspace.Open(top)
		require.NoError(t, err)
		defer w.Close()
		o := Options{MayShow: func(p workspace.Path) bool { return !strings.HasPrefix(p.Rel(), "secret/") }}
		for directory, want := range map[string]string{"file": "", "dir": "", "chain": "", "good": "notes", "secret": "plain"} {
			p, err := w.Resolve(filepath.Join(top, directory, "x"))
			require.NoError(t, err)
			docs, err := New(w, o).For(t.Context(), p, nil)
			require.NoError(t, err)
			if want == "" {
				require.Empty(t, docs, directory)
				continue
			}
			require.Len(t, docs, 1, directory)
			require.Equal(t, want, docs[0].Text)
		}
	}
}

func TestLongAndInvalidFiles(t *testing.T) {
	texts := found(t, "x", tree(t, "AGENTS.md "+strings.Repeat("x", maxFile+1)))
	require.Len(t, texts[0], maxFile)
	require.Equal(t, []string{"a\uFFFDb"}, found(t, "x", tree(t, "AGENTS.md a\xffb")))
}

func TestForCancelled(t *testing.T) {
	top := tree(t, "AGENTS.md x")
	w, err := workspace.Open(top)
	require.NoError(t, err)
	defer w.Close()
	p, err := w.Resolve("x.go")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = New(w, Options{}).For(ctx, p, nil)
	require.Equal(t, fault.Cancelled, fault.CodeOf(err))
	require.ErrorIs(t, err, context.Canceled)
}

// A known file is omitted under all its names.
func TestKnownFiles(t *testing.T) { // FT-13
	top := tree(t, "AGENTS.md root", "agents.md ->AGENTS.md", "sub/AGENTS.md sub", "sub/x.go x")
	w, err := workspace.Open(top)
	require.NoError(t, err)
	defer w.Close()
	p, err := w.Resolve("sub/x.go")
	require.NoError(t, err)
	all, err := New(w, Options{}).For(t.Context(), p, nil)
	require.NoError(t, err)
	require.Len(t, all, 2)
	docs, err := New(w, Options{}).For(t.Context(), p, func(key string) bool { return key == all[0].Key })
	require.NoError(t, err)
	require.Equal(t, all[1:], docs)
}
