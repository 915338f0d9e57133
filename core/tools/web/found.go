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

// The limits of the shown search results, in characters except for maxSources. A service may return megabytes.
const (
	maxFound   = 50_000 // in total
	maxSources = 50
	maxTitle   = 300
	maxURL     = 2000
	maxSnippet = 1000
)

// shown returns an answer as text with a numbered list of its sources at the end, and notices about omitted parts. If
// not all fits, text and sources get half of the room each, plus the room that the other does not need.
func shown(a websearch.Answer) (text, notice string) {
	const between = "\n\n"
	prose := min(utf8.RuneCountInString(a.Text)+len(between), maxFound/2)
	sources, listed := list(a.Sources, maxFound-prose)
	text, whole := cited(a, listed, maxFound-len(between)-utf8.RuneCountInString(sources))
	if !whole {
		notice = "The answer is too long; this is its beginning.\n"
	}
	if listed < len(a.Sources) {
		notice += fmt.Sprintf("The answer has %d sources; the first %d are listed.\n", len(a.Sources), listed)
	}
	return strings.TrimSpace(strings.TrimSpace(text) + between + sources), notice
}

// cited returns the text of an answer with the numbers of the listed sources inserted, at most most characters, and
// whether it is complete.
func cited(a websearch.Answer, listed, most int) (text string, whole bool) {
	citations := slices.Clone(a.Citations)
	slices.SortStableFunc(citations, func(x, y websearch.Citation) int { return cmp.Compare(x.End, y.End) })
	out := limited{most: most}
	at := 0 // end of the part of a.Text that is in out
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

// limited is a text with a maximum number of characters. Later text is dropped.
type limited struct {
	b    strings.Builder
	most int
	full bool // something was dropped
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

// beginning returns at most the first most characters of a text.
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

// list formats sources as a numbered list under a heading, one a line, with their excerpts, as many as fit into most
// characters. It returns "" if there are none.
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

// entry formats a source of the list.
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

// oneLine returns text as one line of at most most characters.
func oneLine(text string, most int) string {
	return escape.Clip(escape.OneLine(strings.ToValidUTF8(text, "\ufffd")), most)
}
