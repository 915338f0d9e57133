package filestate

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
)

// requireFull requires that the first 12 digits of the hash of content are expanded for the file.
func (f *fixture) requireFull(name, content string) {
	f.t.Helper()
	hash := Sum([]byte(content))
	for _, short := range []string{hash[:shortestHash], hash[:40], hash[:63], strings.ToUpper(hash[:20]), hash, strings.ToUpper(hash)} {
		got, err := f.FullHash(f.path(name), short)
		require.NoError(f.t, err)
		require.Equal(f.t, hash, got)
	}
}

// requireNoHash requires that the first 12 digits of the hash of content are refused for the file.
func (f *fixture) requireNoHash(name, content string) {
	f.t.Helper()
	_, err := f.FullHash(f.path(name), Sum([]byte(content))[:shortestHash])
	f.requireRefusal(fault.As(err), fault.InvalidToolParams, "")
	require.Contains(f.t, fault.As(err).Message, f.name(name))
}

// ED-05: a shortened hash stands for a state of that file that the conversation has received: from
// reads, writes and refusals, current or not.
func TestShortHashes(t *testing.T) {
	f := newFixture(t)
	f.write("a.txt", "one\n")
	f.write("b.txt", "one\n")
	f.requireNoHash("a.txt", "one\n")
	f.shown("a.txt")
	f.requireFull("a.txt", "one\n")
	f.requireNoHash("b.txt", "one\n")
	f.sibling().requireNoHash("a.txt", "one\n")
	f.wrote("a.txt", "two\n")
	f.requireFull("a.txt", "one\n")
	f.requireFull("a.txt", "two\n")
	f.write("a.txt", "three\n")
	f.show(t.Context(), f.path("a.txt"), f.snap("a.txt"), 0)
	f.requireFull("a.txt", "three\n")
	f.WrittenUnseen(t.Context(), f.path("a.txt"), f.info("a.txt"), "four\n", Sum([]byte("four\n")), true)
	f.requireFull("a.txt", "four\n")
	require.NoError(t, os.Remove(f.name("a.txt")))
	f.requireFull("a.txt", "two\n")

	_, err := f.FullHash(f.path("a.txt"), Sum([]byte("two\n"))[:shortestHash-1])
	f.requireRefusal(fault.As(err), fault.InvalidToolParams, "")
	f.requireFull("never read.txt", "") // the hash of empty input is in the tools' descriptions
}

// ED-05: a partial read gives no hash; the read that completes the file does.
func TestShortHashOfPages(t *testing.T) {
	f := newFixture(t)
	f.write("a.txt", "one\ntwo\n")
	f.ranged("a.txt", 0, 1)
	f.requireNoHash("a.txt", "one\ntwo\n")
	f.ranged("a.txt", 1, 1)
	f.requireFull("a.txt", "one\ntwo\n")
}

// ED-05: a state in a result that the conversation did not receive gives no hash.
func TestShortHashOfADroppedResult(t *testing.T) {
	for _, shown := range []bool{false, true} {
		f := newFixture(t)
		f.write("read.txt", "one\n")
		ctx, r := f.Begin(t.Context())
		_, err := f.Read(ctx, ReadRequest{Path: f.path("read.txt")})
		require.NoError(t, err)
		p := f.write("written.txt", "two\n")
		f.Written(ctx, p, f.info("written.txt"), "two\n", Sum([]byte("two\n")))
		f.requireNoHash("read.txt", "one\n")
		f.requireNoHash("written.txt", "two\n")
		if !shown {
			r.Drop()
			f.requireNoHash("read.txt", "one\n")
			f.requireNoHash("written.txt", "two\n")
			continue
		}
		r.Commit()
		f.requireFull("read.txt", "one\n")
		f.requireFull("written.txt", "two\n")
	}
}

// ED-05: a file has the same hashes under each of its names.
func TestShortHashOfALink(t *testing.T) {
	f := newFixture(t)
	f.write("a.txt", "one\n")
	require.NoError(t, os.Symlink("a.txt", f.name("link")))
	f.shown("link")
	f.requireNoHash("other.txt", "one\n")
	f.requireFull("a.txt", "one\n")
	f.requireFull("link", "one\n")
}

// ED-05: the hashes of a conversation remain until a new one begins; without sessions there are none.
func TestShortHashesOfASession(t *testing.T) {
	f := newFixture(t)
	f.write("a.txt", "one\n")
	f.shown("a.txt")
	f.Compacted()
	f.requireFull("a.txt", "one\n")
	f.hidden = true
	f.write("a.txt", "two\n")
	f.shown("a.txt")
	f.requireFull("a.txt", "two\n")
	f.StartSession(0)
	f.requireNoHash("a.txt", "one\n")
	f.requireNoHash("a.txt", "two\n")

	f = newFixture(t, func(o *Options) { o.NoSession = true })
	f.write("a.txt", "one\n")
	f.shown("a.txt")
	f.requireNoHash("a.txt", "one\n")
	f.requireFull("a.txt", "")
}

// ED-05: two received hashes that begin alike are ambiguous as far as they are equal.
func TestAmbiguousShortHash(t *testing.T) {
	const first, second = "text 7192315\n", "text 23306623\n"
	a, b := Sum([]byte(first)), Sum([]byte(second))
	require.Equal(t, a[:13], b[:13])
	require.NotEqual(t, a[:14], b[:14])
	f := newFixture(t)
	f.write("a.txt", first)
	f.shown("a.txt")
	f.requireFull("a.txt", first)
	f.write("a.txt", second)
	f.shown("a.txt")
	for _, digits := range []int{12, 13} {
		_, err := f.FullHash(f.path("a.txt"), b[:digits])
		f.requireRefusal(fault.As(err), fault.InvalidToolParams, "")
		require.Contains(t, fault.As(err).Remedy, "64")
	}
	for _, want := range []string{a, b} {
		got, err := f.FullHash(f.path("a.txt"), want[:14])
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
}

// ED-05: beyond the limit the oldest hash is forgotten.
func TestReceivedHashesAreBounded(t *testing.T) {
	g := givenHashes{max: 3}
	hash := func(i int) string { return Sum(fmt.Append(nil, i)) }
	for i := range 5 {
		g.add(fmt.Sprint(i%2), hash(i))
		g.add(fmt.Sprint(i%2), hash(i))
	}
	for i := range 5 {
		require.Equal(t, i >= 2, len(g.find([]string{"0", "1"}, hash(i)[:shortestHash])) == 1, "%d", i)
	}
	require.Len(t, g.byPath, 2)
	for i := range 3 {
		g.add("2", hash(i))
	}
	require.Len(t, g.byPath, 1)
}
