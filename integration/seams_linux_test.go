package integration_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/scheduler"
)

// GO-07: a session with given directories opens no file of the user: neither the
// settings, rules, context and .env files of the home directory, nor those of the
// current directory, nor those of a system directory. With settings, .env files are
// also looked up above the target directory.
func TestOwnRoot(t *testing.T) {
	top := t.TempDir()
	home, here := filepath.Join(top, "home"), filepath.Join(top, "here")
	for _, dir := range []string{home, here} {
		for _, name := range []string{
			".fettle/settings.json", ".fettle/policies.toml", ".fettle/policies/own.toml", ".fettle/trustedFolders.json", ".fettle/FETTLE.md", ".fettle/.env",
			".gemini/settings.json", ".gemini/policies/own.toml", ".gemini/GEMINI.md", ".env", ".gitignore", ".fettleignore", "FETTLE.md", "AGENTS.md", ".gitconfig",
			".config/git/ignore", "hello.txt",
		} {
			path := filepath.Join(dir, name)
			require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
			require.NoError(t, os.WriteFile(path, []byte("private\n"), 0o644))
		}
	}
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(home, ".config"))
	t.Setenv("TMPDIR", filepath.Join(top, "here"))
	t.Setenv("FETTLE_SYSTEM_SETTINGS_PATH", filepath.Join(here, ".fettle/settings.json"))
	t.Chdir(here)
	touched := opened(t, top)
	_, err := os.ReadFile(filepath.Join(home, ".fettle/FETTLE.md"))
	require.NoError(t, err)
	require.Equal(t, []string{filepath.Join(home, ".fettle/FETTLE.md")}, touched(), "opened files are recorded")

	for name, o := range map[string]*settings.Options{"without settings": nil, "with settings": {}} {
		top := realTemp(t)
		dir, own := filepath.Join(top, "project"), filepath.Join(top, "own")
		require.NoError(t, os.Mkdir(dir, 0o755))
		writeSettings(t, own, `{"useWriteTodos": true}`)
		touched() // drop the accesses of the set-up
		p := confined(dir, own)
		p.Settings, p.Session.WatchSettings = o, o != nil
		p.Policy.ApprovalMode = policy.ModeYolo
		within(p, func(ctx context.Context, c *config.Config, calls *scheduler.Scheduler) {
			leftovers, err := c.Recover(ctx)
			require.NoError(t, err)
			require.Empty(t, leftovers)
			for _, q := range []struct{ tool, args string }{
				{"write_file", `{"file_path": "a/hello.txt", "content": "one\ntwo\n"}`},
				{"read_file", `{"file_path": "a/hello.txt"}`},
				{"safe_patch", `{"file_path": "a/hello.txt", "unified_diff": "@@ -1,2 +1,2 @@\n one\n-two\n+three\n", "base_content_sha256": "` + hashOf("one\ntwo\n") + `"}`},
				{"list_directory", `{"dir_path": "."}`},
				{"glob", `{"pattern": "**/*"}`},
				{"search_file_content", `{"pattern": "three"}`},
				{"read_many_files", `{"paths": ["**/*.txt"]}`},
				{"save_memory", `{"fact": "Likes tea."}`},
				{"write_todos", `{"todos": [{"description": "Tea", "status": "pending"}]}`},
				{"get_internal_docs", `{}`},
			} {
				r := call(ctx, calls, q.tool, q.args)
				require.Equal(t, scheduler.StatusSuccess, r.Status, "%s: %v", q.tool, r.Result.Error)
			}
			for _, path := range []string{filepath.Join(home, "hello.txt"), filepath.Join(here, "hello.txt"), "~/hello.txt", "../../hello.txt"} {
				args, err := json.Marshal(map[string]string{"file_path": path})
				require.NoError(t, err)
				require.Equal(t, scheduler.StatusError, call(ctx, calls, "read_file", string(args)).Status, path)
			}
			child, err := c.Derive(config.DeriveParameters{})
			require.NoError(t, err)
			defer child.Close()
			runner, err := child.Scheduler()
			require.NoError(t, err)
			require.Equal(t, scheduler.StatusSuccess, call(ctx, runner, "read_file", `{"file_path": "a/hello.txt"}`).Status)
		})
		require.Empty(t, touched(), name)
		require.FileExists(t, filepath.Join(own, ".fettle/FETTLE.md"))
	}
}

// opened watches a directory and everything below it. The returned function lists the
// files opened, read, written, created or removed there since its last call.
func opened(t *testing.T, top string) func() []string {
	t.Helper()
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, unix.Close(fd)) })
	dirs := map[int32]string{}
	require.NoError(t, filepath.WalkDir(top, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			var watch int
			watch, err = unix.InotifyAddWatch(fd, path, unix.IN_OPEN|unix.IN_ACCESS|unix.IN_MODIFY|unix.IN_CREATE|unix.IN_DELETE|unix.IN_MOVE)
			dirs[int32(watch)] = path
		}
		return err
	}))
	list := func() []string {
		var paths []string
		seen := map[string]bool{}
		buf := make([]byte, 64<<10)
		for {
			n, err := unix.Read(fd, buf)
			if err == unix.EAGAIN {
				return paths
			}
			require.NoError(t, err)
			for at := 0; at < n; {
				event := (*unix.InotifyEvent)(unsafe.Pointer(&buf[at]))
				name := buf[at+unix.SizeofInotifyEvent : at+unix.SizeofInotifyEvent+int(event.Len)]
				at += unix.SizeofInotifyEvent + int(event.Len)
				path := filepath.Join(dirs[event.Wd], unix.ByteSliceToString(name))
				if !seen[path] {
					seen[path], paths = true, append(paths, path)
				}
			}
		}
	}
	list() // drop the walk itself
	return list
}
