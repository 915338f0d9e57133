package integration_test

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// CF-05: a settings file may be anything else than a file. It is reported without
// blocking, and the other files apply.
func TestSettingsThatAreNoFile(t *testing.T) {
	for name, place := range map[string]func(t *testing.T, file string){
		"a pipe":      func(t *testing.T, file string) { require.NoError(t, syscall.Mkfifo(file, 0o644)) },
		"a directory": func(t *testing.T, file string) { require.NoError(t, os.Mkdir(file, 0o755)) },
		"a link to itself": func(t *testing.T, file string) {
			require.NoError(t, os.Symlink(filepath.Base(file), file))
		},
		"a link to an endless device": func(t *testing.T, file string) { require.NoError(t, os.Symlink("/dev/zero", file)) },
		"a socket": func(t *testing.T, file string) {
			t.Chdir(filepath.Dir(file)) // the path may be too long for a socket
			l, err := new(net.ListenConfig).Listen(t.Context(), "unix", filepath.Base(file))
			require.NoError(t, err)
			t.Cleanup(func() { _ = l.Close() })
		},
	} {
		t.Run(name, func(t *testing.T) {
			top := realTemp(t)
			home, project, other := filepath.Join(top, "home"), filepath.Join(top, "project"), filepath.Join(top, "other")
			for _, dir := range []string{home, project} {
				require.NoError(t, os.MkdirAll(filepath.Join(dir, ".fettle"), 0o755))
				place(t, filepath.Join(dir, ".fettle", "settings.json"))
			}
			writeSettings(t, other, `{"tools": {"exclude": ["glob"]}}`)
			require.NoError(t, os.Mkdir(filepath.Join(top, "plain"), 0o755))

			// The project's, then the user's, then a flag's.
			checked := runIn(t, other, project, "config", "validate")
			require.Equal(t, 4, checked.code, "%+v", checked)
			require.Contains(t, checked.stdout, filepath.Join(project, ".fettle", "settings.json")+": It cannot be read (")
			tools := runIn(t, other, project, "tools")
			require.Zero(t, tools.code, "%+v", tools)
			require.NotContains(t, tools.stdout, "\nglob ")
			checked = runIn(t, home, filepath.Join(top, "plain"), "config", "validate")
			require.Equal(t, 4, checked.code, "%+v", checked)
			tools = runIn(t, home, filepath.Join(top, "plain"), "tools")
			require.Zero(t, tools.code, "%+v", tools)
			require.Contains(t, tools.stderr, filepath.Join(home, ".fettle", "settings.json"))
			flag := runIn(t, other, filepath.Join(top, "plain"), "--settings", filepath.Join(home, ".fettle", "settings.json"), "tools")
			require.Equal(t, 4, flag.code, "%+v", flag)
			set := runIn(t, home, filepath.Join(top, "plain"), "config", "set", "useWriteTodos", "false")
			require.NotZero(t, set.code, "%+v", set)
			require.NotEmpty(t, set.stderr)
		})
	}
}

// CF-05, CF-09: an unreadable settings file is reported, and the others apply. If the
// whole settings directory is unreadable, trust in this directory is unknown, so the
// program does not start.
func TestSettingsThatMayNotBeRead(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("only root can become another user")
	}
	top, err := os.MkdirTemp("", "fettle") //nolint:usetesting // t.TempDir lies in a directory that others may not enter
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(top)) })
	require.NoError(t, os.Chmod(top, 0o755))
	home, project := filepath.Join(top, "home"), filepath.Join(top, "project")
	user := writeSettings(t, home, `{"tools": {"exclude": ["glob"]}}`)
	writeSettings(t, project, `{"tools": {"exclude": ["write_file"]}}`)
	unprivileged := func(args ...string) run {
		// The link stays executable if the path of the binary is inaccessible.
		cmd := exec.CommandContext(t.Context(), "/proc/self/exe", args...)
		cmd.Args[0] = "fettle"
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		return runCommand(t, cmd, home, project)
	}

	require.NotContains(t, unprivileged("tools").stdout, "\nglob ", "a readable file applies")
	require.NoError(t, os.Chmod(user, 0o600))
	checked := unprivileged("config", "validate")
	require.Equal(t, 4, checked.code, "%+v", checked)
	require.Contains(t, checked.stdout, user+": It cannot be read (permission denied)")
	tools := unprivileged("tools")
	require.Zero(t, tools.code, "%+v", tools)
	require.Contains(t, tools.stdout, "\nglob ")
	require.NotContains(t, tools.stdout, "\nwrite_file ", "the project's file applies")
	require.Contains(t, tools.stderr, user)

	for _, dir := range []string{filepath.Dir(user), home} {
		require.NoError(t, os.Chmod(dir, 0o700))
		for _, args := range [][]string{{"config", "validate"}, {"tools"}, {"call", "list_directory", `{"dir_path":"."}`}} {
			r := unprivileged(args...)
			require.Equal(t, 4, r.code, "%v: %+v", args, r)
			require.Empty(t, r.stdout)
			require.Contains(t, r.stderr, filepath.Join(home, ".fettle", "trustedFolders.json"))
		}
		require.NoError(t, os.Chmod(dir, 0o755))
	}
}
