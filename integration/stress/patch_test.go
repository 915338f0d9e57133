package stress

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"

	"github.com/fettle-dev/fettle/core/fault"
)

// encodings are the encodings of files on disk.
var encodings = []struct {
	name string
	encoding.Encoding
	accents bool // its non-ASCII letters are put into the text
}{
	{"utf-8", unicode.UTF8, false},
	{"utf-8 with BOM", unicode.UTF8BOM, false},
	{"utf-16le with BOM", unicode.UTF16(unicode.LittleEndian, unicode.UseBOM), false},
	{"windows-1252", charmap.Windows1252, true},
}

// A patchCase is a file on disk with the expected outcome of a patch.
type patchCase struct {
	edit     edit
	diff     diff
	kind     string // of mistake
	hopeless bool
	encoding int
	other    bool // the hash is that of another version
}

func newPatchCase(r *rand.Rand, n int) (patchCase, bool) {
	c := patchCase{encoding: r.IntN(len(encodings))}
	var ok bool
	if c.edit, ok = newEdit(r, encodings[c.encoding].accents); !ok {
		return c, false
	}
	c.edit.setEndings(r, []string{"\n", "\n", "\r\n", ""}[r.IntN(4)], r.IntN(4) > 0)
	set := mistakes
	if n%4 == 3 {
		set, c.hopeless = hopeless, true
	}
	m := set[n/4%len(set)]
	c.kind = m.name
	switch {
	case c.hopeless:
	case r.IntN(10) == 0:
		c.kind, c.other = otherVersion, true
	case encodings[c.encoding].accents && r.IntN(10) == 0:
		c.kind, c.hopeless = foreignRune, true
		c.edit.hunks[0].added = append(c.edit.hunks[0].added, "// 日本語")
	}
	c.diff = c.edit.diff()
	eol := c.edit.eol[0]
	if !m.make(r, &c.edit, &c.diff) {
		return c, false
	}
	if len(c.edit.eol) != len(c.edit.base) { // the base is the result of the edit
		c.edit.eol = nil
		for range c.edit.base {
			c.edit.eol = append(c.edit.eol, eol)
		}
	}
	return c, true
}

// Always refused.
const (
	otherVersion = "the hash of another version"
	foreignRune  = "a letter that the code page has not"
)

// FS-26 to FS-40, FS-67 to FS-70, FS-19, KH-14: whatever the diff of a model, a file on disk ends
// with the expected bytes, or it is unchanged and the result gives the reason.
func TestPatchesEndToEnd(t *testing.T) {
	dir := t.TempDir()
	a, err := newAgent(dir, t.TempDir())
	require.NoError(t, err)
	defer a.config.Close()
	type tally struct{ applied, refused int }
	tallies := map[string]*tally{}
	undetected := 0
	wanted := number(250, 20_000)
	for seed, n := uint64(0), 0; n < wanted; seed++ {
		r := rand.New(rand.NewPCG(seed, 7))
		c, ok := newPatchCase(r, int(seed))
		if !ok {
			continue
		}
		name := fmt.Sprintf("f%d.go", n%100)
		path := filepath.Join(dir, name)
		enc := encodings[c.encoding]
		before, err := enc.NewEncoder().Bytes([]byte(c.edit.text()))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(path, before, 0o644))
		shown, err := a.read(name)
		require.NoError(t, err)
		if shown.Content == nil || *shown.Content != c.edit.text() {
			require.True(t, enc.accents, "seed %d: %s is decoded to other text", seed, enc.name)
			undetected++ // a guess: another code page has these letters at other code points
			continue
		}
		n++
		base := sumOf(before)
		require.Equal(t, base, *shown.SHA256)
		if c.other {
			base = sumOf(append(before, "x"...))
		}
		report, resp, err := a.patch(name, c.diff.String(), base)
		require.NoError(t, err, "seed %d", seed)
		after, err := os.ReadFile(path)
		require.NoError(t, err)
		where := fmt.Sprintf("seed %d, %s, %s, message %s\n%s", seed, c.kind, enc.name, report.Message, c.diff.String())
		count := tallies[c.kind]
		if count == nil {
			count = new(tally)
			tallies[c.kind] = count
		}
		if !report.Success {
			count.refused++
			require.True(t, bytes.Equal(before, after), "a refusal touched the file: %s", where)
			require.NotEmpty(t, resp.Result.Error.Remedy, where)
			if c.other {
				require.Equal(t, fault.FileChangedSinceRead, resp.Result.Error.Code, where)
				require.True(t, strings.HasPrefix(report.Message, "State Mismatch"), where)
			} else {
				require.Contains(t, []fault.Code{fault.InvalidDiff, fault.AmbiguousDiff, fault.FileWriteFailure}, resp.Result.Error.Code, where)
			}
			continue
		}
		count.applied++
		require.False(t, c.other, "a base of another version was accepted: %s", where)
		require.False(t, c.hopeless, "it should have been refused: %s", where)
		require.Equal(t, sumOf(after), *report.LatestFileState.SHA256, where)
		text, err := enc.NewDecoder().Bytes(after)
		require.NoError(t, err)
		require.True(t, c.edit.is(string(text)), "neither the base nor the expected bytes: %s\nbase\n%s\ngot\n%s", where, c.edit.text(), text)
		again, err := enc.NewEncoder().Bytes(text)
		require.NoError(t, err)
		require.True(t, bytes.Equal(after, again), "the encoding changed: %s", where)
	}
	for _, m := range mistakes {
		if c := tallies[m.name]; c != nil {
			t.Logf("%-35s applied %5d, refused %4d", m.name, c.applied, c.refused)
			if c.applied+c.refused >= 20 && m.name != "a context line missing" && m.name != "look-alike punctuation" {
				require.Greater(t, c.applied, c.refused, "%s is seldom repaired", m.name)
			}
		}
	}
	for _, m := range append(slices.Clone(hopeless), mistake{name: otherVersion}, mistake{name: foreignRune}) {
		if c := tallies[m.name]; c != nil {
			t.Logf("%-35s refused %5d", m.name, c.refused)
		}
	}
	t.Logf("%d cases, and %d files whose code page was detected as another one", wanted, undetected)
}

// FS-70: a block that occurs twice, without a hint that selects one.
func TestAmbiguousPatch(t *testing.T) {
	dir := t.TempDir()
	a, err := newAgent(dir, t.TempDir())
	require.NoError(t, err)
	defer a.config.Close()
	for seed := range uint64(number(20, 500)) {
		r := rand.New(rand.NewPCG(seed, 8))
		e, ok := newEdit(r, false)
		if !ok {
			continue
		}
		e.base = append(append(e.base, "// and once more"), e.base...)
		e.setEndings(r, "\n", true)
		before := e.text()
		path := filepath.Join(dir, "f.go")
		require.NoError(t, os.WriteFile(path, []byte(before), 0o644))
		d := e.diff()
		eachHeader(&d, func(int, string) string { return "@@" })
		report, resp, err := a.patch("f.go", d.String(), sumOf([]byte(before)))
		require.NoError(t, err)
		require.False(t, report.Success, "seed %d\n%s", seed, d)
		require.Equal(t, fault.AmbiguousDiff, resp.Result.Error.Code, "seed %d\n%s", seed, d)
		after, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, before, string(after))
	}
}
