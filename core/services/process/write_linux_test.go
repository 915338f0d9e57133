package process

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
)

// startPatient starts a command whose writes wait at most for patience.
func startPatient(t *testing.T, c Command, patience time.Duration) (*Service, *background) {
	t.Helper()
	s := New(Options{})
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	if c.Dir == "" {
		c.Dir = t.TempDir()
	}
	i, err := s.Start(t.Context(), c)
	require.NoError(t, err)
	b, err := s.lookup("test", i.ID)
	require.NoError(t, err)
	require.Equal(t, writeWait, b.patience)
	b.patience = patience
	return s, b
}

// await reads until the output contains text.
func await(t *testing.T, s *Service, id, text string) (got string) {
	t.Helper()
	for !strings.Contains(got, text) {
		u, err := s.Read(t.Context(), id, ReadOptions{Wait: 10 * time.Second})
		require.NoError(t, err)
		require.NotEmpty(t, u.ANSI, "after %q", got)
		got += u.ANSI
	}
	return got
}

// taken returns the number of bytes that an error reports as written.
func taken(t *testing.T, err error, all int) int {
	t.Helper()
	require.Equal(t, fault.ExecutionFailed, fault.CodeOf(err))
	message := fault.As(err).Message
	number := regexp.MustCompile(fmt.Sprintf(`^p1 took (\d+) of %d bytes within `, all)).FindStringSubmatch(message)
	require.NotNil(t, number, message)
	n, err := strconv.Atoi(number[1])
	require.NoError(t, err)
	return n
}

// TO-17: a write to a process that does not read ends and reports the bytes written; the process
// receives no rest later.
func TestWriteIsBounded(t *testing.T) {
	t.Parallel()
	const patience = 100 * time.Millisecond
	dir := t.TempDir()
	s, b := startPatient(t, Command{Line: `until test -e go; do sleep 0.01; done; exec wc -c`, Dir: dir}, patience)
	const all = 1 << 20
	err := s.Write(t.Context(), b.id, strings.Repeat("x", all), true)
	n := taken(t, err, all)
	require.Contains(t, fault.As(err).Message, "was not closed")
	require.NotZero(t, n)
	require.Less(t, n, all)
	n += taken(t, s.Write(t.Context(), b.id, strings.Repeat("x", all), false), all)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go"), nil, 0o600))
	b.patience = time.Minute
	require.NoError(t, s.Write(t.Context(), b.id, "end", true))
	require.Equal(t, strconv.Itoa(n+len("end"))+"\n", await(t, s, b.id, "\n"))
}

// The same for a write that waits for another write, and for a terminal.
func TestWriteIsBoundedElsewhere(t *testing.T) {
	t.Parallel()
	const patience = 100 * time.Millisecond
	s, b := startPatient(t, Command{Line: `exec sleep 1000`}, patience)
	b.writing <- struct{}{}
	err := s.Write(t.Context(), b.id, "x", false)
	require.Equal(t, fault.ExecutionFailed, fault.CodeOf(err))
	require.Contains(t, fault.As(err).Message, "another call")
	<-b.writing
	require.NoError(t, s.Write(t.Context(), b.id, "x", false))

	s, b = startPatient(t, Command{Line: `stty raw -echo; echo ready; exec sleep 1000`, PTY: true}, patience)
	await(t, s, b.id, "ready")
	require.Less(t, taken(t, s.Write(t.Context(), b.id, strings.Repeat("x", 1<<20), false), 1<<20), 1<<20)
}

// TO-17: programs that edit lines themselves end when their input is closed.
func TestCloseAtKeys(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ program, line, input, want string }{
		"one key": {"od", `stty -icanon -echo; echo ready; head -c 1 | od -An -tx1`, "", " 04\n"},
		"bash":    {"bash", `exec bash --norc --noprofile -i`, "echo a$((1+1))b\n", "a2b"},
		"nested":  {"bash", `exec bash --norc --noprofile -i`, "bash --norc --noprofile -i\necho a$((1+1))b\n", "a2b"},
		"python":  {"python3", `exec python3 -i`, "print(10+1)\n", "11"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath(tt.program); err != nil {
				t.Skip("there is no " + tt.program)
			}
			s, b := startPatient(t, Command{Line: tt.line, PTY: true}, time.Minute)
			got := ""
			if tt.input == "" {
				got = await(t, s, b.id, "ready")
			} else {
				require.NoError(t, s.Write(t.Context(), b.id, tt.input, false))
				got = await(t, s, b.id, tt.want)
			}
			require.NoError(t, s.Write(t.Context(), b.id, "", true))
			u, err := s.Read(t.Context(), b.id, ReadOptions{Wait: time.Minute, ForEnd: true})
			require.NoError(t, err)
			require.False(t, u.Running, "%q", got+u.Text)
			require.Contains(t, got+u.Text, tt.want)
		})
	}
}

// A program that reads keys receives only a few end-of-input characters.
func TestCloseAtKeysIsBounded(t *testing.T) {
	t.Parallel()
	s, b := startPatient(t, Command{Line: `stty raw -echo; echo ready; exec cat`, PTY: true}, time.Minute)
	await(t, s, b.id, "ready")
	require.NoError(t, s.Write(t.Context(), b.id, "", true))
	got := ""
	for strings.Count(got, endOfInput) < 3 {
		u, err := s.Read(t.Context(), b.id, ReadOptions{Wait: time.Minute})
		require.NoError(t, err)
		require.NotEmpty(t, u.ANSI, "%q", got)
		got += u.ANSI
	}
	require.Equal(t, 3, strings.Count(got, endOfInput))
	require.True(t, s.List()[0].Running)
	terminal := b.child.terminal
	terminal.stopFeeding()
	require.Zero(t, terminal.keys)
	require.False(t, terminal.offerEnd(false))
}
