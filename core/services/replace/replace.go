// Package replace replaces a literal text that occurs a stated number of times in a file.
package replace

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/textfile"
)

// Any as [Replacement.Count] means any number of at least 1.
const Any = math.MinInt32

const op = "replace"

// Replacement is the replacement of a text in a number of places.
type Replacement struct {
	From, To string
	Count    int // of places; or [Any]
	// FromName, ToName and CountName are the names of the arguments, for messages. CountName is "" if
	// there is no such argument.
	FromName, ToName, CountName string
}

// Apply returns the new text of the file at path and the number of replaced places. LF and CR LF match
// each other, and the new text gets the line endings of the place or else of the file. Places are
// counted without overlap, but a Count of 1 is refused if another place overlaps the first one.
//
// Errors have code edit_no_occurrence_found, edit_expected_occurrence_mismatch, edit_no_change, or
// invalid_tool_params for an empty From. They may show content of the file.
func (r Replacement) Apply(path, base string) (text string, count int, err *fault.Error) {
	switch r.From {
	case "":
		return "", 0, fault.New(fault.InvalidToolParams, op, r.FromName+" is empty, so it has no place in "+path+".", "Pass the text to replace.")
	case r.To:
		return "", 0, r.noChange(path, "are the same")
	}
	places := occurrences(base, r.From)
	switch {
	case len(places) == 0:
		return "", 0, r.noOccurrence(path, base)
	case r.Count != Any && len(places) != r.Count:
		return "", 0, r.wrongCount(path, base, places)
	case r.Count == 1:
		if next, ok := overlapping(base, r.From, places[0]); ok {
			return "", 0, r.overlap(path, base, [][2]int{places[0], next})
		}
	}
	var b strings.Builder
	b.Grow(len(base) + len(places)*max(0, len(r.To)-len(r.From)))
	at := 0
	for _, pl := range places {
		b.WriteString(base[at:pl[0]])
		matched := base[pl[0]:pl[1]]
		if textfile.NewlineOf(matched) == textfile.NewlineNone {
			matched = base
		}
		b.WriteString(textfile.Restyle(r.To, matched))
		at = pl[1]
	}
	b.WriteString(base[at:])
	if b.String() == base {
		return "", 0, r.noChange(path, "differ in their line endings only, and the file keeps its own")
	}
	return b.String(), len(places), nil
}

// occurrences returns the positions of old in text, as byte ranges that do not overlap. LF and CR LF match each other.
func occurrences(text, old string) [][2]int {
	plain, old := strings.ReplaceAll(text, "\r\n", "\n"), strings.ReplaceAll(old, "\r\n", "\n")
	// Number of carriage returns removed so far.
	removed, next := 0, strings.Index(text, "\r\n")
	inText := func(at int) int {
		for next >= 0 && next-removed < at {
			removed++
			i := strings.Index(text[next+2:], "\r\n")
			if i < 0 {
				next = -1
			} else {
				next += 2 + i
			}
		}
		return at + removed
	}
	var places [][2]int
	for at := 0; ; {
		i := strings.Index(plain[at:], old)
		if i < 0 {
			return places
		}
		at += i + len(old)
		places = append(places, [2]int{inText(at - len(old)), inText(at)})
	}
}

// overlapping returns the next place of old in text that overlaps a place. ok is false if there is none.
func overlapping(text, old string, place [2]int) (next [2]int, ok bool) {
	from := place[0] + 1
	if strings.HasPrefix(text[place[0]:], "\r\n") {
		from++
	}
	end := min(len(text), place[1]+2*len(old)) // each LF of old may match CR LF
	for _, found := range occurrences(text[from:end], old) {
		next = [2]int{from + found[0], from + found[1]}
		return next, next[0] < place[1]
	}
	return next, false
}

// linesText lists the line numbers of places, limited to the first few.
func linesText(text string, places [][2]int) string {
	const most = 10
	var b strings.Builder
	b.WriteString("line ")
	if len(places) > 1 {
		b.Reset()
		b.WriteString("lines ")
	}
	line, at := 1, 0
	for i, pl := range places {
		if i == most {
			fmt.Fprintf(&b, " and %d more", len(places)-most)
			break
		}
		line += strings.Count(text[at:pl[0]], "\n")
		at = pl[0]
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(strconv.Itoa(line))
	}
	return b.String()
}

func (r Replacement) noChange(path, why string) *fault.Error {
	return fault.New(fault.EditNoChange, op,
		fmt.Sprintf("The edit would leave %s unchanged: %s and %s %s.", path, r.FromName, r.ToName, why),
		"If the file already has the change, continue; otherwise pass another "+r.ToName+".")
}

func (r Replacement) wrongCount(path, text string, places [][2]int) *fault.Error {
	remedy := "Add the lines around the text to " + r.FromName + " until it is unique"
	if len(places) < r.Count {
		remedy = "Correct " + r.FromName + " so that it also matches the other places"
	}
	if r.CountName != "" {
		remedy += fmt.Sprintf(", or set %s to %d if these are what should change", r.CountName, len(places))
	}
	return fault.New(fault.EditOccurrenceMismatch, op,
		fmt.Sprintf("Expected %d occurrence(s) of %s in %s but found %d, at %s.", r.Count, r.FromName, path, len(places), linesText(text, places)),
		remedy+".")
}

// overlap returns the error for a text that is expected once and has places that overlap.
func (r Replacement) overlap(path, text string, places [][2]int) *fault.Error {
	return fault.New(fault.EditOccurrenceMismatch, op,
		fmt.Sprintf("Expected 1 occurrence(s) of %s in %s but found several that overlap, the first at %s.", r.FromName, path, linesText(text, places)),
		"Add the lines around the text to "+r.FromName+" until it is unique.")
}

// noOccurrence returns the error for a missing text, with the place that nearly matches.
func (r Replacement) noOccurrence(path, text string) *fault.Error {
	remedy := "Copy " + r.FromName + " from the content as read, white space included."
	if line, found, want, ok := nearest(text, r.From); ok {
		remedy = fmt.Sprintf("Nearest is line %d, which reads %q where %s has %q. %s", line, found, r.FromName, want, remedy)
	}
	return fault.New(fault.EditNoOccurrenceFound, op, r.FromName+" does not occur in "+path+".", remedy)
}

// nearest finds the place in text where most lines of old match, ignoring outer white space, and returns the first line
// there (1-based) that differs.
func nearest(text, old string) (line int, found, want string, ok bool) {
	have, wanted := splitLines(text), splitLines(old)
	at := make(map[string]int, len(wanted)) // the first index of each line in old
	for i, l := range slices.Backward(wanted) {
		at[strings.TrimSpace(l)] = i
	}
	delete(at, "")
	agree := make(map[int]int) // number of matching lines by start of old in text
	start, most := 0, 0
	for k, l := range have {
		i, known := at[strings.TrimSpace(l)]
		if !known || k < i {
			continue
		}
		agree[k-i]++
		if n := agree[k-i]; n > most || n == most && k-i < start {
			start, most = k-i, n
		}
	}
	if most == 0 {
		return 0, "", "", false
	}
	for i, w := range wanted {
		if start+i >= len(have) {
			return 0, "", "", false
		}
		h := have[start+i]
		if h == w || i == 0 && strings.HasSuffix(h, w) || i == len(wanted)-1 && strings.HasPrefix(h, w) {
			continue
		}
		return start + i + 1, escape.Clip(h, 121), escape.Clip(w, 121), true
	}
	return 0, "", "", false
}

// splitLines returns the lines of text without their endings.
func splitLines(text string) []string {
	return strings.Split(strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\r\n", "\n"), "\n")
}
