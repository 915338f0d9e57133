package fork_test

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/services/fork"
)

// FK-08: eight forks with many edits each are merged at once, while editors save other lines of the same files: no
// edit is lost, and none is there twice.
func TestManyForks(t *testing.T) {
	const forks, editors, spacing = 8, 2, 5
	edits := 20
	if os.Getenv("FETTLE_FULL") != "" {
		edits = 200
	}
	const files = 10
	line := func(writer, n int) int { return (n/files*(forks+editors) + writer) * spacing }
	name := func(n int) string { return fmt.Sprintf("f%d", n%files) }
	// All lines have the same length, so that an editor can write one in place.
	before := func(writer, n int) string { return fmt.Sprintf("line %06d\n", line(writer, n)) }
	after := func(writer, n int) string { return fmt.Sprintf("by%02d %06d\n", writer, n) }
	base := make(map[string]string)
	for n := range files {
		var text strings.Builder
		for i := range line(0, edits) + (forks+editors)*spacing {
			fmt.Fprintf(&text, "line %06d\n", i)
		}
		base[name(n)] = text.String()
	}
	p := newProject(t, base)
	made := make([]*fork.Fork, forks)
	for w := range forks {
		p.mode = []fork.Mode{fork.Overlay, fork.Copy}[w%2]
		made[w] = p.create(fmt.Sprint("fork", w))
		texts := make(map[string]string)
		for n := range edits {
			texts[name(n)] = strings.Replace(cmp.Or(texts[name(n)], base[name(n)]), before(w, n), after(w, n), 1)
		}
		p.change(made[w], texts)
	}
	var all sync.WaitGroup
	for e := range editors {
		all.Go(func() {
			for n := range edits {
				f, err := os.OpenFile(filepath.Join(p.dir, name(n)), os.O_WRONLY, 0)
				if assert.NoError(t, err) {
					_, err = f.WriteAt([]byte(after(forks+e, n)), int64(line(forks+e, n)*len(after(0, 0))))
					assert.NoError(t, errors.Join(err, f.Close()))
				}
			}
		})
	}
	var lock sync.Mutex
	var kept strings.Builder // bytes that were displaced, and reported
	for _, f := range made {
		all.Go(func() {
			for range 50 {
				r, err := p.merge(f, nil)
				lock.Lock()
				for _, name := range r.KeptFiles {
					data, err := os.ReadFile(name)
					assert.NoError(t, err)
					kept.Write(data)
				}
				lock.Unlock()
				if err == nil {
					return
				}
			}
			assert.Fail(t, "the merge is always refused")
		})
	}
	all.Wait()
	displaced := 0
	for _, f := range made {
		r, err := p.merge(f, nil)
		require.NoError(t, err)
		require.Zero(t, r.Conflicts(), "%s: %v", f.Name, verdicts(r))
	}
	got := tree(t, p.dir)
	for w := range forks + editors {
		for n := range edits {
			if w >= forks && strings.Contains(kept.String(), after(w, n)) && !strings.Contains(got[name(n)], after(w, n)) {
				displaced++
				continue
			}
			require.Equal(t, 1, strings.Count(got[name(n)], after(w, n)), "writer %d, edit %d", w, n)
		}
	}
	t.Logf("%d edits of %d writers, %d displaced and kept", (forks+editors)*edits, forks+editors, displaced)
}
