package process_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/process"
)

func start(t testing.TB, s *process.Service, line string) process.Info {
	t.Helper()
	i, err := s.Start(t.Context(), process.Command{Line: line, Dir: t.TempDir()})
	require.NoError(t, err)
	return i
}

// read waits for the next output.
func read(t testing.TB, s *process.Service, id string) process.Unread {
	t.Helper()
	u, err := s.Read(t.Context(), id, process.ReadOptions{Wait: 10 * time.Second})
	require.NoError(t, err)
	return u
}

// readEnd waits for the end.
func readEnd(t testing.TB, s *process.Service, id string) process.Unread {
	t.Helper()
	u, err := s.Read(t.Context(), id, process.ReadOptions{Wait: 10 * time.Second, ForEnd: true})
	require.NoError(t, err)
	require.False(t, u.Running)
	return u
}

// TO-17: start a server, talk to it, stop it.
func TestBackgroundTalk(t *testing.T) {
	t.Parallel()
	s := newService(t, process.Options{})
	i := start(t, s, `echo ready; while read -r line; do echo "got $line"; done; echo bye; exit 4`)
	require.Equal(t, "p1", i.ID)
	require.True(t, i.Running)
	require.True(t, alive(i.PID))
	require.Equal(t, "ready\n", read(t, s, i.ID).Text)
	for n := range 3 {
		require.NoError(t, s.Write(t.Context(), i.ID, fmt.Sprintf("line %d\n", n), false))
		require.Equal(t, fmt.Sprintf("got line %d\n", n), read(t, s, i.ID).Text)
	}
	require.NoError(t, s.Write(t.Context(), i.ID, "last\n", true))
	u := readEnd(t, s, i.ID)
	require.Equal(t, "got last\nbye\n", u.Text)
	require.Equal(t, process.Exit{Code: 4}, u.Exit)
	require.Empty(t, readEnd(t, s, i.ID).Text)
	require.Equal(t, fault.ExecutionFailed, fault.CodeOf(s.Write(t.Context(), i.ID, "x", false)))
	stopped, err := s.Kill(t.Context(), i.ID)
	require.NoError(t, err)
	require.Equal(t, u.Info, stopped)
}

func TestBackgroundUnknown(t *testing.T) {
	t.Parallel()
	s := newService(t, process.Options{})
	for range 2 {
		_, err := s.Read(t.Context(), "p7", process.ReadOptions{})
		require.Equal(t, fault.ExecutionFailed, fault.CodeOf(err))
		require.Equal(t, fault.ExecutionFailed, fault.CodeOf(s.Write(t.Context(), "p7", "x", false)))
		_, err = s.Kill(t.Context(), "p7")
		require.Equal(t, fault.ExecutionFailed, fault.CodeOf(err))
		start(t, s, "true") // then the remedy names it
	}
	_, err := s.Kill(t.Context(), "p7")
	require.Contains(t, fault.As(err).Remedy, "p1, p2")
}

// TO-17: background processes end with the session, and their output can still be read.
func TestCloseEndsBackground(t *testing.T) {
	t.Parallel()
	s := newService(t, process.Options{Grace: 50 * time.Millisecond})
	lines := []string{
		`echo pid=$$; exec sleep 1000`,
		`trap '' TERM; echo pid=$$; while :; do sleep 1000; done`,
		`setsid sleep 1000 & echo pid=$!; wait`,
		`sleep 1000 & echo pid=$!`, // the shell has ended
		`setsid sleep 1000 >/dev/null 2>&1 & echo pid=$!`,
		`echo pid=$$; exec yes >/dev/null`,
	}
	var pids []int
	for _, line := range lines {
		pids = append(pids, pidIn(t, read(t, s, start(t, s, line).ID).Text, "pid"))
	}
	for _, pid := range pids {
		require.True(t, alive(pid))
	}
	require.NoError(t, s.Close())
	for i, pid := range pids {
		require.False(t, alive(pid), lines[i])
	}
	list := s.List()
	require.Len(t, list, len(lines))
	for _, i := range list {
		require.False(t, i.Running)
	}
	require.Equal(t, "SIGTERM", list[0].Signal)
	require.Equal(t, "SIGKILL", list[1].Signal)
	require.NoError(t, s.Close())
}

// A process whose shell has ended, with a child that holds the output, still runs and can be
// stopped.
func TestKill(t *testing.T) {
	t.Parallel()
	s := newService(t, process.Options{Grace: 50 * time.Millisecond})
	i := start(t, s, `(echo pid=$BASHPID; exec sleep 1000) &`)
	pid := pidIn(t, read(t, s, i.ID).Text, "pid")
	requireEnds(t, i.PID)
	require.True(t, s.List()[0].Running)
	stopped, err := s.Kill(t.Context(), i.ID)
	require.NoError(t, err)
	require.False(t, stopped.Running)
	require.Equal(t, process.Exit{}, stopped.Exit)
	require.False(t, alive(pid))

	i = start(t, s, `trap '' TERM; echo ready; while :; do sleep 1000; done`)
	read(t, s, i.ID)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = s.Kill(ctx, i.ID)
	require.Equal(t, fault.Cancelled, fault.CodeOf(err))
	require.Equal(t, "SIGKILL", readEnd(t, s, i.ID).Signal) // even so
}

// Unread output beyond the limit is dropped from its beginning, and counted.
func TestUnreadIsBounded(t *testing.T) {
	t.Parallel()
	s := newService(t, process.Options{UnreadBytes: 100})
	i := start(t, s, `seq 1000`)
	u, err := s.Read(t.Context(), i.ID, process.ReadOptions{Wait: 10 * time.Second, ForEnd: true, MaxRead: 50})
	require.NoError(t, err)
	require.Equal(t, int64(3893-100), u.Dropped)
	require.True(t, strings.HasSuffix(u.Text, "\n"), "whole lines")
	require.Equal(t, 100-len(u.Text), u.Unread)
	rest := readEnd(t, s, i.ID)
	require.Zero(t, rest.Dropped)
	require.Zero(t, rest.Unread)
	all := u.Text + rest.Text
	require.Len(t, all, 100)
	require.True(t, strings.HasSuffix(all, "\n999\n1000\n"))
}

// Read returns whole characters.
func TestReadWholeCharacters(t *testing.T) {
	t.Parallel()
	s := newService(t, process.Options{})
	i := start(t, s, `printf 'a\303'; read -r x; printf '\274'; read -r x; printf 'üü\303'`)
	require.Equal(t, "a", read(t, s, i.ID).Text)
	u, err := s.Read(t.Context(), i.ID, process.ReadOptions{})
	require.NoError(t, err)
	require.Empty(t, u.Text)
	require.Equal(t, 1, u.Unread)
	require.NoError(t, s.Write(t.Context(), i.ID, "\n", false))
	require.Equal(t, "ü", read(t, s, i.ID).Text)
	require.NoError(t, s.Write(t.Context(), i.ID, "\n", true))
	u, err = s.Read(t.Context(), i.ID, process.ReadOptions{Wait: 10 * time.Second, ForEnd: true, MaxRead: 3})
	require.NoError(t, err)
	require.Equal(t, "ü", u.Text)
	require.Equal(t, "ü\ufffd", readEnd(t, s, i.ID).Text)
}

func TestReadWaits(t *testing.T) {
	t.Parallel()
	s := newService(t, process.Options{})
	i := start(t, s, `echo a; exec sleep 1000`)
	u, err := s.Read(t.Context(), i.ID, process.ReadOptions{Wait: 100 * time.Millisecond, ForEnd: true})
	require.NoError(t, err)
	require.Equal(t, "a\n", u.Text)
	require.True(t, u.Running)
	u, err = s.Read(t.Context(), i.ID, process.ReadOptions{Wait: time.Millisecond})
	require.NoError(t, err)
	require.Empty(t, u.Text)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = s.Read(ctx, i.ID, process.ReadOptions{Wait: time.Hour})
	require.Equal(t, fault.Cancelled, fault.CodeOf(err))
}

// Writing to a process that does not read ends with its context, or with the process.
func TestWriteDoesNotHang(t *testing.T) {
	t.Parallel()
	s := newService(t, process.Options{})
	much := strings.Repeat("x", 1<<20)
	i := start(t, s, `exec sleep 1000`)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	require.Equal(t, fault.Cancelled, fault.CodeOf(s.Write(ctx, i.ID, much, false)))
	require.Equal(t, fault.Cancelled, fault.CodeOf(s.Write(ctx, i.ID, "x", false)))

	var writing sync.WaitGroup
	for range 2 { // one waits for the other
		writing.Go(func() {
			if code := fault.CodeOf(s.Write(t.Context(), i.ID, much, false)); code != fault.ExecutionFailed {
				t.Errorf("code %q", code)
			}
		})
	}
	_, err := s.Kill(t.Context(), i.ID)
	require.NoError(t, err)
	writing.Wait()

	i = start(t, s, `exec <&-; echo closed; exec sleep 1000`)
	read(t, s, i.ID)
	require.Equal(t, fault.ExecutionFailed, fault.CodeOf(s.Write(t.Context(), i.ID, "x", false)))
	i = start(t, s, `exec sleep 1000`)
	require.NoError(t, s.Write(t.Context(), i.ID, "", true))
	require.Equal(t, fault.ExecutionFailed, fault.CodeOf(s.Write(t.Context(), i.ID, "x", false)))
}

// The numbers of running and of remembered processes are limited.
func TestBackgroundIsBounded(t *testing.T) {
	t.Parallel()
	s := newService(t, process.Options{MaxBackground: 2})
	keep := start(t, s, `exec sleep 1000`)
	for range 110 {
		i := start(t, s, `read -r x`)
		_, err := s.Start(t.Context(), process.Command{Line: "true", Dir: os.TempDir()})
		require.Equal(t, fault.ExecutionFailed, fault.CodeOf(err))
		require.NoError(t, s.Write(t.Context(), i.ID, "", true))
		readEnd(t, s, i.ID)
	}
	list := s.List()
	require.Equal(t, keep.ID, list[0].ID)
	require.True(t, list[0].Running)
	require.Len(t, list, 102) // at the last start: 100 ended processes and two running ones
	require.Equal(t, "p111", list[101].ID)
}

// EX-20: without a session no background process is started, because it would end with the answer.
func TestNoBackground(t *testing.T) {
	t.Parallel()
	s := newService(t, process.Options{NoBackground: true})
	_, err := s.Start(t.Context(), process.Command{Line: "sleep 60", Dir: t.TempDir()})
	require.Equal(t, fault.ExecutionFailed, fault.CodeOf(err))
	require.Equal(t, fault.NoSession, fault.As(err).Reason)
	require.Empty(t, s.List())
}
