package integration_test

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// terminalHost is a tmux terminal of 80 columns and 24 lines, with a home, a project in it
// and only the given variables. It is removed with the test.
type terminalHost struct {
	t       *testing.T
	root    string // of constant length, because it appears on the screen
	home    string
	project string
	socket  string
	env     []string
	panes   int // so far
}

// screenWait is the maximum time for a text to appear.
const screenWait = 30 * time.Second

// newTerminal skips the test if tmux is not installed.
func newTerminal(t *testing.T, vars ...string) *terminalHost {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("the screens were recorded on Linux")
	}
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("tmux, which runs the program, is not installed")
	}
	var name [4]byte
	_, _ = rand.Read(name[:]) // never fails
	d := &terminalHost{t: t, root: "/tmp/fettle-" + hex.EncodeToString(name[:])}
	d.home, d.project, d.socket = d.root, d.root+"/project", d.root+"/tmux"
	require.NoError(t, os.MkdirAll(d.project, 0o755))
	t.Cleanup(func() { _ = os.RemoveAll(d.root) })
	d.env = append([]string{
		"HOME=" + d.home, "TMPDIR=" + t.TempDir(), "PATH=" + os.Getenv("PATH"), "TERM=xterm-256color", "LC_ALL=C.UTF-8", "TZ=UTC", "GORACE=atexit_sleep_ms=0",
	}, vars...)
	d.write("../.fettle/settings.json", `{"ui": {"animations": false}}`)
	return d
}

func (d *terminalHost) write(name, text string) {
	d.t.Helper()
	path := filepath.Join(d.project, name)
	require.NoError(d.t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(d.t, os.WriteFile(path, []byte(text), 0o755))
}

func (d *terminalHost) read(name string) string {
	d.t.Helper()
	data, err := os.ReadFile(filepath.Join(d.project, name))
	require.NoError(d.t, err)
	return string(data)
}

// tmux runs a tmux command at this terminal.
func (d *terminalHost) tmux(args ...string) (string, error) {
	cmd := exec.Command("tmux", append([]string{"-u", "-S", d.socket, "-f", "/dev/null"}, args...)...)
	cmd.Env = d.env
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (d *terminalHost) mustTmux(args ...string) string {
	d.t.Helper()
	out, err := d.tmux(args...)
	require.NoError(d.t, err, "tmux %s: %s", args, out)
	return out
}

// run starts a program in a new terminal, in the project. The terminal remains when
// the program has ended.
func (d *terminalHost) run(program ...string) *pane {
	d.t.Helper()
	// The shell stores the program's process id, then its exit code, and keeps the
	// terminal open.
	const keep = `trap : INT; sh -c 'echo $$ > "$0.pid"; exec "$@"' "$0" "$@"; echo $? > "$0.new"; mv "$0.new" "$0"; cat > /dev/null`
	d.panes++
	code := fmt.Sprintf("%s/code-%d", d.root, d.panes)
	start := []string{
		"start-server", ";", "set", "-g", "status", "off", ";", "set", "-g", "default-terminal", "xterm-256color", ";",
		"new-session", "-d", "-x", "80", "-y", "24", "-c", d.project, "-P", "-F", "#{pane_id}", "--", "env", "-i",
	}
	id := d.mustTmux(slices.Concat(start, d.env, []string{"sh", "-c", keep, code}, program)...)
	d.t.Cleanup(func() { _, _ = d.tmux("kill-server") })
	return &pane{terminalHost: d, id: strings.TrimSpace(id), code: code}
}

// pane is a program in a terminal.
type pane struct {
	*terminalHost
	id   string
	code string // file with the exit code once the program has ended
}

// types types text literally.
func (p *pane) types(text string) {
	p.t.Helper()
	p.mustTmux("send-keys", "-t", p.id, "-l", "--", text)
}

// press presses keys by their tmux names: Enter, C-c, Up.
func (p *pane) press(keys ...string) {
	p.t.Helper()
	p.mustTmux(append([]string{"send-keys", "-t", p.id}, keys...)...)
}

// screen returns the content of the terminal, without trailing blanks.
func (p *pane) screen() string {
	p.t.Helper()
	var b strings.Builder
	for line := range strings.Lines(p.mustTmux("capture-pane", "-p", "-t", p.id)) {
		b.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}

// until waits until the screen meets a condition, and returns it.
func (p *pane) until(what string, wanted func(screen string) bool) string {
	p.t.Helper()
	var shown string
	p.poll(what, func() bool {
		shown = p.screen()
		return wanted(shown)
	})
	return shown
}

// shows waits for a text.
func (p *pane) shows(text string) string {
	p.t.Helper()
	return p.until(text, func(screen string) bool { return strings.Contains(screen, text) })
}

// resize resizes the terminal.
func (p *pane) resize(columns, lines string) {
	p.t.Helper()
	p.mustTmux("resize-window", "-t", p.id, "-x", columns, "-y", lines)
}

// close closes the terminal, as closing a window does, and waits for the program to
// end.
func (p *pane) close() {
	p.t.Helper()
	number, err := os.ReadFile(p.code + ".pid")
	require.NoError(p.t, err)
	keeper := p.mustTmux("new-session", "-d", "-P", "-F", "#{pane_id}", "cat") // or the server would end
	p.mustTmux("kill-pane", "-t", p.id)
	p.id = strings.TrimSpace(keeper)
	p.poll("the end of the program", func() bool {
		stat, err := os.ReadFile("/proc/" + strings.TrimSpace(string(number)) + "/stat")
		return err != nil || strings.Contains(string(stat), ") Z ")
	})
}

// exitCode waits for the end of the program.
func (p *pane) exitCode() (code string) {
	p.t.Helper()
	p.poll("the end of the program", func() bool {
		data, err := os.ReadFile(p.code)
		code = strings.TrimSpace(string(data))
		return err == nil
	})
	return code
}

// poll waits until a condition is true.
func (p *pane) poll(what string, so func() bool) {
	p.t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(screenWait); !so(); <-tick.C {
		if time.Now().After(deadline) {
			p.t.Fatalf("%s did not appear; the screen is\n%s", what, p.screen())
		}
	}
}

// masked replaces the parts of a screen that differ between runs, or with every added
// tool.
func masked(screen string) string {
	for _, mask := range []struct{ pattern, shown string }{
		{`/tmp/fettle-[0-9a-f]{8}`, "/tmp/fettle-00000000"}, // of equal length, so that lines wrap alike
		{`\b[0-9a-f]{32}\b`, strings.Repeat("0", 32)},
		{`\b[0-9]+(\.[0-9]+)?m?s\b`, "0s"},
		{`\b[0-9,]+ tokens`, "0 tokens"},
		{`\b[0-9]+% left`, "99% left"},
	} {
		screen = regexp.MustCompile(mask.pattern).ReplaceAllString(screen, mask.shown)
	}
	return screen
}

// golden waits until the screen equals a file of testdata/terminal, except for masked
// parts.
func (p *pane) golden(name string) {
	p.t.Helper()
	file := filepath.Join("testdata", "terminal", name+".screen")
	if *update {
		last, times := "", 0 // a screen that no longer changes
		p.until("a still screen", func(screen string) bool {
			if times++; screen != last {
				last, times = screen, 0
			}
			return times > 25
		})
		require.NoError(p.t, os.WriteFile(file, []byte(masked(last)), 0o644))
		return
	}
	want, err := os.ReadFile(file)
	require.NoError(p.t, err)
	p.until(file+",\n"+string(want), func(screen string) bool { return masked(screen) == string(want) })
}

// The helpers here read, type, resize and close.
func TestTmux(t *testing.T) {
	t.Parallel()
	d := newTerminal(t)
	p := d.run("cat")
	p.types("first; \\ $HOME 漢字")
	p.press("Enter")
	shown := p.until("the line twice", func(screen string) bool { return strings.Count(screen, "first; \\ $HOME 漢字\n") == 2 })
	require.Equal(t, "first; \\ $HOME 漢字\nfirst; \\ $HOME 漢字\n", shown)
	p.press("C-d")
	require.Equal(t, "0", p.exitCode())

	sized := d.run("sh", "-c", `trap 'stty size' WINCH; stty size; while :; do read -r line && exit 3; done`)
	sized.shows("24 80")
	sized.resize("40", "10")
	sized.shows("10 40")
	sized.press("Enter")
	require.Equal(t, "3", sized.exitCode())

	closed := d.run("sh", "-c", `trap 'echo hung up > end; exit' HUP; echo begun; while :; do sleep 1; done`)
	closed.shows("begun")
	closed.close()
	require.Equal(t, "hung up\n", d.read("end"))
}
