package stress

import (
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/fault"
)

// The file of the race with rebases has a section for each participant, with a line
// that contains the number of the attempt that wrote it. The sections of the editors
// vary in length. So a change of one section carries over to changes of others, a
// number is written once, and a state is identified by its numbers.
const apartMark = "sections apart\n"

// emptied stands for the state that the editor by rename has replaced, if the file
// that it displaced was empty. That was a new file which fettle was about to undo. It
// then has the bytes of the target, which the other editor has truncated and not yet
// written.
const emptied = "emptied"

// more returns the number of additional lines in an editor's section.
func more(owner string, n int) int {
	if owner == "R" || owner == "I" {
		return n % 4
	}
	return 0
}

// marker returns the line of an owner's attempt.
func marker(owner string, n int) string { return fmt.Sprintf("%s = %07d\n", owner, n) }

func (s state) sections() string {
	var b strings.Builder
	b.WriteString(apartMark)
	for _, o := range owners {
		fmt.Fprintf(&b, "%s 1\n%s 2\n", o, o)
		b.WriteString(marker(o, s.counters[o]))
		for i := range more(o, s.counters[o]) {
			fmt.Fprintf(&b, "%s %07d more %d\n", o, s.counters[o], i)
		}
		fmt.Fprintf(&b, "%s 3\n%s 4\n", o, o)
	}
	return b.String()
}

// with returns the state with another number of an owner.
func (s state) with(owner string, n int) state {
	next := state{counters: maps.Clone(s.counters), apart: true}
	next.counters[owner] = n
	var all []string
	for _, o := range owners {
		all = append(all, strconv.Itoa(next.counters[o]))
	}
	next.save = strings.Join(all, ",")
	return next
}

func parseSections(content string) (s state, ok bool) {
	s.counters = map[string]int{}
	for line := range strings.Lines(content) {
		owner, number, found := strings.Cut(strings.TrimSuffix(line, "\n"), " = ")
		if n, err := strconv.Atoi(number); found && err == nil {
			s.counters[owner] = n
		}
	}
	s = s.with("R", s.counters["R"])
	return s, s.text() == content
}

// parseSave returns the state with a name.
func parseSave(save string) (s state, ok bool) {
	numbers := strings.Split(save, ",")
	if len(numbers) != len(owners) {
		return s, false
	}
	s.counters = map[string]int{}
	for i, o := range owners {
		n, err := strconv.Atoi(numbers[i])
		if err != nil {
			return s, false
		}
		s.counters[o] = n
	}
	return s.with("R", s.counters["R"]), true
}

var carriedFrom = regexp.MustCompile(`Another writer had changed the file from base ([0-9a-f]{64}) to ([0-9a-f]{64})\.`)

// patchSection writes the numbers of its attempts into its section with safe_patch,
// in a session with rebase. After a refusal it continues with the state object in the
// refusal. It fails if an acknowledged state is not the reported base with its own
// change, and only that. It prints
//
//	number OWNER N BEFORE   before each call: N replaces BEFORE
//	carried SAVE BASE       when the call succeeded for a later base
//	direct SAVE BASE        when it succeeded for the base of the diff
//	kept, half, reread      as patchCounter does
func patchSection(args []string) error {
	owner := args[2]
	a, err := newAgent(args[0], args[1], func(p *config.Parameters) { p.Session.StaleEdits = "rebase" })
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
		seen, ok := parse([]byte(*shown.Content))
		if !ok {
			fmt.Fprintln(out, "half")
			shown.Content = nil
			return nil
		}
		fmt.Fprintln(out, "number", owner, n, seen.counters[owner])
		base := *shown.SHA256
		report, r, err := a.patch(target, "@@ @@\n-"+marker(owner, seen.counters[owner])+"+"+marker(owner, n), base)
		if err != nil {
			return err
		}
		for _, name := range report.KeptFiles {
			fmt.Fprintln(out, "kept", name)
		}
		shown = report.LatestFileState
		if !report.Success {
			if r.Result.Error.Code != fault.FileChangedSinceRead {
				return r.Result.Error
			}
			return nil
		}
		how := "direct"
		if m := carriedFrom.FindStringSubmatch(shown.Notice); m != nil {
			if m[1] != base {
				return fmt.Errorf("the change was made for %s, and is reported as one for %s", base, m[1])
			}
			how, base = "carried", m[2]
		}
		if shown.Content == nil {
			return fmt.Errorf("no content in %s", r.Result.LLMContent.String())
		}
		after, ok := parse([]byte(*shown.Content))
		before := after.with(owner, seen.counters[owner])
		switch {
		case !ok || after.counters[owner] != n:
			return fmt.Errorf("acknowledged is %q", *shown.Content)
		case sumOf([]byte(before.text())) != base:
			return fmt.Errorf("%s is not base %s with the number %d of %s", after.save, base, n, owner)
		}
		fmt.Fprintln(out, how, after.save, before.save)
		return nil
	})
}

// apartRecord holds the reports of the processes of a race with rebases.
type apartRecord struct {
	record
	before map[string]map[int]int // by owner and number: the number that it replaces
}

func (r *apartRecord) add(t *testing.T, lines [][]string) {
	t.Helper()
	for _, l := range lines {
		switch l[0] {
		case "number":
			n, err := strconv.Atoi(l[2])
			require.NoError(t, err)
			before, err := strconv.Atoi(l[3])
			require.NoError(t, err)
			if r.before[l[1]] == nil {
				r.before[l[1]] = map[int]int{}
			}
			r.before[l[1]][n] = before
			r.counts["calls"]++
		case "carried", "direct":
			require.Empty(t, r.upon[l[1]], "two changes made the same state")
			r.upon[l[1]] = l[2]
			r.acked = append(r.acked, l[1])
			r.counts[l[0]]++
		default:
			r.record.add(t, [][]string{l})
		}
	}
}

// complete adds what the editors cannot report: the state that a save has replaced if
// the displaced file was empty, and the attempts that an editor displaced before fettle
// could undo them.
//
// After the former, fettle has kept the file that the other editor was writing, with
// the saves left. Both saves replaced the same state.
//
// Each of the latter is a known state with the number of a call that was refused.
func (r *apartRecord) complete(t *testing.T, first string, left []string) {
	t.Helper()
	successors := map[string]int{}
	for _, upon := range r.upon {
		successors[upon]++
	}
	var both []string // in the order of the saves, as those in r.renamed
	for _, save := range r.edited {
		if slices.Contains(left, save) && !slices.Contains(r.renamed, save) && successors[r.upon[save]] == 1 {
			both = append(both, r.upon[save])
		}
	}
	for _, save := range r.renamed {
		if r.upon[save] == emptied {
			require.NotEmpty(t, both, "it is unknown what the editor's save %s replaced", save)
			r.upon[save], both = both[0], both[1:]
			r.counts[emptied]++
		}
	}
	for _, save := range r.edited {
		for at := r.upon[save]; at != first && r.upon[at] == ""; at = r.upon[at] {
			s, ok := parseSave(at)
			require.True(t, ok)
			for _, owner := range owners {
				if before, tried := r.before[owner][s.counters[owner]]; tried {
					if base := s.with(owner, before); base.save == first || r.upon[base.save] != "" {
						r.upon[at] = base.save
						r.counts["displaced attempts"]++
					}
				}
			}
			require.NotEmpty(t, r.upon[at], "the editors' save %s replaced %s, which no process wrote", save, at)
		}
	}
}

// ST-09: eight sessions that rebase write into their sections of one file, concurrently
// with an editor that saves by rename and one that truncates the file and writes it.
// Neither editor cooperates: it saves what it has loaded earlier with its own change.
// Afterwards every save is traced from the last state to the first, as in
// TestEditorsAndPatchers. An acknowledged change is in this history once.
func TestEditorsAndRebases(t *testing.T) {
	writers := map[string]string{}
	for i := range patchers {
		writers[fmt.Sprint("F", i)] = "rebaser"
	}
	raceApart(t, writers)
}

// raceApart runs writers, roles by owner, beside the two editors.
func raceApart(t *testing.T, writers map[string]string) {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, target)
	first := state{counters: map[string]int{}}.with("R", 0)
	require.NoError(t, os.WriteFile(path, []byte(first.text()), 0o644))

	saves := number(300, 50_000) / 2
	editors := []*process{
		start(t, "editor by rename", dir, "12ms", strconv.Itoa(saves)),
		start(t, "editor in place", dir, "12ms", strconv.Itoa(saves)),
	}
	var sessions []*process
	for owner, role := range writers {
		sessions = append(sessions, start(t, role, dir, t.TempDir(), owner))
	}
	for _, p := range slices.Concat(editors, sessions) {
		p.ready()
	}
	r := &apartRecord{record{upon: map[string]string{}, base: map[string]string{}, counts: map[string]int{}}, map[string]map[int]int{}}
	for _, p := range editors {
		r.add(t, p.wait())
	}
	for _, p := range sessions {
		r.add(t, p.stop())
	}
	require.Len(t, r.edited, 2*saves)

	content, err := os.ReadFile(path)
	require.NoError(t, err)
	last, ok := parse(content)
	require.True(t, ok)
	left := r.leftFiles(t, dir)
	r.complete(t, first.save, left)
	history := r.history(t, first.save, last.save)
	beside := map[string]bool{} // by saves that fettle kept
	for _, save := range left {
		maps.Copy(beside, r.history(t, first.save, save))
	}
	lost, kept, byOther, stale := 0, 0, 0, 0
	for _, save := range r.acked {
		if !history[save] {
			lost++
			t.Errorf("the acknowledged change %s is lost", save)
		}
	}
	known := map[string]bool{first.save: true}
	for _, save := range slices.Concat(r.acked, r.edited) {
		require.False(t, known[save], "%s was written twice", save)
		known[save] = true
	}
	for _, save := range r.edited {
		require.True(t, known[r.base[save]], "an editor loaded %s, which was never acknowledged", r.base[save])
		switch {
		case history[save]:
			if r.upon[save] != r.base[save] {
				stale++
			}
		case beside[save]:
			kept++
		default:
			byOther++
			require.True(t, r.displacedByRename(save), "fettle lost the editor's save %s, made of %s", save, r.upon[save])
		}
	}
	t.Logf("%d editors' saves, %d of something loaded earlier; %d displaced by fettle, each kept and reported, %d by the other editor; "+
		"%d calls, %d changes acknowledged, %d of them carried over, %d lost; the file had %d states; %d displaced attempts, %d displaced files of a truncated target, %d times content was half an editor's, %d times it was read again",
		len(r.edited), stale, kept, byOther, r.counts["calls"], len(r.acked), r.counts["carried"], lost, len(history), r.counts["displaced attempts"], r.counts[emptied], r.counts["half"], r.counts["reread"])
	require.NotZero(t, r.counts["carried"])
	require.LessOrEqual(t, kept, max(1, len(r.edited)*2/10_000))
}
