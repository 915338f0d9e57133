package gitdir_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/internal/gitdir"
)

// git runs git in a directory, with only the settings of the repository.
func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git")
	}
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), "GIT_CONFIG_NOSYSTEM=1", "GIT_TEMPLATE_DIR=", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s: %s", args, out)
}

func write(t *testing.T, file, text string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
	syscall.ForkLock.RLock() // a child that another test starts meanwhile would hold the file open, so that it cannot run
	err := os.WriteFile(file, []byte(text), 0o600)
	syscall.ForkLock.RUnlock()
	require.NoError(t, err)
}

// settled waits until existing files are older than a Watch created next.
func settled(t *testing.T, dir string) {
	t.Helper()
	probe := filepath.Join(dir, "probe")
	write(t, probe, "")
	made, err := os.Stat(probe)
	require.NoError(t, err)
	require.Eventually(t, func() bool { return time.Since(made.ModTime()) > 20*time.Millisecond }, time.Minute, time.Millisecond)
	require.NoError(t, os.Remove(probe))
}

// AR-26: any change of a repository by the session makes git unsafe there; settings that common
// commands write do not.
func TestUnsafeReason(t *testing.T) {
	template := t.TempDir()
	require.NoError(t, os.MkdirAll(template+"/sub/deep", 0o755))
	git(t, template, "init", "-q", "-b", "main")
	write(t, template+"/.git/hooks/post-merge", "#!/bin/sh\n")
	git(t, template, "commit", "-q", "--allow-empty", "-m", "first")
	git(t, template, "init", "-q", "nested")
	git(t, template+"/nested", "commit", "-q", "--allow-empty", "-m", "first")
	for name, tt := range map[string]struct {
		do   func(t *testing.T, top string)
		dir  string // below the workspace
		want string // "": git is safe
	}{
		"as it was":            {nil, ".", ""},
		"below":                {nil, "sub/deep", ""},
		"in its own files":     {nil, ".git/refs", ""},
		"nested as it was":     {nil, "nested", ""},
		"a commit":             {func(t *testing.T, top string) { git(t, top, "commit", "-q", "--allow-empty", "-m", "x") }, ".", ""},
		"a branch to follow":   {func(t *testing.T, top string) { git(t, top, "config", "branch.main.remote", "origin") }, ".", ""},
		"a remote":             {func(t *testing.T, top string) { git(t, top, "remote", "add", "origin", "https://example.org/x.git") }, ".", ""},
		"a remote of a helper": {func(t *testing.T, top string) { git(t, top, "remote", "add", "origin", "ext::sh -c x") }, ".", "have changed"},
		"fsmonitor":            {func(t *testing.T, top string) { git(t, top, "config", "core.fsmonitor", "./x") }, "sub", "have changed"},
		"an odd header":        {func(t *testing.T, top string) { write(t, top+"/.git/config", "[core] fsmonitor = x ]\n") }, ".", "have changed"},
		"a branch's header": {func(t *testing.T, top string) {
			write(t, top+"/.git/config", "[branch \"a]\"] remote = o\n[CORE]\n\tfsMonitor = x\n")
		}, ".", "have changed"},
		"a continued line": {func(t *testing.T, top string) {
			write(t, top+"/.git/config", "[branch \"a\"]\n\tremote = o\\\n[core]\n")
		}, ".", ""},
		"what git rejects": {func(t *testing.T, top string) { write(t, top+"/.git/config", "[core\n") }, ".", "have changed"},
		"a hook":           {func(t *testing.T, top string) { write(t, top+"/.git/hooks/pre-commit", "#!/bin/sh\n") }, ".", "have changed"},
		"a hook's mode":    {func(t *testing.T, top string) { require.NoError(t, os.Chmod(top+"/.git/hooks/post-merge", 0o755)) }, ".", "have changed"},
		"a hook elsewhere": {func(t *testing.T, top string) { write(t, top+"/scripts/pre-push", "#!/bin/sh\n") }, ".", "have changed"},
		"an included file": {func(t *testing.T, top string) { write(t, top+"/shared.conf", "[core]\nfsmonitor = x\n") }, ".", "have changed"},
		"made":             {func(t *testing.T, top string) { git(t, top, "init", "-q", "lib") }, "lib", ""},
		"made with a hook": {func(t *testing.T, top string) {
			git(t, top, "init", "-q", "lib")
			write(t, top+"/lib/.git/hooks/post-index-change", "#!/bin/sh\n")
		}, "lib", "created or changed"},
		"made with a hook elsewhere": {func(t *testing.T, top string) {
			git(t, top, "init", "-q", "lib")
			git(t, top+"/lib", "config", "core.hooksPath", "hooks")
		}, "lib", "created or changed"},
		"made with a program": {func(t *testing.T, top string) {
			git(t, top, "init", "-q", "lib")
			git(t, top+"/lib", "config", "core.fsmonitor", "./x")
		}, "lib", "created or changed"},
		"made with an included file": {func(t *testing.T, top string) {
			git(t, top, "init", "-q", "lib")
			write(t, top+"/lib/shared.conf", "[core]\nfsmonitor = x\n")
			git(t, top+"/lib", "config", "include.path", "../shared.conf")
		}, "lib", "created or changed"},
		"made with a submodule that has a hook": {func(t *testing.T, top string) {
			git(t, top, "init", "-q", "lib")
			git(t, top+"/lib", "init", "-q", "sub")
			git(t, top+"/lib/sub", "commit", "-q", "--allow-empty", "-m", "x")
			git(t, top+"/lib", "add", "sub")
			write(t, top+"/lib/sub/.git/hooks/post-checkout", "#!/bin/sh\n")
		}, "lib", "created or changed"},
		"made with a submodule": {func(t *testing.T, top string) {
			git(t, top, "init", "-q", "lib")
			git(t, top+"/lib", "init", "-q", "sub")
			git(t, top+"/lib/sub", "commit", "-q", "--allow-empty", "-m", "x")
			git(t, top+"/lib", "add", "sub")
		}, "lib", ""},
		"made with modules": {func(t *testing.T, top string) {
			git(t, top, "init", "-q", "lib")
			write(t, top+"/lib/.git/modules/sub/hooks/post-checkout", "#!/bin/sh\n")
		}, "lib", "created or changed"},
		"a new submodule with a hook": {func(t *testing.T, top string) {
			git(t, top, "init", "-q", "lib")
			git(t, top+"/lib", "commit", "-q", "--allow-empty", "-m", "x")
			git(t, top, "add", "lib")
			write(t, top+"/lib/.git/hooks/post-checkout", "#!/bin/sh\n")
		}, ".", "created or changed"},
		"a hook, below a directory that only resembles a repository": {func(t *testing.T, top string) {
			write(t, top+"/.git/hooks/pre-commit", "#!/bin/sh\n")
			write(t, top+"/sub/.git/HEAD", "x")
			write(t, top+"/sub/.git/config", "[core]\n\tbare = false\n")
		}, "sub", "have changed"},
		"made without a readable configuration": {func(t *testing.T, top string) {
			git(t, top, "init", "-q", "lib")
			write(t, top+"/lib/.git/config", "[core\n")
		}, "lib", "created or changed"},
		"made above":     {func(t *testing.T, top string) { git(t, top, "init", "-q", "sub") }, "sub/deep", ""},
		"cloned":         {func(t *testing.T, top string) { git(t, top, "clone", "-q", "nested", "lib") }, "lib", ""},
		"a worktree":     {func(t *testing.T, top string) { git(t, top, "worktree", "add", "-q", "lib") }, "lib", ""},
		"nested changed": {func(t *testing.T, top string) { git(t, top+"/nested", "config", "core.fsmonitor", "x") }, "nested", "created or changed"},
		"nested, set back": {func(t *testing.T, top string) {
			git(t, top+"/nested", "config", "core.fsmonitor", "x")
			old := time.Now().Add(-time.Hour)
			require.NoError(t, os.Chtimes(top+"/nested/.git/config", old, old))
		}, "nested", "created or changed"},
		"HEAD and config": {func(t *testing.T, top string) {
			write(t, top+"/lib/HEAD", "ref: refs/heads/main\n")
			write(t, top+"/lib/config", "[core]\nfsmonitor = x\n")
		}, "lib", "has the layout of a bare repository"},
		"bare":      {func(t *testing.T, top string) { git(t, top, "init", "-q", "--bare", "lib") }, "lib/refs", "has the layout of a bare repository"},
		"a gitfile": {func(t *testing.T, top string) { write(t, top+"/lib/.git", "gitdir: ../nested/.git\n") }, "lib", "created or changed"},
		"a link": {func(t *testing.T, top string) {
			git(t, top, "init", "-q", "x")
			require.NoError(t, os.Symlink("x", top+"/lib"))
		}, "lib", ""},
		"not there":      {nil, "none/at/all", "does not exist yet"},
		"by a mere .git": {func(t *testing.T, top string) { require.NoError(t, os.MkdirAll(top+"/lib/.git", 0o755)) }, "lib", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			top, err := filepath.EvalSymlinks(t.TempDir())
			require.NoError(t, err)
			require.NoError(t, os.CopyFS(top, os.DirFS(template)))
			if name == "a hook elsewhere" || name == "an included file" {
				git(t, top, "config", "core.hooksPath", "scripts")
				git(t, top, "config", "include.path", "../shared.conf")
			}
			settled(t, top)
			w := gitdir.NewWatch(nil, top)
			if tt.do != nil {
				tt.do(t, top)
			}
			got := w.UnsafeReason(filepath.Join(top, tt.dir))
			if tt.want == "" {
				require.Empty(t, got)
			} else {
				require.Contains(t, got, tt.want)
			}
			w.Add(top) // the known state stays
			require.Equal(t, got, w.UnsafeReason(filepath.Join(top, tt.dir)))
		})
	}
	require.Empty(t, gitdir.NewWatch(nil).UnsafeReason(t.TempDir()), "no repository")
}

// AR-28, PB-06: checking a known repository takes almost no time.
func BenchmarkUnsafeReason(b *testing.B) {
	top := b.TempDir()
	for _, dir := range []string{"objects", "refs"} {
		require.NoError(b, os.MkdirAll(top+"/.git/"+dir, 0o755))
	}
	require.NoError(b, os.WriteFile(top+"/.git/HEAD", []byte("ref: refs/heads/main\n"), 0o600))
	require.NoError(b, os.WriteFile(top+"/.git/config", []byte("[core]\n\tbare = false\n"), 0o600))
	for dir, made := range map[string]string{"known": top, "unknown": ""} {
		b.Run(dir, func(b *testing.B) {
			w := gitdir.NewWatch(nil)
			if made != "" {
				w.Add(made)
			}
			for b.Loop() {
				w.UnsafeReason(top)
			}
		})
	}
}
