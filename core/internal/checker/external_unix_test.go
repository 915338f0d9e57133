//go:build unix

package checker_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/internal/checker"
	"github.com/fettle-dev/fettle/core/policy"
)

var external = policy.Checker{Name: "mine", External: true}

// program writes a shell script; DIR in it stands for its directory.
func program(t *testing.T, script string) (path string) {
	t.Helper()
	dir := t.TempDir()
	path = filepath.Join(dir, "mine")
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"+strings.ReplaceAll(script, "DIR", dir)), 0o700)) //nolint:gosec // it is to be run
	return path
}

func runner(path string, o checker.Options) *checker.Runner {
	o.Programs = map[string]string{"mine": path}
	if o.Getenv == nil {
		o.Getenv = func(name string) string {
			if name == "PATH" {
				return os.Getenv("PATH")
			}
			return ""
		}
	}
	return checker.New(o)
}

func TestExternalAnswers(t *testing.T) {
	for script, want := range map[string]struct {
		verdict policy.Verdict
		reason  string
		err     string // part of the message; the verdict is deny then
	}{
		`echo '{"decision":"allow","reason":"fine"}'`:               {policy.Allow, "fine", ""},
		`echo '{"decision":"allow"}'`:                               {policy.Allow, "The checker has no objection.", ""},
		`echo '{"decision":"deny","reason":" no ","extra":1}'`:      {policy.Deny, "no", ""},
		`echo '{"decision":"ask_user","reason":"who knows"}'`:       {policy.AskUser, "who knows", ""},
		`cat >/dev/null; printf '{"decision":"allow"}'; echo x >&2`: {policy.Allow, "The checker has no objection.", ""},

		`echo '{"decision":"deny"}'`:                             {err: "without a reason"},
		`echo '{"decision":"ask_user","reason":" "}'`:            {err: "without a reason"},
		`echo '{"decision":"maybe","reason":"x"}'`:               {err: "maybe"},
		`echo '{"decision":"ALLOW","reason":"x"}'`:               {err: "ALLOW"},
		`echo '{"reason":"x"}'`:                                  {err: "allow, deny, ask_user"},
		`echo 'null'`:                                            {err: "allow, deny, ask_user"},
		`echo '{"decision":"allow","error":"no network"}'`:       {err: "no network"},
		`echo '{"decision":"allow"} {"decision":"deny"}'`:        {err: "follows"},
		`echo '{"decision":"allow"'`:                             {err: "JSON"},
		`echo 'allow'`:                                           {err: "JSON"},
		`echo '["allow"]'`:                                       {err: "JSON"},
		`true`:                                                   {err: "JSON"},
		`echo '{"decision":"allow"}'; exit 1`:                    {err: "exit status 1"},
		`echo '{"decision":"allow"}'; kill -9 $$`:                {err: "killed"},
		`while :; do echo 'yes yes yes yes yes yes'; done`:       {err: "1048576 bytes"},
		`echo '{"decision":"allow"}'; head -c 2000000 /dev/zero`: {err: "1048576 bytes"},
	} {
		t.Run(script, func(t *testing.T) {
			verdict, reason, err := runner(program(t, script), checker.Options{}).Check(t.Context(), external, policy.Call{Tool: "t"})
			if want.err == "" {
				require.NoError(t, err)
				require.Equal(t, want.verdict, verdict)
				require.Equal(t, want.reason, reason)
				return
			}
			require.Equal(t, policy.Deny, verdict)
			require.Equal(t, fault.PolicyViolation, fault.CodeOf(err))
			require.Contains(t, fault.As(err).Message, want.err)
		})
	}
}

func TestExternalCannotStart(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, []byte("#!/bin/sh\n"), 0o600))
	for _, path := range []string{file, filepath.Join(filepath.Dir(file), "nosuch"), "relative", filepath.Dir(file)} {
		verdict, _, err := runner(path, checker.Options{}).Check(t.Context(), external, policy.Call{})
		require.Equal(t, policy.Deny, verdict, path)
		require.Equal(t, fault.PolicyViolation, fault.CodeOf(err), path)
	}
}

// The input of a program, and nothing else.
func TestExternalQuestion(t *testing.T) {
	path := program(t, `cat >DIR/in; env >DIR/env; pwd >DIR/pwd; echo "heard" >&2; echo '{"decision":"allow"}'`)
	dir := filepath.Dir(path)
	read := func(name string) string {
		data, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		return strings.TrimSpace(string(data))
	}
	t.Setenv("FETTLE_TEST_SECRET", "secret")
	var log bytes.Buffer
	o := checker.Options{
		Dir: dir, Roots: []string{dir, "/more"},
		Getenv: func(name string) string {
			return map[string]string{"PATH": os.Getenv("PATH"), "HOME": "/home/x", "TMPDIR": "/t", "API_KEY": "secret"}[name]
		},
		History: func() []checker.Turn {
			return []checker.Turn{{User: checker.UserMessage{Text: "hi"}, Model: checker.Reply{Text: "ho",
				ToolCalls: []checker.ToolCall{{Name: "glob", Args: json.RawMessage(`{}`)}}}}}
		},
		Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	c := policy.Call{Tool: "write_file", Params: json.RawMessage(`{"file_path":"a<b","n":9007199254740993}`)}
	ask := func(ch policy.Checker) error {
		ch.Name, ch.External = "mine", true
		_, _, err := runner(path, o).Check(t.Context(), ch, c)
		return err
	}

	require.NoError(t, ask(policy.Checker{Config: map[string]any{"level": 3}}))
	require.Equal(t, fmt.Sprintf(`{"protocolVersion":"1.0.0","toolCall":{"name":"write_file","args":{"file_path":"a<b","n":9007199254740993}},`+
		`"context":{"environment":{"cwd":%q,"workspaces":[%q,"/more"]},`+
		`"history":{"turns":[{"user":{"text":"hi"},"model":{"text":"ho","toolCalls":[{"name":"glob","args":{}}]}}]}},"config":{"level":3}}`,
		dir, dir), read("in"))
	var names []string
	for _, line := range strings.Split(read("env"), "\n") {
		name, _, _ := strings.Cut(line, "=")
		names = append(names, name)
	}
	require.Subset(t, []string{"PATH", "HOME", "LANG", "TMPDIR", "PWD", "OLDPWD", "SHLVL", "_"}, names, "the shell adds some of its own")
	require.Contains(t, read("env"), "HOME=/home/x")
	real, err := filepath.EvalSymlinks(dir)
	require.NoError(t, err)
	require.Contains(t, []string{dir, real}, read("pwd"))
	require.Contains(t, log.String(), "heard")

	require.NoError(t, ask(policy.Checker{RequiredContext: []string{"environment"}}))
	require.NotContains(t, read("in"), "history")
	require.NoError(t, ask(policy.Checker{RequiredContext: []string{"history"}}))
	require.NotContains(t, read("in"), "environment")
	require.NoError(t, ask(policy.Checker{RequiredContext: []string{}}))
	require.Contains(t, read("in"), `"context":{}`)
	require.ErrorContains(t, ask(policy.Checker{RequiredContext: []string{"secrets"}}), "secrets")

	o.History = nil
	c.Params = nil
	require.NoError(t, ask(policy.Checker{}))
	require.NotContains(t, read("in"), "history")
	require.Contains(t, read("in"), `"args":{}`)
	require.ErrorContains(t, ask(policy.Checker{RequiredContext: []string{"history"}}), "conversation")
}

// A large call is read while a large answer is written.
func TestExternalLarge(t *testing.T) {
	path := program(t, `printf '{"decision":"allow","reason":"'; tr -dc a; printf '"}'`)
	params, err := json.Marshal(map[string]string{"content": strings.Repeat("a", 700_000)})
	require.NoError(t, err)
	verdict, reason, err := runner(path, checker.Options{}).Check(t.Context(), external, policy.Call{Params: params})
	require.NoError(t, err)
	require.Equal(t, policy.Allow, verdict)
	require.Greater(t, len(reason), 700_000)
}

// processes returns the process IDs that a script wrote to a file, one per line.
func processes(t *testing.T, file string) (pids []int) {
	t.Helper()
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	for _, line := range strings.Fields(string(data)) {
		pid, err := strconv.Atoi(line)
		require.NoError(t, err)
		pids = append(pids, pid)
	}
	return pids
}

// gone waits until a process has ended: a killed orphan ends at once, and stays
// listed until init has reaped it.
func gone(t *testing.T, pid int) {
	t.Helper()
	require.Eventually(t, func() bool {
		if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			return true
		}
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		return err == nil && strings.Contains(string(stat), ") Z ")
	}, 5*time.Second, time.Millisecond, "process %d is left", pid)
}

// However a program behaves, the answer comes in time and no process is left.
func TestExternalLeavesNothing(t *testing.T) {
	for name, tt := range map[string]struct {
		script string
		count  int    // of processes
		err    string // "": it answers
	}{
		"hangs":                       {`echo $$ >DIR/pids; exec sleep 1000`, 1, "no answer within"},
		"hangs after its answer":      {`echo $$ >DIR/pids; echo '{"decision":"allow"}'; exec sleep 1000`, 1, "no answer within"},
		"ignores TERM":                {`trap '' TERM; echo $$ >DIR/pids; while :; do sleep 1000; done`, 1, "no answer within"},
		"grandchild holds the pipe":   {`trap '' TERM; sleep 1000 & echo $$ $! >DIR/pids; wait; wait`, 2, "no answer within"},
		"answers, grandchild is left": {`trap '' TERM; sleep 1000 & echo $$ $! >DIR/pids; echo '{"decision":"allow"}'`, 2, ""},
		"fails, grandchild is left":   {`sleep 1000 & echo $$ $! >DIR/pids; exit 3`, 2, "exit status 3"},
		"quiet grandchild is left":    {`sleep 1000 </dev/null >/dev/null 2>&1 & echo $$ $! >DIR/pids; echo '{"decision":"allow"}'`, 2, ""},
	} {
		path := program(t, tt.script) // here: a file that is written while another test starts a program may be busy
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := checker.Options{Timeout: 1500 * time.Millisecond, Grace: 50 * time.Millisecond}
			if tt.err != "no answer within" {
				o.Timeout = time.Minute // its grandchild is not awaited for that long
			}
			start := time.Now()
			verdict, _, err := runner(path, o).Check(t.Context(), external, policy.Call{})
			require.Less(t, time.Since(start), 20*time.Second)
			if tt.err == "" {
				require.NoError(t, err)
				require.Equal(t, policy.Allow, verdict)
			} else {
				require.Equal(t, policy.Deny, verdict)
				require.ErrorContains(t, err, tt.err)
			}
			pids := processes(t, filepath.Join(filepath.Dir(path), "pids"))
			require.Len(t, pids, tt.count)
			for _, pid := range pids {
				gone(t, pid)
			}
		})
	}
}

// A program may clean up on SIGTERM.
func TestExternalIsAskedToEnd(t *testing.T) {
	path := program(t, `trap 'echo tidy >DIR/tidy; exit' TERM; sleep 1000 & wait`)
	_, _, err := runner(path, checker.Options{Timeout: time.Second, Grace: 10 * time.Second}).Check(t.Context(), external, policy.Call{})
	require.ErrorContains(t, err, "no answer within 1s")
	require.FileExists(t, filepath.Join(filepath.Dir(path), "tidy"))
}

func TestExternalCancelled(t *testing.T) {
	path := program(t, `echo $$ >DIR/pids; touch DIR/started; exec sleep 1000`)
	dir := filepath.Dir(path)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var wait sync.WaitGroup
	wait.Go(func() {
		verdict, _, err := runner(path, checker.Options{Timeout: time.Minute}).Check(ctx, external, policy.Call{})
		if verdict != policy.Deny || fault.CodeOf(err) != fault.Cancelled {
			t.Errorf("%s, %v", verdict, err)
		}
	})
	require.Eventually(t, func() bool { _, err := os.Stat(filepath.Join(dir, "started")); return err == nil }, time.Minute, time.Millisecond)
	cancel()
	wait.Wait()
	for _, pid := range processes(t, filepath.Join(dir, "pids")) {
		gone(t, pid)
	}
}

// Checks may run concurrently.
func TestExternalSideBySide(t *testing.T) {
	path := program(t, `cat >/dev/null; echo '{"decision":"deny","reason":"no"}'`)
	r := runner(path, checker.Options{})
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			verdict, reason, err := r.Check(t.Context(), external, policy.Call{})
			if verdict != policy.Deny || reason != "no" || err != nil {
				t.Errorf("%s, %s, %v", verdict, reason, err)
			}
		})
	}
	wait.Wait()
}
