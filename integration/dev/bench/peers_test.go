package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// fakeVariable makes the test program a driver that behaves as the value demands.
const fakeVariable = "FETTLE_BENCH_FAKE_DRIVER"

// The other side of the driver's protocol, in a process of its own.
func TestFakeDriver(t *testing.T) {
	mode := os.Getenv(fakeVariable)
	if mode == "" {
		t.Skip("it is started by the other tests")
	}
	runs := 0
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var r struct {
			Op     string
			Turn   int
			Params struct{ File, Text string }
		}
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			os.Exit(3)
		}
		answer := `{}`
		switch {
		case r.Op == "prepare":
			answer = `{"handle":1}`
		case r.Op == "run" && mode == "wrong":
			answer = `{"ns":100,"shown":"nothing","length":7}`
		case r.Op == "run" && mode == "idle":
			answer = `{"ns":0,"shown":"done","length":4}`
		case r.Op == "run" && mode == "shorter" && runs > 300:
			answer = `{"ns":100,"shown":"don","length":3}`
		case r.Op == "run":
			runs++
			answer = `{"ns":1500,"shown":"done","length":4}`
		case r.Op == "fail":
			answer = `{"error":"it does not work"}`
		case r.Op == "babble":
			answer = `not JSON`
		case r.Op == "die":
			fmt.Fprintln(os.Stderr, "out of memory")
			os.Exit(1)
		case r.Op == "hang":
			continue
		}
		fmt.Println(answer)
	}
	os.Exit(0)
}

func fakeDriver(t *testing.T, mode string) *driver {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self, "-test.run=^TestFakeDriver$")
	cmd.Env = append(os.Environ(), fakeVariable+"="+mode)
	d, err := startDriver(cmd)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.close()) })
	return d
}

func TestDriverMeasures(t *testing.T) {
	d := fakeDriver(t, "right")
	p, err := d.prepare(t.Context(), driverTask{Work: "w", Check: shows("done")}, warmTime)
	require.NoError(t, err)
	m, err := p.Run(t.Context())
	require.NoError(t, err)
	require.Equal(t, Measured{Elapsed: 1500 * time.Nanosecond}, m)
	require.NoError(t, p.Close())
}

// A peer with a wrong result has no time.
func TestDriverWrongResult(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	require.NoError(t, os.WriteFile(path, []byte("old"), 0o600))
	for name, tt := range map[string]struct {
		mode string
		e    driverTask
		want string
	}{
		"another result":        {"wrong", driverTask{Check: shows("done")}, "wrong result"},
		"a part is missing":     {"wrong", driverTask{Check: mentions("done")}, "wrong result"},
		"a file is not changed": {"right", driverTask{After: alternates(path, [2]string{"old", "new"})}, "wrong result"},
		"it takes no time":      {"idle", driverTask{Check: shows("done")}, "took 0 ns"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := fakeDriver(t, tt.mode).prepare(t.Context(), tt.e, 0)
			require.ErrorContains(t, err, tt.want)
		})
	}
	t.Run("later results differ", func(t *testing.T) {
		d := fakeDriver(t, "shorter")
		p, err := d.prepare(t.Context(), driverTask{Check: shows("done")}, 0)
		for range 400 {
			if err != nil {
				break
			}
			_, err = p.Run(t.Context())
		}
		require.ErrorContains(t, err, "wrong result")
	})
}

func TestDriverErrors(t *testing.T) {
	d := fakeDriver(t, "right")
	ask := func(op string) error { return d.ask(t.Context(), map[string]any{"op": op}, nil) }
	require.ErrorContains(t, ask("fail"), "it does not work")
	require.ErrorContains(t, ask("babble"), "JSON")
	require.NoError(t, ask("import"), "it can be asked again")
	require.False(t, d.over())
	require.ErrorContains(t, ask("die"), "out of memory")
	require.True(t, d.over())
	require.ErrorContains(t, ask("import"), "ended")
}

func TestDriverCancelled(t *testing.T) {
	d := fakeDriver(t, "right")
	ctx, cancel := context.WithCancelCause(t.Context())
	stopped := errors.New("somebody pressed Ctrl-C")
	cancel(stopped)
	require.ErrorIs(t, d.ask(ctx, map[string]any{"op": "hang"}, nil), stopped)
	require.True(t, d.over())
}

// After a driver has ended, the next case starts a new one.
func TestDriverStartsAgain(t *testing.T) {
	starts := 0
	n := &nodeDriver{start: func(context.Context) (*driver, error) { starts++; return fakeDriver(t, "right"), nil }}
	first, err := n.get(t.Context())
	require.NoError(t, err)
	same, err := n.get(t.Context())
	require.NoError(t, err)
	require.Same(t, first, same)
	require.Error(t, first.ask(t.Context(), map[string]any{"op": "die"}, nil))
	second, err := n.get(t.Context())
	require.NoError(t, err)
	require.NoError(t, second.ask(t.Context(), map[string]any{"op": "import"}, nil))
	require.Equal(t, 2, starts)
	require.NoError(t, n.close())
}

// If nothing is installed, every peer is skipped with its name and the reason.
func TestPeersAbsent(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	t.Setenv(packagesVariable, t.TempDir())
	lab := newLab(t)
	lab.Full = true // so that none is skipped for its size
	n := 0
	for id, contestants := range peerContestants() {
		for _, c := range contestants {
			n++
			p, err := c.Prepare(t.Context(), lab)
			reason, ok := absence(err)
			require.True(t, ok, "%s, %s: %v, %v", id, c.Name, p, err)
			require.Contains(t, reason, "is not installed", "%s, %s", id, c.Name)
			require.Equal(t, Peer, c.Role, "%s, %s", id, c.Name)
		}
	}
	require.Greater(t, n, 60)
	require.Empty(t, peerVersions(t.Context(), lab))
	_, _, err := npmVersion(t.Context(), lab, qwenNPM)
	require.ErrorContains(t, err, "npm package @qwen-code/qwen-code is not installed: npm install ")
}

func TestPeerVersions(t *testing.T) {
	dir := t.TempDir()
	t.Setenv(packagesVariable, dir)
	pkg := filepath.Join(dir, "node_modules", "diff")
	require.NoError(t, os.MkdirAll(pkg, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(pkg, "package.json"), []byte(`{"version":"1.2.3"}`), 0o600))
	versions := peerVersions(t.Context(), newLab(t))
	require.Equal(t, "1.2.3", versions["npm diff"])
	require.NotContains(t, versions, "npm "+qwenNPM)
	if _, err := exec.LookPath("git"); err == nil {
		require.Regexp(t, `^\d+\.\d+`, versions["git"])
	}
}

// A program that succeeds without changing anything is detected.
func TestPatchingWrongResult(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the program is a script for sh")
	}
	bin := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(bin, "git"), []byte("#!/bin/sh\nexit 0\n"), 0o700))
	t.Setenv("PATH", bin)
	p, err := patching(200, "git", func(diff string) []string { return []string{"apply", diff} })(t.Context(), newLab(t))
	require.NoError(t, err)
	_, err = p.Run(t.Context())
	require.ErrorContains(t, err, "wrong result")
}

// The installed programs apply the diff and revert it.
func TestPatchingPrograms(t *testing.T) {
	for id, contestants := range peerContestants() {
		if id != "patch/200-lines" {
			continue
		}
		for _, c := range contestants[:2] {
			t.Run(c.Name, func(t *testing.T) {
				p, err := c.Prepare(t.Context(), newLab(t))
				if reason, ok := absence(err); ok {
					t.Skip(reason)
				}
				require.NoError(t, err)
				for range 4 {
					m, err := p.Run(t.Context())
					require.NoError(t, err)
					require.Positive(t, m.Elapsed)
				}
			})
		}
	}
}

func TestChatServer(t *testing.T) {
	s, err := newChatServer("/w/f.txt")
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	for body, want := range map[string]string{
		`{"messages":[]}`: `\"/w/f.txt\"`,
		`{"messages":[{"role":"tool","tool_call_id":"c1"}]}`: headlessAnswer,
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/chat/completions", strings.NewReader(body))
		require.NoError(t, err)
		response, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		text, err := io.ReadAll(response.Body)
		require.NoError(t, errors.Join(err, response.Body.Close()))
		require.Contains(t, string(text), want)
		for line := range strings.Lines(string(text)) {
			if data, ok := strings.CutPrefix(strings.TrimSpace(line), "data: "); ok && data != "[DONE]" {
				require.True(t, json.Valid([]byte(data)), data)
			}
		}
	}
}

// With the npm packages, their peers do the work of the smallest cases.
func TestPeersInNode(t *testing.T) {
	if os.Getenv("FETTLE_FULL") == "" {
		t.Skip("it takes half a minute: FETTLE_FULL=1")
	}
	lab := newLab(t)
	all := peerContestants()
	for _, id := range []string{"call/overhead", "read/1kb", "edit/200-lines", "write/200-lines", "patch/200-lines", "policy/shell-10", "registry/lookup-20", "schema/validate", "bus/ask", "shell/true", "sessions/time-1"} {
		for _, c := range all[id] {
			t.Run(id+" "+c.Name, func(t *testing.T) {
				p, err := c.Prepare(t.Context(), lab)
				if reason, ok := absence(err); ok {
					t.Skip(reason)
				}
				require.NoError(t, err)
				m, err := p.Run(t.Context())
				require.NoError(t, err)
				require.Positive(t, m.Elapsed)
				if p.Close != nil {
					require.NoError(t, p.Close())
				}
			})
		}
	}
}
