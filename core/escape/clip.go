package escape

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// mark stands for what is left out of a text.
const mark = "…"

// OneLine returns s with each run of white space as one blank, none at its ends.
func OneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// FirstSentence returns the first sentence of a text on one line: up to the first
// full stop that a blank follows, else the first paragraph.
func FirstSentence(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n\n")
	s = OneLine(s)
	if i := strings.Index(s, ". "); i >= 0 {
		s = s[:i+1]
	}
	return s
}

// Plain returns s as one line of at most n characters that can be seen: others are
// left out, and so are those after the limit, as by [Clip].
func Plain(s string, n int) string {
	var b strings.Builder
	count, blank := 0, false
	for _, r := range s {
		if unicode.IsSpace(r) {
			blank = count > 0
			continue
		}
		if Hidden(r) || !strconv.IsPrint(r) {
			continue
		}
		if count > n {
			break
		}
		if blank {
			b.WriteByte(' ')
			count++
		}
		b.WriteRune(r)
		count++
		blank = false
	}
	return Clip(b.String(), n)
}

// Clip returns at most n characters of s: of a longer one the beginning, without
// blanks at its end, and …, which counts. It is "" for an n below 1.
func Clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	keep, count := 0, 0
	for i := range s {
		if count < n {
			keep = i // of n-1 characters
		}
		if count++; count > n {
			return clipped(s[:keep], n)
		}
	}
	return s
}

// ClipBytes is [Clip] for bytes; … has three of them. No character is cut in two.
func ClipBytes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return clipped(Head(s, n-len(mark)), n)
}

func clipped(head string, n int) string {
	if n < 1 {
		return ""
	}
	return strings.TrimRight(head, " ") + mark
}

// Head returns the beginning of s, at most n bytes of it. No character is cut in two.
func Head(s string, n int) string {
	if len(s) <= n {
		return s
	}
	at := max(n, 0)
	for i := 1; i < utf8.UTFMax && at > 0 && !utf8.RuneStart(s[at]); i++ {
		at--
	}
	return s[:at]
}

// Tail returns the end of s, at most n bytes of it. No character is cut in two.
func Tail(s string, n int) string {
	at := max(len(s)-max(n, 0), 0)
	for i := 1; i < utf8.UTFMax && at < len(s) && !utf8.RuneStart(s[at]); i++ {
		at++
	}
	return s[at:]
}

// Ends returns [Head] and [Tail] of s and how many bytes between them are left out,
// 0 if s has no more than both together.
func Ends(s string, first, last int) (head, tail string, omitted int) {
	if len(s) <= first+last {
		return s, "", 0
	}
	head, tail = Head(s, first), Tail(s, last)
	return head, tail, len(s) - len(head) - len(tail)
}

// Middle returns at most n characters of s: of a longer one as many of its beginning
// as of its end, and mark between them.
func Middle(s string, n int, mark string) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	r := []rune(s)
	keep := max(n-utf8.RuneCountInString(mark), 0) / 2
	return string(r[:keep]) + mark + string(r[len(r)-keep:])
}
