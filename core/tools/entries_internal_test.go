package tools

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// The list and the maps give the same answers, also after the limit was crossed in either direction.
func TestEntries(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // a reproducible order
	made := make([]*entry, 2*mostListed)
	for i := range made {
		spec := &Spec{Name: fmt.Sprint("tool", i), Aliases: []string{fmt.Sprint("alias", i), fmt.Sprint("shared", i%5)}}
		spec.Origin.Group = Group(i % 3)
		made[i] = &entry{wanted: spec, seq: int32(len(made) - i)} //nolint:gosec // a few dozen
	}
	made[3].other = &renaming{spec: &Spec{Name: "renamed", Origin: made[3].wanted.Origin}}
	var s entries
	plain := map[string]*entry{}
	check := func() {
		t.Helper()
		require.Equal(t, len(plain) > mostListed, s.byName != nil)
		require.Len(t, s.all(), len(plain))
		first := map[string]*entry{}
		for _, e := range made {
			name := e.spec().Name
			require.Same(t, plain[name], s.named(name))
			require.Nil(t, s.aliased(name))
			for _, alias := range e.spec().Aliases {
				if other := first[alias]; plain[name] != nil && (other == nil || compareEntries(e, other) < 0) {
					first[alias] = e
				}
			}
		}
		for _, e := range made {
			for _, alias := range e.wanted.Aliases {
				require.Same(t, first[alias], s.aliased(alias))
				require.Nil(t, s.named(alias))
			}
		}
	}
	check()
	change := func(most int) {
		for _, i := range random.Perm(len(made)) {
			e := made[i]
			name := e.spec().Name
			switch registered := plain[name] != nil; {
			case registered && len(plain) > most:
				require.True(t, s.remove(e))
				delete(plain, name)
			case !registered:
				require.False(t, s.remove(e))
				if len(plain) < most {
					s.add(e)
					plain[name] = e
				}
			}
			check()
		}
	}
	for _, most := range []int{10, mostListed, mostListed + 1, len(made), mostListed + 1, mostListed, 5, len(made), 0, mostListed + 2} {
		change(most)
		require.Len(t, plain, most)
	}
}

// Another tool of the same name does not remove the registered one.
func TestEntriesOfTheSameName(t *testing.T) {
	for _, n := range []int{1, mostListed + 1} {
		var s entries
		for i := range n {
			s.add(&entry{wanted: &Spec{Name: fmt.Sprint("tool", i)}})
		}
		require.False(t, s.remove(&entry{wanted: &Spec{Name: "tool0"}}))
		require.True(t, slices.Contains(s.all(), s.named("tool0")))
	}
}
