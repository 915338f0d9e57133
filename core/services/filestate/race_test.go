package filestate

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/workspace"
)

// once runs do the first time that the window is open.
func (f *fixture) once(window string, do func()) {
	f.hook = func(w string, _ workspace.Path) {
		if w == window {
			f.hook = nil
			do()
		}
	}
}

// requireTruePair checks that the entry's stat data, if it is the file's, is paired with the hash
// of the file's bytes.
func (f *fixture) requireTruePair(name string) {
	f.t.Helper()
	verdict, e := f.Cache.Check(f.name(name), f.info(name))
	if verdict != VerdictFresh {
		return
	}
	data, err := os.ReadFile(f.name(name))
	require.NoError(f.t, err)
	require.Equal(f.t, Sum(data), e.SHA256, "old bytes beside a new fingerprint")
}

// KH-03, RC-20, TE-08 (stat–read): the content shown and recorded is that of the descriptor,
// whatever the earlier stat.
func TestChangeBetweenStatAndRead(t *testing.T) {
	for name, change := range map[string]func(f *fixture){
		"in place": func(f *fixture) { f.write("a", "two") },
		"renamed":  func(f *fixture) { f.replace("a", "two") },
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.write("a", "one")
			f.once(atStatRead, func() { change(f) })
			st := f.shown("a")
			require.Equal(t, "two", *st.Content)
			require.Equal(t, Sum([]byte("two")), *st.SHA256)
			f.requireTruePair("a")
			require.Nil(t, f.edit("a"))
		})
	}
}

// TE-08: gone, or no longer a file, when it is opened
func TestVanishedBetweenStatAndRead(t *testing.T) {
	f := newFixture(t)
	p := f.write("a", "one")
	f.once(atStatRead, func() { require.NoError(t, os.Remove(p.String())) })
	_, err := f.Read(t.Context(), ReadRequest{Path: p})
	require.Equal(t, fault.FileNotFound, fault.CodeOf(err))

	f.write("a", "one")
	f.once(atStatRead, func() {
		require.NoError(t, os.Remove(p.String()))
		require.NoError(t, os.Mkdir(p.String(), 0o755))
	})
	_, err = f.Read(t.Context(), ReadRequest{Path: p})
	require.Equal(t, fault.TargetIsDirectory, fault.CodeOf(err))

	require.NoError(t, os.Remove(p.String()))
	f.write("a", "one")
	f.once(atStatRead, func() {
		require.NoError(t, os.Remove(p.String()))
		if err := mkfifo(p.String()); err != nil {
			t.Skip(err)
		}
	})
	_, err = f.Read(t.Context(), ReadRequest{Path: p})
	require.Equal(t, fault.NotARegularFile, fault.CodeOf(err))
}

// RC-20: a file that changes while it is read is read again.
func TestChangeWhileReading(t *testing.T) {
	f := newFixture(t)
	f.write("a", "one")
	f.once(atReading, func() { f.write("a", "second") })
	st := f.shown("a")
	require.Equal(t, "second", *st.Content)
	require.Equal(t, Sum([]byte("second")), *st.SHA256)
	f.requireTruePair("a")
	require.Equal(t, int64(1), *st.Version, "one version for all tries")
	require.NotNil(t, f.full("a").Placeholder)
}

// RC-20: a file that keeps changing is shown, but is no proof, even if its bytes were known before.
func TestFileThatNeverHoldsStill(t *testing.T) {
	for name, known := range map[string]bool{"unknown before": false, "known before": true} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.write("a", "one")
			if known {
				f.shown("a")
			}
			tries := 0
			f.hook = func(w string, p workspace.Path) {
				if w == atReading {
					tries++
					f.write("a", strings.Repeat("x", tries))
				}
			}
			st := f.ranged("a", 0, 9)
			f.hook = nil
			require.Equal(t, snapshotTries, tries)
			require.Equal(t, "xx", *st.Content)
			require.Nil(t, st.SHA256)
			require.False(t, f.entry("a").LastReadCacheable)
			f.requireTruePair("a")
			require.NotNil(t, f.edit("a"))
			require.Equal(t, "xxx", *f.shown("a").Content)
		})
	}
}

// restless makes the file change at each check, ending with different bytes than the last read.
func (f *fixture) restless(name, content, last string) {
	tries := 0
	f.hook = func(w string, _ workspace.Path) {
		if w != atReading {
			return
		}
		f.write(name, content)
		if tries++; tries == snapshotTries {
			f.write(name, last)
			f.hook = nil
		}
	}
}

// RC-20: the old bytes read, the new ones in place, and a known hash.
func TestKnownBytesReadUnderANewFingerprint(t *testing.T) {
	f := newFixture(t)
	p := f.write("a", "one")
	f.shown("a")
	f.restless("a", "one", "two")
	require.Equal(t, "one", *f.ranged("a", 0, 9).Content)
	f.requireTruePair("a")
	f.requireRefusal(f.edit("a"), fault.FileChangedSinceRead, fault.Changed)

	f.write("a", "one")
	f.shown("a")
	f.restless("a", "one", "two")
	require.Nil(t, f.Decide(Check{Path: p, Verb: editing, Current: f.snap("a")}), "the commit will notice")
	f.requireTruePair("a")

	f.write("a", "one")
	f.restless("a", "one", "two")
	require.False(t, f.show(t.Context(), p, f.snap("a"), 0).Shown())
	f.requireTruePair("a")
}

// RC-13, RC-20: the same while a placeholder is verified by hash
func TestPlaceholderForAFileThatNeverHoldsStill(t *testing.T) {
	f := newFixture(t)
	f.write("a", "one")
	f.clock = unixNano(f.info("a").MtimeNS)
	f.shown("a")
	f.restless("a", "one", "two")
	require.Equal(t, "two", *f.shown("a").Content)
}

// RC-13: changed while the placeholder was being verified by hash
func TestChangeWhileAPlaceholderIsSettled(t *testing.T) {
	f := newFixture(t)
	f.write("a", "one")
	f.clock = unixNano(f.info("a").MtimeNS)
	f.shown("a")
	f.once(atReading, func() { f.write("a", "two") })
	require.Equal(t, "two", *f.shown("a").Content)
}

// PR-16, TE-08 (stat–read of a change)
func TestChangeBetweenDecisionAndRead(t *testing.T) {
	f := newFixture(t)
	p := f.write("a", "one")
	f.shown("a")
	require.Nil(t, f.Decide(Check{Path: p, Verb: editing}))
	f.write("a", "two")
	refusal := f.Decide(Check{Path: p, Verb: editing, Current: f.snap("a")})
	f.requireRefusal(refusal, fault.FileChangedSinceRead, fault.Changed)
}

// FS-04, RC-34: many callers on one conversation; each object has its own version and shows one of
// the contents completely.
func TestManyCallersOfOneService(t *testing.T) {
	f := newFixture(t)
	const callers, calls = 20, 25
	for i := range 4 {
		f.write(fmt.Sprint(i), "content 0")
	}
	var (
		wg       sync.WaitGroup
		mu       sync.Mutex
		versions = make(map[int64]bool)
	)
	for i := range callers {
		p := f.path(fmt.Sprint(i % 4))
		wg.Go(func() {
			for j := range calls {
				if i < 4 && j%5 == 0 {
					_ = os.WriteFile(p.String()+".tmp", fmt.Appendf(nil, "content %d", j), 0o600)
					_ = os.Rename(p.String()+".tmp", p.String())
				}
				r, err := f.Read(t.Context(), ReadRequest{Path: p, Repeat: j%2 == 0})
				if err != nil {
					t.Error(err)
					return
				}
				f.Decide(Check{Path: p, Verb: editing})
				if r.State == nil {
					continue
				}
				if *r.State.SHA256 != Sum([]byte(*r.State.Content)) || !strings.HasPrefix(*r.State.Content, "content ") {
					t.Errorf("%q has hash %s", *r.State.Content, *r.State.SHA256)
				}
				mu.Lock()
				if versions[*r.State.Version] {
					t.Errorf("version %d twice", *r.State.Version)
				}
				versions[*r.State.Version] = true
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	require.Equal(t, int64(len(versions)), f.Versions.Current())
	require.NoError(t, f.Cache.invariants())
	for i := range 4 {
		f.requireTruePair(fmt.Sprint(i))
	}
}
