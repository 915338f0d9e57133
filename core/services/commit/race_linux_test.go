package commit

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/fettle-dev/fettle/core/fault"
)

// Programs beside fettle run as processes of their own: the test binary again,
// with roleVar naming what it is to do.
const roleVar = "FETTLE_COMMIT_ROLE"

var roles = map[string]func(args []string) error{
	"rename-editor":   editByRename,
	"truncate-editor": editInPlace,
	"slow-editor":     editInPlace,
}

func TestMain(m *testing.M) {
	role := os.Getenv(roleVar)
	if role == "" {
		os.Exit(m.Run())
	}
	if err := roles[role](append([]string{role}, strings.Fields(os.Getenv(roleVar+"_ARGS"))...)); err != nil {
		fmt.Fprintln(os.Stderr, role+":", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// full says that the numbers of the full run are asked for.
func full() bool { return os.Getenv("FETTLE_FULL") == "1" }

func number(small, large int) int {
	if full() {
		return large
	}
	return small
}

// child is a process in a role. It runs until its standard input is closed.
type child struct {
	t     testing.TB
	cmd   *exec.Cmd
	stdin io.Closer
	out   bytes.Buffer
}

func startRole(t testing.TB, role string, args ...string) *child {
	t.Helper()
	c := &child{t: t, cmd: exec.Command(os.Args[0])}
	c.cmd.Env = append(os.Environ(), roleVar+"="+role, roleVar+"_ARGS="+strings.Join(args, " "))
	c.cmd.Stdout = &c.out
	c.cmd.Stderr = os.Stderr
	stdin, err := c.cmd.StdinPipe()
	require.NoError(t, err)
	c.stdin = stdin
	require.NoError(t, c.cmd.Start())
	return c
}

// stop ends the process and answers the lines it printed, split at blanks.
func (c *child) stop() [][]string {
	c.t.Helper()
	c.stdin.Close()
	require.NoError(c.t, c.cmd.Wait())
	var lines [][]string
	for line := range strings.Lines(c.out.String()) {
		lines = append(lines, strings.Fields(line))
	}
	return lines
}

// untilStopped calls f with 1, 2, 3 … until standard input is closed.
func untilStopped(f func(i int) error) error {
	done := make(chan struct{})
	go func() {
		io.Copy(io.Discard, os.Stdin)
		close(done)
	}()
	for i := 1; ; i++ {
		select {
		case <-done:
			return nil
		default:
			if err := f(i); err != nil {
				return err
			}
		}
	}
}

// spin passes up to d without giving up the processor for long.
func spin(d time.Duration) {
	for start := time.Now(); time.Since(start) < d; {
		runtime.Gosched()
	}
}

// editByRename saves without looking: a new file exchanged with the target, so
// that it knows what it displaced. It prints "over ID ID": its save and what
// that displaced.
func editByRename(args []string) error {
	folder, target, pace := args[1], args[2], duration(args[3])
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	temp := filepath.Join(folder, "editor.tmp")
	return untilStopped(func(i int) error {
		id := "R" + strconv.Itoa(i)
		if err := os.WriteFile(temp, []byte(id), 0o644); err != nil {
			return err
		}
		if err := unix.Renameat2(unix.AT_FDCWD, temp, unix.AT_FDCWD, target, unix.RENAME_EXCHANGE); err != nil {
			return err
		}
		was, err := os.ReadFile(temp)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "over %s %s\n", id, bytes.TrimSpace(was))
		spin(rand.N(pace))
		return os.Remove(temp)
	})
}

// editInPlace saves into the file that is at the path. It holds on to each
// file it wrote, and prints "dropped ID" if later the file has no name any
// more and still holds what was saved.
func editInPlace(args []string) error {
	target, pace := args[2], duration(args[3])
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	type save struct {
		id   string
		file *os.File
	}
	var saves []save
	judge := func(s save) error {
		defer s.file.Close()
		var st unix.Stat_t
		if err := unix.Fstat(int(s.file.Fd()), &st); err != nil {
			return err
		}
		data, err := io.ReadAll(&fileReader{f: s.file})
		if st.Nlink == 0 && string(bytes.TrimSpace(data)) == s.id {
			fmt.Fprintf(out, "dropped %s\n", s.id)
		}
		return err
	}
	flags, prefix := os.O_RDWR, "S"
	if args[0] == "truncate-editor" {
		flags, prefix = flags|os.O_TRUNC, "T"
	}
	err := untilStopped(func(i int) error {
		id := prefix + strconv.Itoa(i)
		f, err := os.OpenFile(target, flags, 0)
		if err != nil {
			return err
		}
		if prefix == "S" {
			spin(rand.N(pace))
		}
		if _, err := f.WriteAt(fmt.Appendf(nil, "%-20s", id), 0); err != nil {
			return err
		}
		if err := f.Truncate(20); err != nil {
			return err
		}
		watched, err := os.Open(fmt.Sprintf("/proc/self/fd/%d", f.Fd()))
		if err != nil {
			return err
		}
		if err := f.Close(); err != nil {
			return err
		}
		saves = append(saves, save{id, watched})
		if len(saves) > 200 {
			if err := judge(saves[0]); err != nil {
				return err
			}
			saves = saves[1:]
		}
		spin(rand.N(pace))
		return nil
	})
	for _, s := range saves {
		if err := judge(s); err != nil {
			return err
		}
	}
	return err
}

func duration(s string) time.Duration {
	d, err := time.ParseDuration(s)
	if err != nil {
		panic(err)
	}
	return d
}

// ledger is what became of each version that was ever at the path.
type ledger struct {
	t         testing.TB
	acked     []string        // fettle's own, in order
	based     map[string]bool // versions that an acknowledged commit was based on
	kept      map[string]bool // versions reported as kept
	keptFiles map[string]bool
	codes     map[fault.Reason]int
	methods   map[Method]int
	unexplain int
}

// commitRounds has fettle change the target again and again.
func commitRounds(t testing.TB, c *Committer, fx *fixture, rounds int) *ledger {
	l := &ledger{t: t, based: map[string]bool{}, kept: map[string]bool{}, keptFiles: map[string]bool{}, codes: map[fault.Reason]int{}, methods: map[Method]int{}}
	for i := range rounds {
		base, err := os.ReadFile(fx.file)
		require.NoError(t, err)
		id := "F" + strconv.Itoa(i)
		r := fx.request(string(base), id)
		r.Base = sumOf(base)
		out, err := c.Commit(t.Context(), r)
		l.keep(out)
		if err != nil {
			requireCodeOf(t, err, fault.FileChangedSinceRead)
			l.codes[fault.As(err).Reason]++
			continue
		}
		l.methods[out.Method]++
		l.acked = append(l.acked, id)
		l.based[strings.TrimSpace(string(base))] = true
	}
	return l
}

func requireCodeOf(t testing.TB, err error, code fault.Code) {
	t.Helper()
	require.Equal(t, code, fault.CodeOf(err), "%v", err)
}

func (l *ledger) keep(out Outcome) {
	for _, path := range out.Kept {
		l.keptFiles[path] = true
	}
}

func TestMeasureRaces(t *testing.T) {
	if os.Getenv("MEASURE") == "" {
		t.Skip("measurement")
	}
	folder := t.TempDir()
	if d := os.Getenv("MEASURE_DIR"); d != "" {
		var err error
		folder, err = os.MkdirTemp(d, "x")
		require.NoError(t, err)
		defer os.RemoveAll(folder)
	}
	rounds, _ := strconv.Atoi(os.Getenv("MEASURE"))
	fx := fixtureIn(t, folder, "start")
	pace := os.Getenv("MEASURE_PACE")
	if pace == "" {
		pace = "1ms"
	}
	settle := duration(os.Getenv("MEASURE_SETTLE") + "us")
	c := New(Options{Settle: settle})
	if os.Getenv("MEASURE_NOSYNC") != "" {
		c.system = noSync{kernel{}}
	}
	var kids []*child
	for _, role := range strings.Fields(os.Getenv("MEASURE_ROLES")) {
		kids = append(kids, startRole(t, role, folder, fx.file, pace))
	}
	start := time.Now()
	l := commitRounds(t, c, fx, rounds)
	took := time.Since(start)
	raw := map[*child][][]string{}
	for _, k := range kids {
		raw[k] = k.stop()
	}
	for path := range l.keptFiles {
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		l.kept[strings.TrimSpace(string(data))] = true
	}
	over, lostR, lostI, saves := map[string]bool{}, 0, 0, 0
	var ids []string
	for _, k := range kids {
		for _, line := range raw[k] {
			switch line[0] {
			case "over":
				ids = append(ids, line[1])
				if len(line) > 2 {
					over[line[2]] = true
				}
				saves++
			case "dropped":
				if !l.based[line[1]] && !l.kept[line[1]] && !over[line[1]] {
					lostI++
					t.Log("lost in place", line)
				}
			}
		}
	}
	final := strings.TrimSpace(fx.content())
	for _, id := range ids {
		if !over[id] && !l.based[id] && !l.kept[id] && id != final {
			lostR++
			t.Log("lost", id)
		}
	}
	t.Logf("rounds %d in %v (%v each): acked %d refused %v kept %d; rename saves %d lost %d; in place lost %d", rounds, took, took/time.Duration(rounds), len(l.acked), l.codes, len(l.kept), saves, lostR, lostI)
	t.Log(len(fx.names()))
}

type noSync struct{ kernel }

func (noSync) sync(*os.File) error { return nil }
