package process_test

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/services/process"
)

// TestKilledHelper is not a test: it is a session that another test kills.
func TestKilledHelper(t *testing.T) {
	if os.Getenv("FETTLE_TEST_KILLED") == "" {
		t.Skip("it is for another test")
	}
	s := process.New(process.Options{Confinement: landlocked(t)})
	r := runIn(t, s, "/", "", `mkdir "$TMPDIR/sub" && echo x > "$TMPDIR/sub/x" && chmod 0 "$TMPDIR/sub" && echo "$TMPDIR"`)
	_, _ = os.Stdout.WriteString("\nfolder=" + r.Text)
	_, _ = io.Copy(io.Discard, os.Stdin) // until it is killed
}

// The temporary directory of a killed session is removed by the first command of the next session;
// those of living sessions stay, and so do all other files.
func TestConfinedTemporaryDirectoryLeft(t *testing.T) {
	landlocked(t)
	home := tempDir(t)
	t.Setenv("TMPDIR", home)
	dir := func(s *process.Service) string {
		return strings.TrimSpace(runIn(t, s, "/", "", `echo "$TMPDIR"`).Text)
	}
	living := newService(t, process.Options{Confinement: landlocked(t)})
	lives := dir(living)

	self, err := os.Executable()
	require.NoError(t, err)
	killed := exec.CommandContext(t.Context(), self, "-test.run=^TestKilledHelper$") //nolint:gosec // this program
	killed.Env = append(os.Environ(), "FETTLE_TEST_KILLED=1")
	_, err = killed.StdinPipe()
	require.NoError(t, err)
	out, err := killed.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, killed.Start())
	left := ""
	for lines := bufio.NewScanner(out); left == "" && lines.Scan(); {
		left, _ = strings.CutPrefix(lines.Text(), "folder=")
		if left == lines.Text() {
			left = ""
		}
	}
	require.Equal(t, home, filepath.Dir(left))

	kept := []string{filepath.Base(lives)}
	for _, name := range []string{"fettle-1", "fettle-commands-", "fettle-commands-1x", "commands-1"} {
		require.NoError(t, os.MkdirAll(filepath.Join(home, name), 0o700))
		kept = append(kept, name)
	}
	require.NoError(t, os.WriteFile(filepath.Join(home, "fettle-commands-2"), nil, 0o600))
	require.NoError(t, os.Symlink(t.TempDir(), filepath.Join(home, "fettle-commands-3")))
	kept = append(kept, "fettle-commands-2", "fettle-commands-3")
	if os.Getuid() == 0 {
		require.NoError(t, os.Mkdir(filepath.Join(home, "fettle-commands-4"), 0o700))
		require.NoError(t, os.Chown(filepath.Join(home, "fettle-commands-4"), 65534, 65534))
		kept = append(kept, "fettle-commands-4")
	}

	while := newService(t, process.Options{Confinement: landlocked(t)})
	require.DirExists(t, dir(while))
	require.DirExists(t, left, "its session lives")

	require.NoError(t, killed.Process.Kill())
	require.ErrorContains(t, killed.Wait(), "killed")
	next := newService(t, process.Options{Confinement: landlocked(t)})
	require.DirExists(t, dir(next))
	require.NoDirExists(t, left)
	require.NoError(t, while.Close())
	require.NoError(t, next.Close())
	for _, name := range kept {
		_, err := os.Lstat(filepath.Join(home, name))
		require.NoError(t, err)
	}
	require.DirExists(t, dir(living))
	require.Equal(t, lives, dir(living))
}

// Sessions that start at the same time do not remove each other's directories as stale.
func TestConfinedTemporaryDirectoriesAtOnce(t *testing.T) {
	ws := t.TempDir()
	c := landlocked(t, ws)
	t.Setenv("TMPDIR", t.TempDir())
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			s := process.New(process.Options{Confinement: c})
			for range 2 {
				r, err := s.Run(t.Context(), process.Command{Line: `echo x > "$TMPDIR/f"`, Dir: ws})
				if err != nil || r.Code != 0 {
					t.Errorf("%v: %+v", err, r)
				}
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	require.Empty(t, names(t, os.Getenv("TMPDIR")))
}

// A directory for temporary files whose path contains a link works as well.
func TestConfinedTemporaryDirectoryByLink(t *testing.T) {
	top := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(top, "real"), 0o700))
	link := filepath.Join(top, "link")
	require.NoError(t, os.Symlink("real", link))
	t.Setenv("TMPDIR", link)
	s := newService(t, process.Options{Confinement: landlocked(t)})
	r := runIn(t, s, "/", "", `echo x > "$TMPDIR/f" && cat "$TMPDIR/f" && cat "$(mktemp)"`)
	require.Equal(t, "x\n", r.Text)
	require.NoError(t, s.Close())
	require.Empty(t, names(t, filepath.Join(top, "real")))
}
