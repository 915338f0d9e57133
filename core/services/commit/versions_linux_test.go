package commit

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/fettle-dev/fettle/core/fault"
)

// versionText is a version of the target that contains its own name and that of the version that
// its writer had read. Its length varies, so that a save in place truncates.
func versionText(id, parent string) []byte {
	body := fmt.Sprintf("%s %s\n%s", id, parent, strings.Repeat("a line of "+id+"\n", 300+len(id)*7%60))
	return []byte(sumOf([]byte(body))[:hashChars] + " " + body)
}

// parseVersion returns the names in a complete version.
func parseVersion(data []byte) (id, parent string, whole bool) {
	sum, body, _ := strings.Cut(string(data), " ")
	if sum != sumOf([]byte(body))[:hashChars] {
		return "", "", false
	}
	line, _, _ := strings.Cut(body, "\n")
	id, parent, _ = strings.Cut(line, " ")
	return id, parent, true
}

// saveVersions is an editor: it reads the target, makes its own version of it and saves that, a
// number of times. Editors take turns, so that none of them overwrites another; the file of turns
// counts their saves. It prints "save ID PARENT MICROSECONDS" with the duration of the save.
func saveVersions(args []string) error {
	directory, target, turns, kind, pace := args[1], args[2], args[3], args[4], duration(args[5])
	count, err := strconv.Atoi(args[6])
	if err != nil {
		return err
	}
	var out bytes.Buffer // printed at the end, when the test reads it
	defer func() { out.WriteTo(os.Stdout) }()
	lock, err := os.OpenFile(turns, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer lock.Close()
	temp := filepath.Join(directory, "editor-"+kind+".tmp")
	for range count {
		err := saveVersion(&out, lock, target, kind, temp)
		if err != nil {
			return err
		}
		time.Sleep(rand.N(pace)) // its user types
	}
	return nil
}

func saveVersion(out io.Writer, lock *os.File, target, kind, temp string) error {
	if err := retry(func() error { return unix.Flock(int(lock.Fd()), unix.LOCK_EX) }); err != nil {
		return err
	}
	defer unix.Flock(int(lock.Fd()), unix.LOCK_UN)
	counted, err := io.ReadAll(io.NewSectionReader(lock, 0, 20))
	if err != nil {
		return err
	}
	turn, _ := strconv.Atoi(string(counted)) // 0 at first
	turn++
	base, err := os.ReadFile(target)
	if err != nil {
		return err
	}
	parent, _, whole := parseVersion(base)
	if !whole {
		fmt.Fprintln(out, "torn")
		return nil
	}
	id := "E" + strconv.Itoa(turn)
	data := versionText(id, parent)
	start := time.Now()
	switch kind {
	case "rename":
		if err = os.WriteFile(temp, data, 0o644); err == nil {
			err = os.Rename(temp, target)
		}
	case "truncate":
		err = os.WriteFile(target, data, 0o644)
	default:
		err = overwriteFile(target, data)
	}
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "save", id, parent, time.Since(start).Microseconds())
	_, err = lock.WriteAt(strconv.AppendInt(nil, int64(turn), 10), 0)
	return err
}

func overwriteFile(name string, data []byte) error {
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.WriteAt(data, 0); err != nil {
		return err
	}
	return f.Truncate(int64(len(data)))
}

// writeVersions commits versions with fettle until it is stopped, each based on the content at the
// path. It prints "acked" or "refused" with ID, PARENT, the method or reason, and the files that
// were reported as kept.
func writeVersions(args []string) error {
	directory, target, name := args[1], args[2], args[3]
	dir, err := os.Open(directory)
	if err != nil {
		return err
	}
	defer dir.Close()
	var out bytes.Buffer
	defer func() { out.WriteTo(os.Stdout) }()
	c := New(Options{})
	return untilStopped(func(i int) error {
		base, err := os.ReadFile(target)
		if err != nil {
			return err
		}
		parent, _, whole := parseVersion(base)
		if !whole {
			return nil // an editor is saving in place
		}
		id := name + "-" + strconv.Itoa(i)
		result, err := c.Commit(context.Background(), Request{
			Dir: dir, Name: filepath.Base(target), Path: target, Data: versionText(id, parent), Base: sumOf(base), BaseSize: int64(len(base)),
		})
		verb, how := "acked", string(result.Method)
		if err != nil {
			if fault.CodeOf(err) != fault.FileChangedSinceRead {
				return err
			}
			verb, how = "refused", string(fault.As(err).Reason)
		}
		fmt.Fprintln(&out, verb, id, parent, how, strings.Join(result.KeptFiles, " "))
		return nil
	})
}

// history is the output of editors and writers about their versions.
type history struct {
	parent map[string]string
	saves  []string // of the editors, in the order of their turns
	acked  []string
	kept   map[string]bool // versions in files that were reported, and their base versions
	final  string
}

// turn returns the number of an editor's save, 0 for other versions.
func turn(id string) int {
	n, _ := strconv.Atoi(strings.TrimPrefix(id, "E"))
	return n
}

// survivors returns the final version and all its ancestors.
func (h *history) survivors() map[string]bool {
	there := map[string]bool{}
	for id := h.final; id != ""; id = h.parent[id] {
		there[id] = true
	}
	return there
}

// gone returns the saves that are not ancestors of the final version. Each editor reads after the
// previous one has saved, so none of them overwrote another: fettle replaced these versions, or
// showed an older one. kept are those in a reported file.
func (h *history) gone() (kept, lost []string) {
	there := h.survivors()
	for _, save := range h.saves {
		switch {
		case there[save]:
		case h.kept[save]:
			kept = append(kept, save)
		default:
			lost = append(lost, save)
		}
	}
	return kept, lost
}

// dropped classifies the acknowledged commits that are not ancestors of the final version. An
// editor overwrote one if it saved a text that it had read before: only acknowledged commits lie
// between the version that it read and this one.
func (h *history) dropped() (overwritten, lost []string) {
	there := h.survivors()
	read := map[string]bool{} // versions that an editor's save is based on
	for _, save := range h.saves {
		read[h.parent[save]] = true
	}
	acked := map[string]bool{}
	for _, id := range h.acked {
		acked[id] = true
	}
	for _, commit := range h.acked {
		if there[commit] {
			continue
		}
		base := h.parent[commit]
		for !read[base] && acked[base] {
			base = h.parent[base]
		}
		if read[base] {
			overwritten = append(overwritten, commit)
		} else {
			lost = append(lost, commit)
		}
	}
	return overwritten, lost
}

// TestEditorsBesideWriters runs eight processes that commit to one file next to editors that save
// by rename, by truncating and in place, each of which reads the file before it saves. It counts
// the saves that fettle displaced, kept next to the file or lost, and the commits that were lost.
func TestEditorsBesideWriters(t *testing.T) { // KH-02, FS-58, FS-59, FS-60, FS-66, TE-08
	fx := newFixture(t, "")
	require.NoError(t, os.WriteFile(fx.file, versionText("start", ""), 0o644))
	each := number(60, 17_000)
	turns := filepath.Join(t.TempDir(), "turns")
	var writers, editors []*child
	for i := range 8 {
		writers = append(writers, startRole(t, "writer", fx.path, fx.file, "W"+strconv.Itoa(i)))
	}
	for _, kind := range []string{"rename", "truncate", "in-place"} {
		editors = append(editors, startRole(t, "saver", fx.path, fx.file, turns, kind, "8ms", strconv.Itoa(each)))
	}
	h := &history{parent: map[string]string{}, kept: map[string]bool{}, saves: make([]string, 3*each)}
	torn, tried := 0, 0
	var slowest, total int
	for _, e := range editors {
		for _, line := range e.end(true) {
			if line[0] == "torn" {
				torn++
				continue
			}
			h.parent[line[1]] = line[2]
			h.saves[turn(line[1])-1] = line[1]
			took, err := strconv.Atoi(line[3])
			require.NoError(t, err)
			slowest, total = max(slowest, took), total+took
		}
	}
	require.Zero(t, torn, "an editor read a mixture")
	reported := map[string]bool{}
	refused := map[string]int{}
	for _, w := range writers {
		for _, line := range w.stop() {
			tried++
			h.parent[line[1]] = line[2]
			if line[0] == "acked" {
				h.acked = append(h.acked, line[1])
			} else {
				refused[line[3]]++
			}
			for _, path := range line[4:] {
				reported[filepath.Base(path)] = true
			}
		}
	}
	id, _, whole := parseVersion([]byte(fx.content()))
	require.True(t, whole)
	h.final = id
	var unreported []string
	for _, name := range fx.names() {
		if name == filepath.Base(fx.file) {
			continue
		}
		if !reported[name] {
			unreported = append(unreported, name)
		}
		data, err := os.ReadFile(filepath.Join(fx.path, name))
		require.NoError(t, err)
		for id, _, _ := parseVersion(data); id != ""; id = h.parent[id] {
			h.kept[id] = true
		}
	}
	refusedTexts := 0
	isAcked := map[string]bool{"start": true}
	for _, id := range h.acked {
		isAcked[id] = true
	}
	for _, save := range h.saves {
		if p := h.parent[save]; turn(p) == 0 && !isAcked[p] {
			refusedTexts++
		}
	}
	keptSaves, lostSaves := h.gone()
	overwritten, lostCommits := h.dropped()
	t.Logf("%d saves of editors: %d displaced and kept, %d lost %v; %d saved a text with a refused change; a save took %d µs on average, %d µs at most",
		len(h.saves), len(keptSaves), len(lostSaves), lostSaves, refusedTexts, total/len(h.saves), slowest)
	t.Logf("%d commits tried: %d acknowledged, refused %v; %d overwritten by an editor that had read before, %d lost %v; %d files reported as kept, unreported %v",
		tried, len(h.acked), refused, len(overwritten), len(lostCommits), lostCommits, len(reported), unreported)
	require.NotEmpty(t, h.acked)
	require.Empty(t, unreported)
	require.Empty(t, lostCommits)
	require.Empty(t, lostSaves)
	require.LessOrEqual(t, len(keptSaves), len(h.saves)*2/10_000+1)
}
