package shell

import (
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// braces expands a word's braces. It reports false if the result has too many
// words.
func braces(w *syntax.Word) ([]*syntax.Word, bool) {
	split := &syntax.Word{Parts: slices.Clone(w.Parts)}
	if !syntax.SplitBraces(split) {
		return []*syntax.Word{w}, true
	}
	parts, ok := expandParts(split.Parts)
	if !ok {
		return nil, false
	}
	out := make([]*syntax.Word, len(parts))
	for i, p := range parts {
		out[i] = &syntax.Word{Parts: p}
	}
	return out, true
}

// expandParts returns the alternatives of a sequence of parts.
func expandParts(parts []syntax.WordPart) ([][]syntax.WordPart, bool) {
	out := [][]syntax.WordPart{nil}
	for _, p := range parts {
		choices := [][]syntax.WordPart{{p}}
		if b, ok := p.(*syntax.BraceExp); ok {
			if choices, ok = expandBrace(b); !ok {
				return nil, false
			}
		}
		if len(out)*len(choices) > maxBraceWords {
			return nil, false
		}
		next := make([][]syntax.WordPart, 0, len(out)*len(choices))
		for _, o := range out {
			for _, c := range choices {
				next = append(next, slices.Concat(o, c))
			}
		}
		out = next
	}
	return out, true
}

func expandBrace(b *syntax.BraceExp) ([][]syntax.WordPart, bool) {
	if b.Sequence {
		return expandSequence(b)
	}
	var out [][]syntax.WordPart
	for _, e := range b.Elems {
		choices, ok := expandParts(e.Parts)
		if !ok || len(out)+len(choices) > maxBraceWords {
			return nil, false
		}
		out = append(out, choices...)
	}
	return out, true
}

// expandSequence expands {x..y[..step]}, which the parser has checked to be
// numbers or single letters.
func expandSequence(b *syntax.BraceExp) ([][]syntax.WordPart, bool) {
	first, last := b.Elems[0].Lit(), b.Elems[1].Lit()
	from, err1 := strconv.Atoi(first)
	to, err2 := strconv.Atoi(last)
	letters := err1 != nil || err2 != nil
	if letters {
		from, to = int(first[0]), int(last[0])
	}
	step := 1
	if len(b.Elems) > 2 {
		n, err := strconv.Atoi(b.Elems[2].Lit())
		if err != nil {
			return nil, false
		}
		step = max(n, -n, 1)
	}
	width := 0
	if !letters && (padded(first) || padded(last)) {
		width = max(len(first), len(last))
	}
	if n := (max(from, to) - min(from, to)) / step; n < 0 || n >= maxBraceWords {
		return nil, false
	}
	if from > to {
		step = -step
	}
	var out [][]syntax.WordPart
	for n := from; (step > 0 && n <= to) || (step < 0 && n >= to); n += step {
		text := string(rune(n))
		if !letters {
			text = pad(n, width)
		}
		out = append(out, []syntax.WordPart{&syntax.SglQuoted{Value: text}})
	}
	return out, true
}

func padded(s string) bool {
	s = strings.TrimLeft(s, "+-")
	return len(s) > 1 && s[0] == '0'
}

func pad(n, width int) string {
	s, sign := strconv.Itoa(max(n, -n)), ""
	if n < 0 {
		sign = "-"
	}
	return sign + strings.Repeat("0", max(0, width-len(s)-len(sign))) + s
}

// unclearBraces reports whether a word without expanded braces still looks as if
// bash might expand some.
func unclearBraces(text string, quoted, split bool) bool {
	if !split || quoted {
		return false
	}
	open := strings.IndexByte(text, '{')
	if open < 0 {
		return false
	}
	rest := text[open:]
	return strings.IndexByte(rest, '}') > 0 && (strings.Contains(rest, ",") || strings.Contains(rest, ".."))
}
