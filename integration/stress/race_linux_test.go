package stress

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/fettle-dev/fettle/core/fault"
)

// The file of the race contains a counter for each participant, the name of the save
// that wrote it, and a checksum, so that every saved state is unique and a torn one
// is detected. All states have the same size.
const (
	target   = "target"
	patchers = 8
	start0   = "start#0000000"
	program  = "P" // see files_linux_test.go
)

var owners = func() []string {
	all := []string{"R", "I"}
	for i := range patchers {
		all = append(all, "F"+strconv.Itoa(i))
	}
	return append(all, program)
}()

// state is one content of the file.
type state struct {
	counters map[string]int
	save     string
	apart    bool // see rebase_linux_test.go
}

func (s state) text() string {
	if s.apart {
		return s.sections()
	}
	var b strings.Builder
	for _, o := range owners {
		fmt.Fprintf(&b, "%-5s %07d\n", o, s.counters[o])
	}
	fmt.Fprintf(&b, "saved by %s\n", s.save)
	return b.String() + "sum " + sumOf([]byte(b.String())) + "\n"
}

// next returns the state that an owner saves after s, in its n-th attempt.
func (s state) next(owner string, n int) state {
	if s.apart {
		return s.with(owner, n)
	}
	next := state{counters: maps.Clone(s.counters), save: fmt.Sprintf("%s#%0*d", owner, len(start0)-len(owner)-1, n)}
	next.counters[owner]++
	return next
}

// parse parses a content; ok is false if it is torn.
func parse(content []byte) (s state, ok bool) {
	if bytes.HasPrefix(content, []byte(apartMark)) {
		return parseSections(string(content))
	}
	s.counters = map[string]int{}
	for line := range strings.Lines(string(content)) {
		var owner string
		var n int
		if c, _ := fmt.Sscanf(line, "saved by %s\n", &owner); c == 1 {
			s.save = owner
		} else if c, _ := fmt.Sscanf(line, "%s %d\n", &owner, &n); c == 2 {
			s.counters[owner] = n
		}
	}
	return s, s.text() == string(content)
}

// diffTo returns a diff with one hunk for the owner's counter and one for the end,
// with useless line numbers as a model writes them.
func (s state) diffTo(next state, owner string) string {
	olds, news := strings.Split(s.text(), "\n"), strings.Split(next.text(), "\n")
	i, n := slices.Index(owners, owner), len(owners)
	var b strings.Builder
	b.WriteString("--- a/target\n+++ b/target\n@@ -1,1 +1,1 @@\n")
	for _, l := range olds[max(0, i-1):i] {
		b.WriteString(" " + l + "\n")
	}
	fmt.Fprintf(&b, "-%s\n+%s\n@@ -1,1 +1,1 @@\n", olds[i], news[i])
	fmt.Fprintf(&b, "-%s\n-%s\n+%s\n+%s\n", olds[n], olds[n+1], news[n], news[n+1])
	return b.String()
}

// patchCounter increments its counter with safe_patch in a loop. After a refusal it
// continues with the state object in the refusal. It prints
//
//	try SAVE BASE    before each call
//	ack SAVE         when the call succeeded
//	kept FILE        for each file reported as kept next to the target
//	half             when the shown content was half written by an editor
//	reread           when the refusal contained no usable state
func patchCounter(args []string) error {
	owner := args[2]
	a, err := newAgent(args[0], args[1])
	if err != nil {
		return err
	}
	shown, err := a.read(target)
	if err != nil {
		return err
	}
	return untilStopped(func(n int, out io.Writer) error {
		if shown.Content == nil {
			fmt.Fprintln(out, "reread")
			if shown, err = a.read(target); err != nil {
				return err
			}
		}
		base, ok := parse([]byte(*shown.Content))
		if !ok { // an editor was writing, within the resolution of file times
			fmt.Fprintln(out, "half")
			shown.Content = nil
			return nil
		}
		next := base.next(owner, n)
		fmt.Fprintln(out, "try", next.save, base.save)
		report, r, err := a.patch(target, base.diffTo(next, owner), *shown.SHA256)
		if err != nil {
			return err
		}
		for _, name := range report.KeptFiles {
			fmt.Fprintln(out, "kept", name)
		}
		switch {
		case report.Success:
			fmt.Fprintln(out, "ack", next.save)
			if *report.LatestFileState.Content != next.text() {
				return fmt.Errorf("acknowledged is %q", *report.LatestFileState.Content)
			}
		case r.Result.Error.Code != fault.FileChangedSinceRead:
			return r.Result.Error
		}
		shown = report.LatestFileState
		return nil
	})
}

// editByRename is an editor that loads the file, waits for its user, and exchanges a
// new file with the file that is at the path then. It reads the displaced file when
// no process writes to it any more. It prints "save SAVE BASE DISPLACED
// renamed". It stops after the given number of saves, if any.
func editByRename(args []string) error {
	path, temp := filepath.Join(args[0], target), filepath.Join(args[0], ".editor.tmp")
	pace, most, err := editorArgs(args)
	if err != nil {
		return err
	}
	return untilStopped(func(n int, out io.Writer) error {
		if n > most {
			return errDone
		}
		base, err := load(path)
		if err != nil {
			return err
		}
		time.Sleep(rand.N(pace)) // its user types
		next := base.next("R", n)
		if err := os.WriteFile(temp, []byte(next.text()), 0o644); err != nil {
			return err
		}
		if err := unix.Renameat2(unix.AT_FDCWD, temp, unix.AT_FDCWD, path, unix.RENAME_EXCHANGE); err != nil {
			return err
		}
		displaced, err := os.Open(temp)
		if err != nil {
			return err
		}
		defer displaced.Close()
		for { // until the other editor has closed it
			_, err := unix.FcntlInt(displaced.Fd(), unix.F_SETLEASE, unix.F_RDLCK)
			if err == nil {
				break
			}
			if err != unix.EAGAIN { //nolint:errorlint // a bare errno
				return err
			}
			time.Sleep(time.Millisecond)
		}
		content, err := io.ReadAll(displaced)
		if err != nil {
			return err
		}
		was, ok := parse(content)
		switch {
		case !ok && next.apart && len(content) == 0:
			was.save = emptied
		case !ok:
			return fmt.Errorf("displaced a torn file: %q", content)
		}
		fmt.Fprintln(out, "save", next.save, base.save, was.save, "renamed")
		return os.Remove(temp)
	})
}

// editorArgs returns the longest time between two saves of an editor and the number
// of its saves.
func editorArgs(args []string) (pace time.Duration, most int, err error) {
	if pace, err = time.ParseDuration(args[1]); err != nil || len(args) < 3 {
		return pace, math.MaxInt, err
	}
	most, err = strconv.Atoi(args[2])
	return pace, most, err
}

// editInPlace is an editor that loads the file, waits for its user, and writes into
// the file that is at the path then. It prints "save SAVE BASE DISPLACED", and stops
// as [editByRename] does.
func editInPlace(args []string) error {
	path := filepath.Join(args[0], target)
	pace, most, err := editorArgs(args)
	if err != nil {
		return err
	}
	return untilStopped(func(n int, out io.Writer) error {
		if n > most {
			return errDone
		}
		base, err := load(path)
		if err != nil {
			return err
		}
		time.Sleep(rand.N(pace)) // its user types
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			return err
		}
		defer f.Close()
		content, err := io.ReadAll(f)
		if err != nil {
			return err
		}
		was, ok := parse(content)
		if !ok {
			return fmt.Errorf("about to write over a torn file: %q", content)
		}
		next := base.next("I", n)
		if next.apart {
			if err := f.Truncate(0); err != nil {
				return err
			}
		}
		if _, err := f.WriteAt([]byte(next.text()), 0); err != nil {
			return err
		}
		fmt.Fprintln(out, "save", next.save, base.save, was.save)
		return f.Close()
	})
}

// load reads the file until it is whole, because the editor in place may be writing.
func load(path string) (state, error) {
	for begun := time.Now(); ; runtime.Gosched() {
		content, err := os.ReadFile(path)
		if err != nil {
			return state{}, err
		}
		s, ok := parse(content)
		if ok {
			return s, nil
		}
		if time.Since(begun) > 10*time.Second {
			return s, fmt.Errorf("torn and never repaired: %q", content)
		}
	}
}

// readForever reads in a loop. It prints "read COUNT", and for a torn file "busy" if
// a process was writing into it, which fettle never does, otherwise "torn".
func readForever(args []string) error {
	path := filepath.Join(args[0], target)
	reads := 0
	err := untilStopped(func(_ int, out io.Writer) error {
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		reads++
		var buf [4096]byte
		for tries := 0; ; tries++ {
			n, err := f.ReadAt(buf[:], 0)
			if err != nil && err != io.EOF { //nolint:errorlint // ReadAt's own
				return err
			}
			_, ok := parse(buf[:n])
			switch {
			case ok && tries > 0:
				fmt.Fprintln(out, "busy")
				return nil
			case ok:
				return nil
			case tries == 1000:
				fmt.Fprintln(out, "torn")
				return nil
			}
		}
	})
	fmt.Println("read", reads)
	return err
}

// record holds the reports of the processes of a race.
type record struct {
	upon    map[string]string // by save: the replaced save, for attempts, acknowledged saves and editors
	base    map[string]string // by editor's save: the save it was loaded from
	acked   []string
	edited  []string
	renamed []string // those of the editor by rename
	kept    []string
	counts  map[string]int // lines of other kinds
}

func (r *record) add(t *testing.T, lines [][]string) {
	t.Helper()
	for _, l := range lines {
		switch l[0] {
		case "try":
			r.upon[l[1]] = l[2]
			r.counts["calls"]++
		case "ack":
			r.acked = append(r.acked, l[1])
		case "save":
			r.upon[l[1]], r.base[l[1]] = l[3], l[2]
			r.edited = append(r.edited, l[1])
			if len(l) > 4 {
				r.renamed = append(r.renamed, l[1])
			}
		case "kept":
			r.kept = append(r.kept, l[1])
		case "read":
			n, err := strconv.Atoi(l[1])
			require.NoError(t, err)
			r.counts["reads"] += n
		default:
			r.counts[l[0]]++
		}
	}
}

// FS-58 to FS-61, KH-09: eight processes increment their counters in one file with
// safe_patch, each in its own session and recovering from refusals with their
// content, concurrently with an editor that saves by rename, one that saves in place,
// and a reader. Afterwards every save is traced from the last state to the first:
// each replaced the previous one.
//
// An editor that saves an older state resets the counters of other processes. Those
// saves are counted separately; the test is about saves that were replaced without
// having been seen.
func TestEditorsAndPatchers(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, target)
	first := state{counters: map[string]int{}, save: start0}
	for _, o := range owners {
		first.counters[o] = 0
	}
	require.NoError(t, os.WriteFile(path, []byte(first.text()), 0o644))

	reader := start(t, "reader", dir)
	all := []*process{
		start(t, "editor by rename", dir, "12ms"),
		start(t, "editor in place", dir, "12ms"),
	}
	for _, o := range owners[len(all) : len(all)+patchers] {
		all = append(all, start(t, "patcher", dir, t.TempDir(), o))
	}
	for _, p := range append(all, reader) {
		p.ready()
	}
	time.Sleep(time.Duration(number(1000, 180_000)) * time.Millisecond) // duration of the race
	r := &record{upon: map[string]string{}, base: map[string]string{}, counts: map[string]int{}}
	for _, p := range all {
		r.add(t, p.stop())
	}
	r.add(t, reader.stop())

	content, err := os.ReadFile(path)
	require.NoError(t, err)
	last, ok := parse(content)
	require.True(t, ok)
	history := r.history(t, start0, last.save)
	beside := map[string]bool{} // by saves that fettle kept
	for _, save := range r.leftFiles(t, dir) {
		maps.Copy(beside, r.history(t, start0, save))
	}

	for _, save := range r.acked {
		require.True(t, history[save], "the acknowledged write %s is lost", save)
	}
	byOther, kept := 0, 0
	for _, save := range r.edited {
		switch {
		case history[save]:
		case beside[save]:
			kept++
		default:
			byOther++
			require.True(t, r.displacedByRename(save), "fettle lost the editor's save %s, based on %s", save, r.upon[save])
		}
	}
	stale := 0
	for save, base := range r.base {
		if history[save] && r.upon[save] != base {
			stale++
		}
	}
	require.Zero(t, r.counts["torn"])
	require.NotEmpty(t, r.acked)
	require.NotEmpty(t, r.edited)
	t.Logf("%d calls, %d acknowledged, all in the history of the file, which has %d states; %d editors' saves, of which %d led to files that fettle kept next to the target "+
		"and %d the editors lost to each other; %d saves of something loaded earlier; %d reads, %d of a file that an editor was writing into; %d times content was half an editor's, %d times it was read again",
		r.counts["calls"], len(r.acked), len(history), len(r.edited), kept, byOther, stale, r.counts["reads"], r.counts["busy"], r.counts["half"], r.counts["reread"])
}

// history returns the saves that led from the first state to a save: each replaced the
// previous one.
func (r *record) history(t *testing.T, first, save string) map[string]bool {
	t.Helper()
	seen := map[string]bool{}
	for ; save != first; save = r.upon[save] {
		require.NotEmpty(t, save)
		require.False(t, seen[save], "%s comes before itself", save)
		seen[save] = true
	}
	return seen
}

// leftFiles returns the saves next to the target, in files that fettle reported;
// there must be no others.
func (r *record) leftFiles(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	var saves []string
	for _, e := range entries {
		if e.Name() == target {
			continue
		}
		path := filepath.Join(dir, e.Name())
		content, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Contains(t, r.kept, path, "an unreported file was left: %q", content)
		s, ok := parse(content)
		require.True(t, ok, "%s holds %q", e.Name(), content)
		saves = append(saves, s.save)
	}
	return saves
}

// displacedByRename reports whether the editor by rename replaced the file that an
// editor's save was written into without having seen that save: then that editor lost
// it.
func (r *record) displacedByRename(save string) bool {
	return slices.ContainsFunc(r.renamed, func(other string) bool { return other != save && r.upon[other] == r.upon[save] })
}
