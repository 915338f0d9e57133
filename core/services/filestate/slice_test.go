package filestate

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// cutPlainly is the simplest implementation of cutLines.
func cutPlainly(text string, offset, limit, maxLines, maxBytes int) slice {
	var lines []string
	for line := range strings.Lines(text) {
		lines = append(lines, line)
	}
	s := slice{first: offset, end: offset, total: len(lines)}
	want := limit
	if limit <= 0 {
		want = maxLines
	}
	for ; s.end < len(lines) && s.end-offset < want; s.end++ {
		line := lines[s.end]
		if len(s.text)+len(line) <= maxBytes {
			s.text += line
			continue
		}
		s.cut = true
		if s.end == offset {
			s.inside = true
			for _, r := range line {
				if len(s.text)+utf8.RuneLen(r) > maxBytes {
					break
				}
				s.text += string(r)
			}
			s.end++
		}
		return s
	}
	if limit <= 0 && s.end < len(lines) {
		s.cut = true
	}
	return s
}

// FS-13, FS-14
func FuzzCutLines(f *testing.F) {
	seedTexts(f)
	f.Fuzz(func(t *testing.T, text string, offset, limit, maxLines, maxBytes uint8) {
		text = strings.ToValidUTF8(text, "?")
		maxLines, maxBytes = maxLines%20+1, maxBytes%40+utf8.UTFMax
		got := cutLines(text, int(offset), int(limit), int(maxLines), int(maxBytes))
		require.Equal(t, cutPlainly(text, int(offset), int(limit), int(maxLines), int(maxBytes)), got)
	})
}

// A range of a huge file is cut like one of a small file.
func FuzzCutStream(f *testing.F) {
	seedTexts(f)
	f.Fuzz(func(t *testing.T, text string, offset, limit, maxLines, maxBytes uint8) {
		maxLines, maxBytes = maxLines%20+1, maxBytes%40+utf8.UTFMax
		got, err := cutStream(t.Context(), strings.NewReader(text), int(offset), int(limit), int(maxLines), int(maxBytes))
		require.NoError(t, err)
		require.LessOrEqual(t, len(got.text), int(maxBytes), "U+FFFD counts too")
		require.True(t, utf8.ValidString(got.text))
		if utf8.ValidString(text) {
			require.Equal(t, cutLines(text, int(offset), int(limit), int(maxLines), int(maxBytes)), got)
		}
	})
}

func seedTexts(f *testing.F) {
	rnd := rand.New(rand.NewPCG(1, 2))
	pieces := []string{"a", "bc", "\n", "\r\n", "ä", "€", "😀", "\n\n", "word ", "\xff", strings.Repeat("x", 30)}
	f.Add("", uint8(0), uint8(0), uint8(3), uint8(9))
	f.Add("a\nb", uint8(0), uint8(0), uint8(1), uint8(9))
	f.Add("ab€", uint8(0), uint8(0), uint8(1), uint8(0))
	for range 300 {
		var b strings.Builder
		for range rnd.IntN(30) {
			b.WriteString(pieces[rnd.IntN(len(pieces))])
		}
		f.Add(b.String(), uint8(rnd.IntN(8)), uint8(rnd.IntN(6)), uint8(rnd.IntN(20)), uint8(rnd.IntN(40)))
	}
}

// A line that is longer than one piece of the stream.
func TestCutStreamAcrossPieces(t *testing.T) {
	long := strings.Repeat("0123456789", 60_000)
	text := "first\n" + long + "\nthird\n"
	for _, offset := range []int{0, 1, 2, 3} {
		got, err := cutStream(t.Context(), strings.NewReader(text), offset, 2, 2000, 256<<10)
		require.NoError(t, err)
		require.Equal(t, cutLines(text, offset, 2, 2000, 256<<10), got, "offset %d", offset)
	}
}

// A line is too long by its bytes, even if a run of invalid ones is shown as a single character.
func TestCutStreamOfBrokenBytes(t *testing.T) {
	got, err := cutStream(t.Context(), strings.NewReader(strings.Repeat("\xff", 50)+"\nend\n"), 0, 0, 9, 20)
	require.NoError(t, err)
	require.Equal(t, slice{text: "\uFFFD", end: 1, total: 2, cut: true, inside: true}, got)
}

func TestLineCounterCountsAsLinesDo(t *testing.T) {
	for _, pieces := range [][]string{{}, {""}, {"a"}, {"a\n"}, {"a", "\n"}, {"a\n", "b"}, {"\n", "", "\n"}} {
		var c lineCounter
		for _, p := range pieces {
			c.write([]byte(p))
		}
		want := bytes.Count([]byte(strings.Join(pieces, "")), []byte("\n"))
		if text := strings.Join(pieces, ""); text != "" && !strings.HasSuffix(text, "\n") {
			want++
		}
		require.Equal(t, want, c.lines(), "%q", pieces)
	}
}
