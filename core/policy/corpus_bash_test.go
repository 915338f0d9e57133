//go:build unix

package policy_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/policy"
)

// These programs run unchanged in a box, if the machine has them: they only
// compute, read, or run others.
const realTools = "awk base64 basename bash cat chrt comm cut date diff dirname env find flock grep head ionice join " +
	"jq ls mkdir mktemp nice nl nohup od paste perl rev script sed seq setsid sh sha256sum sort split stat stdbuf tac tail tar " +
	"taskset tee timeout touch tr true uname uniq wc xargs xxd"

// These are stubs that record that they were run, guarded ones among them.
const stubTools = "rm rmdir shred dd mkfs shutdown reboot killall chmod chown curl wget nc scp sudo doas su ssh git docker kubectl " +
	"terraform gh npm npx pip go gofmt make node python3 pytest ruff mypy rg fd tree yq column df du file golangci-lint " +
	"staticcheck ps pgrep sleep watch parallel busybox strace gdb chroot unshare systemd-run runuser xvfb-run entr vim less man ed"

// box is an isolated environment for running lines: a directory w with a few
// files, directories home and outside next to it, and a directory bin that is the
// whole PATH.
type box struct {
	top, bash string
	within    time.Duration     // of a run, which is then ended
	files     map[string]string // additional files in w
}

func newBox(t *testing.T) *box {
	t.Helper()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash to compare with")
	}
	top, err := os.MkdirTemp("", "fettle") //nolint:usetesting // t.TempDir lies in a directory that others may not enter
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(top)) })
	top, err = filepath.EvalSymlinks(top)
	require.NoError(t, err)
	require.NoError(t, os.Chmod(top, 0o755))
	b := &box{top: top, bash: bash, within: 5 * time.Second}
	require.NoError(t, os.Mkdir(b.at("bin"), 0o755))
	for name := range strings.FieldsSeq(realTools) {
		if path, err := exec.LookPath(name); err == nil {
			require.NoError(t, os.Symlink(path, b.at("bin", name)))
		}
	}
	for name := range strings.FieldsSeq(stubTools) {
		script := fmt.Sprintf("#!/bin/sh\nn=%s\nfor a do n=\"$n\037$a\"; done\nprintf '%%s\\036' \"$n\" >> '%s'\n", name, b.at("log"))
		require.NoError(t, os.WriteFile(b.at("bin", name), []byte(script), 0o755)) //nolint:gosec // a program
	}
	require.NoError(t, os.Chmod(b.at("bin"), 0o755))
	return b
}

func (b *box) at(elements ...string) string {
	return filepath.Join(append([]string{b.top}, elements...)...)
}

// fill creates the directories in their initial state.
func (b *box) fill(t *testing.T) {
	t.Helper()
	for _, dir := range []string{"w/sub", "home", "outside"} {
		require.NoError(t, os.RemoveAll(b.at(filepath.Dir(dir), filepath.Base(dir))))
	}
	require.NoError(t, os.RemoveAll(b.at("w")))
	for _, dir := range []string{"w", "w/sub", "w/core", "home", "outside"} {
		require.NoError(t, os.Mkdir(b.at(dir), 0o777))
		require.NoError(t, os.Chmod(b.at(dir), 0o777)) //nolint:gosec // another user writes into it
	}
	for name, text := range map[string]string{"w/a.txt": "a x\n", "w/b.txt": "b,y\n", "w/data.csv": "1,2,3\n", "w/main.go": "package main\n", "log": ""} {
		require.NoError(t, os.WriteFile(b.at(name), []byte(text), 0o666)) //nolint:gosec // another user writes into it
		require.NoError(t, os.Chmod(b.at(name), 0o666))                   //nolint:gosec // as above
	}
	for name, text := range b.files {
		require.NoError(t, os.WriteFile(b.at("w", name), []byte(text), 0o666)) //nolint:gosec // as above
	}
	require.NoError(t, os.Symlink("../outside", b.at("w", "link")))
	require.NoError(t, os.Symlink("../outside/linked.txt", b.at("w", "linked.txt")))
}

// run lets bash run a line, as an unprivileged user if the test is run by root,
// and returns the argument lists of the stubs that ran, and whether something
// outside the workspace was written.
func (b *box) run(t *testing.T, line string) (stubs [][]string, outside bool) {
	t.Helper()
	b.fill(t)
	line = strings.NewReplacer("/usr/bin/", b.at("bin")+"/", "/bin/", b.at("bin")+"/",
		"/outside", b.at("outside"), "/w/", b.at("w")+"/").Replace(line)
	ctx, cancel := context.WithTimeout(t.Context(), b.within)
	defer cancel()
	cmd := exec.CommandContext(ctx, b.bash, "-c", line)
	cmd.Dir = b.at("w")
	cmd.Env = []string{"PATH=" + b.at("bin"), "HOME=" + b.at("home"), "BASH=" + b.bash, "LC_ALL=C", "TMPDIR=" + b.at("w"), "USER=nobody", "FUNCNEST=4"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if os.Getuid() == 0 {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: 65534, Gid: 65534}
	}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	// Its output is a pipe, so that waiting ends when the last process that could
	// still write to it has ended, including background commands.
	_, err := cmd.CombinedOutput()
	if errors.Is(err, os.ErrPermission) {
		t.Skip("bash cannot be run by another user")
	}
	if ctx.Err() != nil {
		t.Logf("%.300q does not end", line)
	}
	log, err := os.ReadFile(b.at("log"))
	require.NoError(t, err)
	for record := range strings.SplitSeq(strings.TrimSuffix(string(log), "\036"), "\036") {
		if record != "" {
			stubs = append(stubs, strings.Split(record, "\037"))
		}
	}
	for _, dir := range []string{"home", "outside"} {
		names, err := os.ReadDir(b.at(dir))
		require.NoError(t, err)
		outside = outside || len(names) > 0
	}
	return stubs, outside
}

// guarded reports whether testdata/policy.toml denies or asks about a command
// that bash has run.
func guarded(argv []string) bool {
	program, args := argv[0], argv[1:]
	switch program {
	case "git":
		for len(args) > 0 && strings.HasPrefix(args[0], "-") {
			n := 1
			if slices.Contains([]string{"-C", "-c", "--git-dir", "--work-tree", "--namespace"}, args[0]) {
				n = min(2, len(args))
			}
			args = args[n:]
		}
		return len(args) > 0 && (args[0] == "push" || args[0] == "clean" || args[0] == "rebase" ||
			args[0] == "reset" && slices.Contains(args, "--hard"))
	case "chmod":
		return slices.ContainsFunc(args, func(a string) bool {
			return strings.HasPrefix(a, "-") && !strings.HasPrefix(a, "--") && strings.Contains(a, "R")
		})
	case "npm", "pip":
		return slices.Contains(args, "publish") || slices.Contains(args, "install")
	}
	return slices.Contains(strings.Fields("rm shred dd mkfs shutdown reboot killall chmod chown curl wget nc scp sudo doas su "+
		"docker kubectl terraform ssh gh"), program)
}

// A line for which bash actually runs something that a rule denies or asks about
// is allowed in no mode, and one that writes outside the workspace only in yolo
// mode. The corpus is right about the programs that bash runs.
//
// Take care when you add to the corpus: this test runs it, as the user who runs
// the test unless that is root.
func TestCorpusAgainstBash(t *testing.T) {
	e := corpusEngine(t)
	entries := corpus(t)
	for _, name := range []string{"everyday.txt", "edits.txt"} {
		lines := listed(t, name)
		for _, line := range lines[:rounds(20, len(lines))] {
			entries = append(entries, entry{Line: line})
		}
	}
	work := make(chan entry)
	var workers sync.WaitGroup
	for range 2 {
		b := newBox(t)
		workers.Go(func() {
			for entry := range work {
				b.check(t, e, entry)
			}
		})
	}
	every := 1
	if testing.Short() {
		every = 5
	}
	for i, entry := range entries {
		if i%every == 0 && !strings.Contains(entry.Line, "\x00") { // not possible in an argument of a program
			work <- entry
		}
	}
	close(work)
	workers.Wait()
}

// check compares the verdicts on a line with the behaviour of bash.
func (b *box) check(t *testing.T, e *policy.Engine, entry entry) {
	stubs, outside := b.run(t, entry.Line)
	ran := map[string]bool{}
	for _, argv := range stubs {
		if guarded(argv) {
			ran[argv[0]] = true
		}
	}
	for _, mode := range modes {
		verdict := decide(t, e, entry.Line, mode).Decision
		if verdict == policy.Allow && len(ran) > 0 {
			t.Errorf("%q is allowed in %s mode, and bash runs %v", entry.Line, mode, stubs)
		}
		if verdict == policy.Allow && outside && mode != policy.ModeYolo {
			t.Errorf("%q is allowed in %s mode, and bash writes outside the workspace", entry.Line, mode)
		}
	}
	if entry.Runs != "" && runtime.GOOS == "linux" && !ran[entry.Runs] && b.has(entry.Line) {
		t.Errorf("%q: bash does not run %s, but %v", entry.Line, entry.Runs, stubs)
	}
}

// has reports whether all tools that a line names are available.
func (b *box) has(line string) bool {
	for name := range strings.FieldsSeq(realTools) {
		if _, err := os.Lstat(b.at("bin", name)); err != nil && strings.Contains(line, name) {
			return false
		}
	}
	return true
}
