package sandbox

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/fettle-dev/fettle/core/internal/unprivileged"
)

// forked is a directory with an overlay, and a Session.
type forked struct {
	t       *testing.T
	s       *Session
	rules   Rules
	ws      string
	overlay Overlay
}

func newForked(t *testing.T, top string) *forked {
	t.Helper()
	if err := Probe(); err != nil {
		t.Skip(err)
	}
	f := &forked{t: t, ws: filepath.Join(top, "ws: a,b\\c")}
	f.overlay = Overlay{Dir: f.ws, Upper: filepath.Join(top, "state", "0", "upper"), Work: filepath.Join(top, "state", "0", "work")}
	for _, dir := range []string{f.ws, f.overlay.Upper, f.overlay.Work, filepath.Join(top, "home"), filepath.Join(top, "temp")} {
		require.NoError(t, os.MkdirAll(dir, 0o700))
	}
	if err := ProbeOverlay(f.ws, filepath.Join(top, "state")); err != nil {
		t.Skip(err)
	}
	f.s = New(Options{Home: filepath.Join(top, "home")})
	t.Cleanup(f.s.Close)
	f.rules = Rules{Writable: []string{f.ws}, Temp: filepath.Join(top, "temp"), Overlays: []Overlay{f.overlay}}
	return f
}

// write writes files of the directory, without the overlay.
func (f *forked) write(files map[string]string) {
	f.t.Helper()
	for path, text := range files {
		path = filepath.Join(f.ws, path)
		require.NoError(f.t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(f.t, os.WriteFile(path, []byte(text), 0o600))
	}
}

// run runs a command line and returns its output.
func (f *forked) run(line string, change func(r *Rules)) string {
	f.t.Helper()
	rules := f.rules
	if change != nil {
		change(&rules)
	}
	out, err := os.CreateTemp(f.t.TempDir(), "")
	require.NoError(f.t, err)
	defer out.Close() //nolint:errcheck // it is removed
	cmd := exec.Command("/bin/sh", "-c", "exec 2>&1; "+line)
	cmd.Dir, cmd.Stdout, cmd.Stderr = f.ws, out, out
	cmd.Env = append(os.Environ(), "UPPER="+f.overlay.Upper, "WORK="+f.overlay.Work, "WS="+f.ws)
	require.NoError(f.t, f.s.Start(cmd, rules))
	_ = cmd.Wait()
	text, err := os.ReadFile(out.Name())
	require.NoError(f.t, err)
	return string(text)
}

// tree returns the state of every file in a directory: its mode, times, identity and content.
func tree(t *testing.T, dir string) string {
	t.Helper()
	out, err := exec.Command("find", dir, "-printf", "%p %i %m %n %s %T@ %C@ %l\n").CombinedOutput()
	require.NoError(t, err, "%s", out)
	sums, err := exec.Command("sh", "-c", `find "$0" -type f -exec sha256sum {} +`, dir).CombinedOutput()
	require.NoError(t, err, "%s", sums)
	lines := strings.Split(string(out)+string(sums), "\n")
	return strings.Join(lines, "\n")
}

// FK-03: a command works on the merged view, as root and as another user, and the directory itself does
// not change.
func TestOverlay(t *testing.T) {
	t.Run("caller", func(t *testing.T) { testOverlay(t, t.TempDir()) })
}

// FK-03
func TestOverlayOfNobody(t *testing.T) {
	top, ok := unprivileged.Run(t, func(top string) {
		require.NoError(t, os.Chown(top, 65534, 65534))
	})
	if ok {
		testOverlay(t, top)
	}
}

func testOverlay(t *testing.T, top string) {
	t.Helper()
	f := newForked(t, top)
	f.write(map[string]string{"a": "old\n", "gone": "x", "dir/in": "y", "dir/two": "z", "moved/x": "m", ".git/config": "c", "mode": "1"})
	require.NoError(t, os.Symlink("a", filepath.Join(f.ws, "link")))
	before := tree(t, f.ws)
	protect := func(r *Rules) { r.Protected = []string{filepath.Join(f.ws, ".git")} }
	require.Equal(t, "old\nnew\n", f.run(`echo new >>a; cat a; rm gone; rm -r dir; mkdir dir; echo q >dir/new; mv moved elsewhere; chmod 755 mode; ln a hard; echo fresh >fresh; ln -sfn fresh link`, protect))
	require.Equal(t, before, tree(t, f.ws))
	require.Contains(t, f.run("echo x >.git/config; echo x >.git/new; rm -rf .git; mv .git x; chmod 777 .git; cat .git/config", protect), "Read-only file system")
	require.NoDirExists(t, filepath.Join(f.overlay.Upper, ".git"), "nothing of it was copied")
	want := "a dir elsewhere fresh hard link mode old new q new"
	for _, readOnly := range []bool{false, true} {
		got := f.run("ls; cat a dir/*; cat hard | tail -n1", func(r *Rules) { protect(r); r.ReadOnly = readOnly })
		require.Equal(t, want, strings.Join(strings.Fields(got), " "))
	}
	require.Contains(t, f.run("echo no >a; rm fresh", func(r *Rules) { r.ReadOnly = true }), "Read-only file system")
	require.Equal(t, before, tree(t, f.ws))
	for path, whiteout := range map[string]bool{"gone": true, "moved": true, "a": false, "fresh": false} {
		info, err := os.Lstat(filepath.Join(f.overlay.Upper, path))
		require.NoError(t, err)
		require.Equal(t, whiteout, isWhiteout(info), path)
	}
	require.True(t, opaque(filepath.Join(f.overlay.Upper, "dir")))

	// Names as the command sees them.
	for path, exists := range map[string]bool{"a": true, "gone": false, "dir/in": false, "dir/new": true, "moved/x": false, "elsewhere/x": true, ".git/config": true, "none": false, "fresh/x": false} {
		_, err := f.rules.Lstat(filepath.Join(f.ws, path))
		require.Equal(t, exists, err == nil, path)
	}
	f.run(":", func(r *Rules) { // protected and masked paths that the overlay removes, adds or replaces
		for _, name := range []string{"gone", "moved/x", "dir/in", "fresh", "link", "none"} {
			r.Protected = append(r.Protected, filepath.Join(f.ws, name))
			r.Masked = append(r.Masked, filepath.Join(f.ws, name))
		}
	})
}

// FK-04: no path of a command leads to a layer of the overlay.
func TestOverlayLayersAreOutOfReach(t *testing.T) {
	f := newForked(t, t.TempDir())
	f.write(map[string]string{"a": "LOWER\n"})
	f.run("echo UPPER >a; echo UPPER >b", nil)
	for _, line := range []string{
		`cat "$UPPER/b"`, `ls "$UPPER"`, `ls "$WORK"`, `echo x >"$UPPER/c"`, `cat /proc/1/root"$UPPER/b"`, `cat /proc/self/root"$UPPER/b"`, `cat /proc/self/cwd/../state/0/upper/b`,
		`umount "$UPPER" && cat "$UPPER/b"`, `umount -l "$WS" && cat a`, `umount "$WS"; cd /; cd "$WS"; cat a`, `mv "${UPPER%/*}" x`, `rm -rf "${UPPER%/*/*}"`,
		`for p in /proc/[0-9]*; do cat $p/root"$WS/a" $p/cwd/a $p/fd/*; done 2>/dev/null`, `ls /proc/self/fd/ | while read n; do ls /proc/self/fd/$n/; done`,
		`unshare -Urm sh -c 'umount "$WS"; cat "$WS/a"'`, `mkdir m; mount --bind "$WS" m && cat m/a`, `mount -t overlay -o lowerdir="$WS",upperdir="$UPPER",workdir="$WORK" x m`,
		`mknod w c 0 0 && rm -f a`, `setfattr -n user.overlay.opaque -v y .`, `setfattr -n user.overlay.redirect -v /etc b`,
	} {
		out := f.run(line, nil)
		require.NotContains(t, out, "LOWER", line)
		if !strings.Contains(line, "/fd/*") && !strings.Contains(line, "cat a") && !strings.Contains(line, "$WS/a") {
			require.NotContains(t, out, "UPPER\n", line)
		}
		require.NoFileExists(t, filepath.Join(f.overlay.Upper, "c"))
		info, err := os.Lstat(filepath.Join(f.overlay.Upper, "w"))
		require.False(t, err == nil && isWhiteout(info), "the command created a whiteout")
	}
	require.Equal(t, "UPPER\nUPPER\n", f.run("cat a b", nil))
	out := f.run("cat /proc/self/mountinfo", nil)
	require.Contains(t, out, "overlay")
	require.NotContains(t, out, "upperdir="+f.overlay.Upper)
	require.NotContains(t, out, "/state/0/upper,")
}

// FK-04: a layer that another mount shows is masked there, too.
func TestOverlayBehindSecondMounts(t *testing.T) {
	const variable = "FETTLE_TEST_SECOND_MOUNTS"
	if os.Getenv(variable) == "" {
		cmd := exec.Command("unshare", "-m", "--propagation", "private", "/proc/self/exe", "-test.run=^"+t.Name()+"$", "-test.v")
		cmd.Path, _ = exec.LookPath("unshare")
		self, err := os.Executable()
		require.NoError(t, err)
		cmd.Args[4] = self
		cmd.Env = append(os.Environ(), variable+"=1")
		if os.Getuid() != 0 {
			t.Skip("only root can mount")
		}
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		require.True(t, bytes.Contains(out, []byte("--- PASS")) || bytes.Contains(out, []byte("--- SKIP")), "%s", out)
		return
	}
	top := t.TempDir()
	f := newForked(t, top)
	f.write(map[string]string{"a": "LOWER\n", "sub/b": "LOWER\n"})
	f.run("echo UPPER >a; echo UPPER >c", nil)
	second, part, state := filepath.Join(top, "second"), filepath.Join(top, "part"), filepath.Join(top, "state2")
	for _, m := range [][2]string{{f.ws, second}, {filepath.Join(f.ws, "sub"), part}, {filepath.Join(top, "state"), state}} {
		require.NoError(t, os.Mkdir(m[1], 0o700))
		require.NoError(t, unix.Mount(m[0], m[1], "", unix.MS_BIND, ""))
		defer unix.Unmount(m[1], unix.MNT_DETACH) //nolint:errcheck // the namespace ends
	}
	f.rules.Readable = []string{second, part, state}
	out := f.run("cat '"+second+"/a' '"+part+"/b' '"+state+"/0/upper/c'; cat a", nil)
	require.NotContains(t, out, "LOWER")
	require.Equal(t, 1, strings.Count(out, "UPPER"), out)

	below := filepath.Join(f.ws, "sub")
	require.NoError(t, unix.Mount("tmpfs", below, "tmpfs", 0, ""))
	defer unix.Unmount(below, unix.MNT_DETACH) //nolint:errcheck // the namespace ends
	cmd := exec.Command("/bin/sh", "-c", ":")
	cmd.Dir = f.ws
	require.ErrorContains(t, f.s.Start(cmd, f.rules), "another file system is mounted on "+below)
	require.ErrorContains(t, ProbeOverlay(f.ws, filepath.Join(top, "state")), below)
}

// FK-03: what would let a command pass the overlay by is refused.
func TestOverlayRefused(t *testing.T) {
	f := newForked(t, t.TempDir())
	sub := filepath.Join(f.ws, "sub")
	require.NoError(t, os.Mkdir(sub, 0o700))
	for want, change := range map[string]func(r *Rules){
		"not a writable directory": func(r *Rules) { r.Writable = nil },
		"contains its changes":     func(r *Rules) { r.Writable = append(r.Writable, filepath.Dir(f.overlay.Upper)) },
		"overlaps with it":         func(r *Rules) { r.Writable = append(r.Writable, sub) },
		"no such file":             func(r *Rules) { r.Overlays = []Overlay{{f.ws, f.overlay.Upper + "x", f.overlay.Work}} },
	} {
		rules := f.rules
		change(&rules)
		cmd := exec.Command("/bin/sh", "-c", "echo x >a")
		cmd.Dir = f.ws
		require.ErrorContains(t, f.s.Start(cmd, rules), want)
	}
	require.NoFileExists(t, filepath.Join(f.ws, "a"))
}
