package web

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/services/websearch"
)

// How much is shown of what a search found, in characters but for maxSources. A
// service may send megabytes.
const (
	maxFound   = 50_000 // in all
	maxSources = 50
	maxTitle   = 300
	maxURL     = 2000
	maxSnippet = 1000
)

// shown returns an answer as text, with its sources numbered and listed at the
// end, and lines about what was left out, to stand before it. Where not all has
// room, prose and sources have half of it each, and what the other leaves.
func shown(a websearch.Answer) (text, notice string) {
	const between = "\n\n"
	prose := min(utf8.RuneCountInString(a.Text)+len(between), maxFound/2)
	sources, listed := list(a.Sources, maxFound-prose)
	text, whole := cited(a, listed, maxFound-len(between)-utf8.RuneCountInString(sources))
	if !whole {
		notice = "The answer is too long to be shown; this is its beginning.\n"
	}
	if listed < len(a.Sources) {
		notice += fmt.Sprintf("Of its %d sources the first %d are listed.\n", len(a.Sources), listed)
	}
	return strings.TrimSpace(strings.TrimSpace(text) + between + sources), notice
}

// cited returns the text of an answer with the numbers of those sources in it
// that are listed, at most so many characters of both, and whether that is all.
func cited(a websearch.Answer, listed, most int) (text string, whole bool) {
	citations := slices.Clone(a.Citations)
	slices.SortStableFunc(citations, func(x, y websearch.Citation) int { return cmp.Compare(x.End, y.End) })
	out := limited{most: most}
	at := 0 // up to here a.Text is in out
	for i := 0; i < len(citations) && !out.full; {
		end := citations[i].End
		var sources []int
		for ; i < len(citations) && citations[i].End == end; i++ {
			sources = append(sources, citations[i].Sources...)
		}
		if end < 0 || end > len(a.Text) {
			continue
		}
		end = max(end, at)
		for end < len(a.Text) && !utf8.RuneStart(a.Text[end]) {
			end++
		}
		out.write(a.Text[at:end])
		at = end
		slices.Sort(sources)
		for _, n := range slices.Compact(sources) {
			if n >= 0 && n < listed {
				out.write(fmt.Sprintf("[%d]", n+1))
			}
		}
	}
	out.write(a.Text[at:])
	return out.b.String(), !out.full
}

// limited is text of at most so many characters. What comes after is left out.
type limited struct {
	b    strings.Builder
	most int
	full bool // something was left out
}

func (l *limited) write(text string) {
	if l.full {
		return
	}
	text = strings.ToValidUTF8(text, "\ufffd")
	start := beginning(text, l.most)
	l.b.WriteString(start)
	l.most -= utf8.RuneCountInString(start)
	l.full = len(start) < len(text)
}

// beginning returns at most so many characters of a text.
func beginning(text string, most int) string {
	n := 0
	for i := range text {
		if n == most {
			return text[:i]
		}
		n++
	}
	return text
}

// list numbers sources under a heading, one a line, with what the service shows
// of each: as many of them as fit into so many characters. "" where there is
// none.
func list(sources []websearch.Source, most int) (text string, listed int) {
	const heading = "Sources:\n"
	var b strings.Builder
	b.WriteString(heading)
	most -= len(heading)
	for _, s := range sources[:min(len(sources), maxSources)] {
		entry := entry(listed+1, s)
		if most -= utf8.RuneCountInString(entry); most < 0 {
			break
		}
		b.WriteString(entry)
		listed++
	}
	if listed == 0 {
		return "", 0
	}
	return b.String(), listed
}

// entry describes a source in the list.
func entry(n int, s websearch.Source) string {
	title := cmp.Or(oneLine(s.Title, maxTitle), "Untitled")
	text := fmt.Sprintf("[%d] %s", n, title)
	if s.URL != "" {
		text += " (" + oneLine(s.URL, maxURL) + ")"
	}
	if snippet := oneLine(s.Snippet, maxSnippet); snippet != "" {
		text += "\n    " + snippet
	}
	return text + "\n"
}

// oneLine returns text without line breaks, at most so many characters of it.
func oneLine(text string, most int) string {
	return escape.Clip(escape.OneLine(strings.ToValidUTF8(text, "\ufffd")), most)
}
