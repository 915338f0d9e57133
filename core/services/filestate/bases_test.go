package filestate

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/services/patch"
	"github.com/fettle-dev/fettle/core/services/workspace"
)

// ST-01: beyond the limit the least recently used bytes are dropped, each content is stored once,
// and nothing is allocated before the first.
func TestBaseStore(t *testing.T) {
	b := &BaseStore{max: 3*(100+baseOverhead) + 50}
	require.Nil(t, b.states)
	data := func(i int) []byte { return []byte(strings.Repeat(fmt.Sprint(i), 100))[:100:100] }
	has := func(i int) bool { _, ok := b.get(fmt.Sprint(i)); return ok }
	for i := range 3 {
		b.put(workspace.Path{}, fmt.Sprint(i), data(i))
		b.put(workspace.Path{}, fmt.Sprint(i), data(i))
	}
	require.Equal(t, int64(3*(100+baseOverhead)), b.inUse())
	require.True(t, has(0))
	b.put(workspace.Path{}, "3", data(3))
	require.Equal(t, []bool{true, false, true, true}, []bool{has(0), has(1), has(2), has(3)})
	b.put(workspace.Path{}, "large", make([]byte, 2000))
	require.Equal(t, []bool{true, true, true}, []bool{has(0), has(2), has(3)}, "what does not fit drops nothing")
	b.put(workspace.Path{}, "nearly all", make([]byte, 700))
	require.Equal(t, []bool{false, false, false}, []bool{has(0), has(2), has(3)})
	require.Equal(t, int64(700+baseOverhead), b.inUse())
	require.Equal(t, int64(64<<20), int64(defaultBaseBytes))

	var wg sync.WaitGroup
	shared := new(BaseStore)
	for i := range 8 {
		wg.Go(func() {
			for j := range 100 {
				shared.put(workspace.Path{}, fmt.Sprint(i*j%50), data(j%10))
				shared.get(fmt.Sprint(j % 50))
			}
		})
	}
	wg.Wait()
}

// spill stores contents in memory, for tests.
type spill map[string][]byte

func (s spill) PutBase(p workspace.Path, data []byte) bool {
	s[p.String()+Sum(data)], s[Sum(data)] = nil, data
	return true
}

func (s spill) Base(sha string) ([]byte, bool) {
	data, ok := s[sha]
	return data, ok
}

// ST-01: what does not fit into memory is spilled, up to a limit, and found again.
func TestBaseStoreSpills(t *testing.T) {
	stored := spill{}
	b := &BaseStore{max: 100 + baseOverhead, Spill: stored}
	path := newFixture(t).path("a")
	texts := []string{strings.Repeat("0", 100), strings.Repeat("1", 100), strings.Repeat("2", 500)}
	for _, text := range texts {
		b.put(path, Sum([]byte(text)), slices.Clip([]byte(text)))
	}
	require.Contains(t, stored, path.String()+Sum([]byte(texts[0])))
	require.NotContains(t, stored, Sum([]byte(texts[1])), "it is in memory")
	for _, text := range texts {
		data, ok := b.get(Sum([]byte(text)))
		require.True(t, ok)
		require.Equal(t, text, string(data))
	}
	_, ok := b.get(Sum(nil))
	require.False(t, ok)
	require.LessOrEqual(t, b.inUse(), b.max)

	b.spilled.Store(maxSpilled)
	b.put(path, Sum([]byte("3")), []byte("3"))
	_, ok = b.get(Sum([]byte(texts[1])))
	require.False(t, ok, "beyond the limit it is dropped")
}

// ST-01: a conversation can name the contents that it has received completely; another that shares
// the bytes cannot, and after its cache was cleared it cannot either.
func TestBasesBelongToAConversation(t *testing.T) {
	store := new(BaseStore)
	f := newFixture(t, func(o *Options) { o.Bases = store })
	other := New(Options{Files: f.disk, Bases: store})
	named := func(s *Service, text string) bool { _, ok := s.Base(Sum([]byte(text))); return ok }

	f.write("a", "1\n2\n")
	f.ranged("a", 0, 1)
	require.False(t, named(f.Service, "1\n2\n"), "a part was read")
	require.Zero(t, store.inUse())
	f.ranged("a", 1, 1)
	require.True(t, named(f.Service, "1\n2\n"))
	require.False(t, named(other, "1\n2\n"))
	size := store.inUse()
	_, err := other.Read(t.Context(), ReadRequest{Path: f.path("a")})
	require.NoError(t, err)
	require.True(t, named(other, "1\n2\n"))
	require.Equal(t, size, store.inUse(), "bytes are shared")

	f.write("a", "3\n")
	f.shown("a")
	require.True(t, named(f.Service, "1\n2\n"), "an earlier state is still known")
	f.Compacted()
	require.False(t, named(f.Service, "1\n2\n"))
	require.False(t, named(f.Service, "3\n"))
	require.True(t, named(other, "1\n2\n"), "another conversation forgets nothing")
	f.shown("a")
	require.True(t, named(f.Service, "3\n"))
	f.StartSession(0)
	require.False(t, named(f.Service, "3\n"))
	f.shown("a")
	f.turn, f.hidden = 1, true
	f.shown("a")
	require.False(t, named(f.Service, "3\n"), "nothing is kept while the cache is disabled")
}

// ST-01, PR-29: content is not stored if it is not text, survives no round trip or may not be shown
// to this conversation.
func TestBasesThatAreNotKept(t *testing.T) {
	for name, tt := range map[string]struct {
		content string
		options func(*Options)
	}{
		"may not be shown": {"x\n", func(o *Options) { o.MayShow = func(workspace.Path) bool { return false } }},
		"not text":         {"\x89PNG\r\n\x1a\n\x00", func(*Options) {}},
		"no round trip":    {"broken \xff\xfe\x81 text", func(*Options) {}},
		"no session":       {"x\n", func(o *Options) { o.NoSession = true }},
		"cut":              {"1\n2\n3\n", func(o *Options) { o.Limits.Lines = 2 }},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, tt.options)
			f.write("a", tt.content)
			f.full("a")
			require.Zero(t, f.bases.inUse())
			require.Nil(t, f.Cache.given)
		})
	}
}

// A conversation can name as many hashes as files.
func TestGivenHashesAreBounded(t *testing.T) {
	c := &FileReadCache{max: 10}
	for i := range 100 {
		c.give(fmt.Sprint(i))
		require.True(t, c.gave(fmt.Sprint(i)))
		require.LessOrEqual(t, len(c.given), 10)
	}
}

// ST-06: without the bytes of the base the whole content is shown.
func TestShowSinceABaseThatIsGone(t *testing.T) {
	store := &BaseStore{max: 5000}
	f := newFixture(t, func(o *Options) { o.Bases, o.Limits.ChangedRegionsAbove = store, 10 })
	text := strings.Repeat("a line of it\n", 100)
	p := f.write("a", text)
	f.shown("a")
	known := f.Known(p)
	require.Equal(t, Known{Sum([]byte(text)), 1}, known)
	f.write("a", text+"more\n")
	diff := func(base, now string) []patch.Region {
		require.Equal(t, text, base)
		require.Equal(t, text+"more\n", now)
		return []patch.Region{{Lines: [2]int{101, 101}, BaseLines: [2]int{101, 100}, Content: "more\n"}}
	}
	st := f.ShowSince(t.Context(), p, f.snap("a"), known, 0, diff)
	require.Nil(t, st.Content)
	require.Len(t, st.ChangedRegions, 1)
	require.Equal(t, int64(2), *st.Version)
	require.True(t, f.entry("a").qualifying())

	known = f.Known(p)
	require.Equal(t, Known{Sum([]byte(text + "more\n")), 2}, known)
	store.put(workspace.Path{}, "another", make([]byte, 4500))
	f.write("a", text)
	st = f.ShowSince(t.Context(), p, f.snap("a"), known, 0, nil)
	require.Equal(t, text, *st.Content)
	require.Nil(t, st.ChangedRegions)
	require.Equal(t, text, *f.ShowSince(t.Context(), p, f.snap("a"), Known{}, 0, nil).Content)
}
