package commit

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
)

// ledger records the versions that fettle found at the path.
type ledger struct {
	acked   map[string]bool // versions of fettle, acknowledged
	based   map[string]bool // their base versions
	kept    map[string]bool // versions reported as kept
	refused map[fault.Reason]int
}

// commitRounds has fettle change the target repeatedly, from its current content, next to the
// editors; then it stops these and returns their output.
func commitRounds(t testing.TB, c *Committer, fx *fixture, rounds int, editors ...*child) (*ledger, [][]string) {
	t.Helper()
	l := &ledger{acked: map[string]bool{}, based: map[string]bool{}, kept: map[string]bool{}, refused: map[fault.Reason]int{}}
	var keptFiles []string
	for i := range rounds {
		base, err := os.ReadFile(fx.file)
		require.NoError(t, err)
		id := "F" + strconv.Itoa(i)
		r := fx.request("", id)
		r.Base = sumOf(base)
		out, err := c.Commit(t.Context(), r)
		keptFiles = append(keptFiles, out.KeptFiles...)
		if err != nil {
			require.Equal(t, fault.FileChangedSinceRead, fault.CodeOf(err), "%v", err)
			l.refused[fault.As(err).Reason]++
			continue
		}
		l.acked[id] = true
		l.based[strings.TrimSpace(string(base))] = true
	}
	var lines [][]string
	for _, e := range editors {
		lines = append(lines, e.stop()...)
	}
	for _, path := range keptFiles { // no process writes to them any more
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		l.kept[strings.TrimSpace(string(data))] = true
	}
	return l, lines
}

// TestBesideRenamingEditor checks every save of an editor: it was the base of an acknowledged
// commit, or was displaced by the editor's own next save, or is present; and so is every
// acknowledged commit.
func TestBesideRenamingEditor(t *testing.T) { // FS-59, TE-08
	fx := newFixture(t, "start")
	rounds := number(300, 100_000)
	editor := startRole(t, "rename-editor", fx.path, fx.file, "2ms")
	l, lines := commitRounds(t, New(Options{}), fx, rounds, editor)
	displaced := map[string]bool{}
	for _, line := range lines {
		displaced[line[2]] = true
	}
	final := strings.TrimSpace(fx.content())
	safe := func(id string) bool { return displaced[id] || l.based[id] || l.kept[id] || id == final }
	lostSaves, lostCommits, overwritten := 0, 0, 0
	for _, line := range lines {
		if !safe(line[1]) {
			lostSaves++
		}
	}
	for id := range l.acked {
		if !safe(id) {
			lostCommits++
		}
		if displaced[id] {
			overwritten++
		}
	}
	t.Logf("%d rounds: %d acknowledged, refused %v; %d saves of the editor, %d kept beside; lost by fettle: %d saves, %d commits; the editor's stale saves overwrote %d commits",
		rounds, len(l.acked), l.refused, len(lines), len(l.kept), lostSaves, lostCommits, overwritten)
	require.NotZero(t, len(l.acked))
	require.NotZero(t, l.refused[fault.Changed], "the editor never came in between")
	require.Zero(t, lostSaves)
	require.Zero(t, lostCommits)
}

// TestBesideInPlaceEditor checks that no save ends up in a file that fettle judged to be the base
// and dropped.
func TestBesideInPlaceEditor(t *testing.T) { // FS-59, TE-08
	for _, role := range []string{"truncate-editor", "slow-editor"} {
		t.Run(role, func(t *testing.T) {
			fx := newFixture(t, "start")
			rounds := number(60, 100_000)
			s := &leaseCounter{system: kernel{}}
			l, lines := commitRounds(t, newOn(s, Options{}), fx, rounds, startRole(t, role, fx.path, fx.file, "2ms"))
			lost := 0
			for _, line := range lines {
				if !l.based[line[1]] && !l.kept[line[1]] {
					lost++
				}
			}
			t.Logf("%d rounds: %d acknowledged, refused %v, %d kept beside; lost by fettle: %d saves; leases found broken before the name was removed: %d, after it: %d",
				rounds, len(l.acked), l.refused, len(l.kept), lost, s.before, s.after)
			require.NotZero(t, len(l.acked))
			require.Zero(t, lost)
		})
	}
}

// leaseCounter counts the leases that were broken after they were granted.
type leaseCounter struct {
	system
	removed       bool
	before, after int
}

func (s *leaseCounter) lease(f *os.File, exclusive bool) error {
	s.removed = false
	return s.system.lease(f, exclusive)
}

func (s *leaseCounter) remove(dir *os.File, name string) error {
	s.removed = true
	return s.system.remove(dir, name)
}

func (s *leaseCounter) leaseHeld(f *os.File) bool {
	held := s.system.leaseHeld(f)
	switch {
	case held:
	case s.removed:
		s.after++
	default:
		s.before++
	}
	return held
}

// TestReaders checks that a process that opens the file during a thousand commits reads one
// complete version, and never an older one after a newer one.
func TestReaders(t *testing.T) { // FS-58
	for _, method := range []Method{MethodExchange, MethodLink, MethodRename} {
		t.Run(string(method), func(t *testing.T) {
			fx := newFixture(t, version(0))
			c := newOn(noSync{methods[method]}, Options{Settle: -1})
			done := make(chan int)
			stop := make(chan struct{})
			go func() {
				reads, last := 0, 0
				defer func() { done <- reads }()
				for {
					select {
					case <-stop:
						return
					default:
					}
					data, err := os.ReadFile(fx.file)
					n := numberOf(string(data))
					if err != nil || n < last {
						t.Errorf("after version %d: read %d bytes, version %d, %v", last, len(data), n, err)
						return
					}
					last = n
					reads++
				}
			}()
			commits := number(150, 5000)
			if method != MethodExchange {
				commits = number(50, 1000)
			}
			for n := range commits {
				_, err := c.Commit(t.Context(), fx.request(version(n), version(n+1)))
				require.NoError(t, err)
			}
			close(stop)
			t.Logf("%d commits, %d reads", commits, <-done)
		})
	}
}
