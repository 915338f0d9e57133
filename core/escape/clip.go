package escape

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// mark replaces omitted text.
const mark = "…"

// OneLine returns s with each run of white space replaced by one space, and trimmed.
func OneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// FirstSentence returns the first sentence of s as one line: the text up to the first full stop that a space follows,
// else the first paragraph.
func FirstSentence(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n\n")
	var b strings.Builder
	for word := range strings.FieldsSeq(s) {
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(word)
		if strings.HasSuffix(word, ".") {
			break
		}
	}
	return b.String()
}

// Plain returns s as one line of at most n visible characters. Hidden characters are dropped; longer text is cut as by
// [Clip].
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

// Clip returns s cut to at most n characters. A longer s is cut at the end, without trailing white space, and ends with
// …, which counts. Clip returns "" if n is less than 1.
func Clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	keep, count := 0, 0
	for i := range s {
		if count < n {
			keep = i // end of the first n-1 characters
		}
		if count++; count > n {
			return clipped(s[:keep], n)
		}
	}
	return s
}

// ClipBytes is [Clip] with a limit in bytes; … takes three. Characters are never split.
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

// Head returns at most the first n bytes of s. Characters are never split.
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

// Tail returns at most the last n bytes of s. Characters are never split.
func Tail(s string, n int) string {
	at := max(len(s)-max(n, 0), 0)
	for i := 1; i < utf8.UTFMax && at < len(s) && !utf8.RuneStart(s[at]); i++ {
		at++
	}
	return s[at:]
}

// Ends returns [Head] and [Tail] of s and the number of bytes omitted between them, which is 0 if s fits into both.
func Ends(s string, first, last int) (head, tail string, omitted int) {
	if len(s) <= first+last {
		return s, "", 0
	}
	head, tail = Head(s, first), Tail(s, last)
	return head, tail, len(s) - len(head) - len(tail)
}

// Middle returns s cut to at most n characters. A longer s keeps equal parts of its beginning and end, with mark between
// them.
func Middle(s string, n int, mark string) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	r := []rune(s)
	keep := max(n-utf8.RuneCountInString(mark), 0) / 2
	return string(r[:keep]) + mark + string(r[len(r)-keep:])
}

// Paths joins file paths for one line: the first 20, each quoted if it needs that and at most 200
// characters long, and the number of the others.
func Paths(paths []string) string {
	const most = 20
	var b strings.Builder
	for i, p := range paths[:min(len(paths), most)] {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(Clip(Quoted(p), 200))
	}
	if more := len(paths) - most; more > 0 {
		fmt.Fprintf(&b, " and %d more", more)
	}
	return b.String()
}
