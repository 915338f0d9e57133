package catalog

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"unicode"
)

// maxTerms is the number of words of a query that are used, from its beginning.
const maxTerms = 32

// The places in which words of a query are searched, and their weights.
const (
	inName        = 8
	inTitle       = 6
	inServer      = 4
	inParameters  = 2
	inDescription = 1
)

// How well a word of a query matches a place.
const (
	isWord    = 3 // a whole word
	isAlike   = 2 // one is a prefix of the other
	isSomehow = 1 // a substring
)

// shortest is the length in bytes below which only whole words match.
const shortest = 3

// find returns the tools that match a query, best first, ignoring case. A tool whose name, here or at its server, is the
// whole query comes first. Other tools are ranked by score: for each word of the query the best place counts, weight
// times match, and the scores of the words are added up. Tools with equal scores are in listing order; tools without a
// score are omitted.
func (x *index) find(query string) []*entry {
	type scored struct {
		entry  *entry
		points int
	}
	const exact = 1 << 30
	terms := termsOf(query)
	whole := strings.ToLower(strings.TrimSpace(query))
	var found []scored
	for _, e := range x.entries {
		points := 0
		if e.isNamed(whole) {
			points = exact
		} else if len(terms) > 0 {
			points = e.points(terms)
		}
		if points > 0 {
			found = append(found, scored{e, points})
		}
	}
	slices.SortStableFunc(found, func(a, b scored) int { return cmp.Compare(b.points, a.points) })
	entries := make([]*entry, len(found))
	for i, f := range found {
		entries[i] = f.entry
	}
	return entries
}

// named returns the tools with an exact name, here or at their servers, ignoring case.
func (x *index) named(name string) []*entry {
	if e := x.byName[name]; e != nil {
		return []*entry{e}
	}
	folded := strings.ToLower(strings.TrimSpace(name))
	var all []*entry
	for _, e := range x.entries {
		if e.isNamed(folded) {
			all = append(all, e)
		}
	}
	return all
}

// isNamed reports whether the tool has a name, given in lower case.
func (e *entry) isNamed(folded string) bool {
	return folded != "" && (strings.ToLower(e.name) == folded || strings.ToLower(e.own) == folded)
}

// termsOf returns the distinct words of a query that are used.
func termsOf(query string) []string {
	var terms []string
	for _, w := range words(query) {
		if !slices.Contains(terms, w) && len(terms) < maxTerms {
			terms = append(terms, w)
		}
	}
	return terms
}

// place is a text to search.
type place struct {
	weight int
	text   string // in lower case
	words  []string
}

func placeOf(weight int, text string) place {
	return place{weight, strings.ToLower(text), words(text)}
}

func (e *entry) points(terms []string) int {
	places := []place{
		placeOf(inName, cmp.Or(e.own, e.name)), placeOf(inTitle, e.title), placeOf(inServer, e.server),
		placeOf(inParameters, strings.Join(parameters(e.schema), " ")), placeOf(inDescription, e.description),
	}
	sum := 0
	for _, term := range terms {
		best := 0
		for _, p := range places {
			best = max(best, p.weight*p.fit(term))
		}
		sum += best
	}
	return sum
}

// fit returns how well a word matches, 0 for no match.
func (p place) fit(term string) int {
	best := 0
	for _, w := range p.words {
		switch {
		case w == term:
			return isWord
		case min(len(w), len(term)) >= shortest && (strings.HasPrefix(w, term) || strings.HasPrefix(term, w)):
			best = isAlike
		}
	}
	if best == 0 && len(term) >= shortest && strings.Contains(p.text, term) {
		best = isSomehow
	}
	return best
}

// words splits a text at characters other than letters and digits, and between a lower-case letter and a capital, and
// returns the words in lower case.
func words(text string) []string {
	var all []string
	var word strings.Builder
	end := func() {
		if word.Len() > 0 {
			all = append(all, word.String())
			word.Reset()
		}
	}
	small := false // the previous letter is lower case
	for _, r := range text {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r):
			end()
		case small && unicode.IsUpper(r):
			end()
			fallthrough
		default:
			word.WriteRune(unicode.ToLower(r))
		}
		small = unicode.IsLower(r) || unicode.IsDigit(r)
	}
	end()
	return all
}

// parameters returns the sorted names of the parameters in a schema; none if it is invalid.
func parameters(schema json.RawMessage) []string {
	var s struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if json.Unmarshal(schema, &s) != nil {
		return nil
	}
	var names []string
	for name := range s.Properties {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
