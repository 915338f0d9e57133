package transaction_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
)

// FK-01, FK-02: random changes through the services show the same files as the same changes of a plain
// directory, and the system's overlayfs shows them too. The project stays as it is.
func TestForkIsLikeAPlainDirectory(t *testing.T) {
	rounds, steps := 12, 50
	if os.Getenv("FETTLE_FULL") != "" {
		rounds = 2000
	}
	seed := rand.Uint64()
	t.Log("seed", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	pick := func() string { return modelNames[r.IntN(len(modelNames))] }
	done, mounted := make(map[string]int), 0
	for round := range rounds {
		f := newForked(t, buildModel)
		before := tree(t, f.dir)
		m := newPlain(t, buildModel)
		var log []string
		for step := range steps {
			what, do := change(t, r, m, pick)
			log = append(log, what)
			want, err := do(m), do(f)
			require.Equal(t, codeOf(want), codeOf(err), "%v\nfork: %v\nplain: %v", log, err, want)
			if err == nil {
				done[strings.Fields(what)[0]]++
			}
			if step%5 == 4 || step > steps-3 || rounds < 100 {
				require.Equal(t, tree(t, m.dir), f.shown(t), "%v", log)
			}
		}
		require.Equal(t, before, tree(t, f.dir), "%v", log)
		for path, what := range f.touched {
			require.Equal(t, describeBelow(f.dir, path), what, "%s: %v", path, log)
		}
		f.recorded(t, log)
		if shown := f.mount(t); shown != "" {
			require.Equal(t, tree(t, m.dir), tree(t, shown), "%v", log)
			require.NoError(t, syscall.Unmount(shown, 0))
			mounted++
		}
		require.NoError(t, f.files.Close())
		require.NoError(t, m.files.Close())
		if round%100 == 99 {
			t.Log(round+1, done)
		}
	}
	t.Log(done, "mounted", mounted)
	if mounted == 0 {
		t.Log("the system's overlayfs was not compared: it cannot be mounted")
	}
}

// FK-01: calls at the same time, on the same and on different files, lose no change.
func TestForkConcurrentChanges(t *testing.T) {
	const workers, changes = 6, 25
	f := newForked(t, buildModel)
	before := tree(t, f.dir)
	var all sync.WaitGroup
	for n := range workers {
		all.Go(func() {
			own := fmt.Sprintf("d/e/new%d", n)
			text := ""
			for i := range changes {
				base := ""
				if i > 0 {
					base = sum(text)
				}
				text += fmt.Sprintln("own", i)
				if err := f.put(t.Context(), own, base, text); err != nil {
					t.Errorf("%s: %v", own, err)
					return
				}
				for { // all append to one file
					at, err := f.files.OpenRead(f.path("h/i/j/k"))
					if err != nil {
						t.Error(err)
						return
					}
					now, err := io.ReadAll(at)
					_ = at.Close() // it was only read
					if err != nil {
						t.Error(err)
						return
					}
					err = f.put(t.Context(), "h/i/j/k", sum(string(now)), string(now)+fmt.Sprintln(n, i))
					if err == nil {
						break
					}
					if e := fault.As(err); e == nil || e.Code != fault.FileChangedSinceRead {
						t.Error(err)
						return
					}
				}
			}
			if err := f.remove(t.Context(), own, sum(text)); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	shown := f.shown(t)
	require.Equal(t, 1+workers*changes, strings.Count(shown["h/i/j/k"], "\n"))
	delete(shown, "h/i/j/k")
	delete(before, "h/i/j/k")
	require.Equal(t, before, shown)
}
