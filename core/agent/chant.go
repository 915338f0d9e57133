package agent

import (
	"slices"
	"strings"
	"unicode"
)

// Text repeats where one stretch of chantLength characters has come
// chantRepeats times close to each other, with little else between them.
const (
	chantLength   = 50
	chantRepeats  = 10
	chantDistance = 5 * chantLength // at most, on average
	chantBetween  = 5               // different texts between, at most
	chantMemory   = 5000            // characters that are looked at
)

// chant watches streamed text for a model that says the same over and over.
// Code, tables, lists, headings, quotes and dividers repeat by nature: code is
// not looked at, and each of the others begins anew. The zero value is ready.
type chant struct {
	text  []rune           // the last characters
	start int              // how many came before them
	seen  map[uint64][]int // where a stretch of a hash begins, counted from the very first character

	line   []rune // the beginning of the current line
	inCode bool
}

// lineStart is how much of a line tells what it is.
const lineStart = 12

// add takes the next piece of text, and reports whether it completes a loop.
func (c *chant) add(piece string) bool {
	for _, r := range piece {
		if c.structured(r) || c.inCode {
			c.reset()
			continue
		}
		if c.next(r) {
			return true
		}
	}
	return false
}

// reset forgets the text.
func (c *chant) reset() {
	c.start += len(c.text)
	c.text, c.seen = c.text[:0], nil
}

// structured takes the next character of a line, and reports whether it shows
// the line to be no plain text. A fence begins and ends code.
func (c *chant) structured(r rune) bool {
	if r == '\n' {
		c.line = c.line[:0]
		return false
	}
	if len(c.line) == lineStart {
		return false
	}
	c.line = append(c.line, r)
	line := strings.TrimLeftFunc(string(c.line), unicode.IsSpace)
	if line == "```" || line == "~~~" {
		c.inCode = !c.inCode
		return true
	}
	switch line {
	case "|", ">", "* ", "- ", "+ ", "# ", "## ", "### ", "#### ", "##### ", "###### ", "---", "***", "===", "___", "+++":
		return true
	}
	digits := strings.TrimLeft(line, "0123456789")
	return len(digits) < len(line) && (digits == ". " || digits == ") ")
}

// next takes the next character of plain text.
func (c *chant) next(r rune) bool {
	if len(c.text) == 2*chantMemory {
		c.forget()
	}
	c.text = append(c.text, r)
	if len(c.text) < chantLength {
		return false
	}
	first := len(c.text) - chantLength
	hash := hashOf(c.text[first:])
	if c.seen == nil {
		c.seen = make(map[uint64][]int)
	}
	places := c.seen[hash]
	if n := len(places); n > 0 && c.start+first-places[n-1] < chantLength && isLine(c.text[first:]) {
		return false
	}
	places = append(places, c.start+first)
	if len(places) > chantRepeats {
		places = slices.Delete(places, 0, 1)
	}
	c.seen[hash] = places
	return len(places) == chantRepeats && c.chants(places)
}

// forget drops all but the last chantMemory characters.
func (c *chant) forget() {
	n := len(c.text) - chantMemory
	c.text = append(c.text[:0], c.text[n:]...)
	c.start += n
	for hash, places := range c.seen {
		places = slices.DeleteFunc(places, func(at int) bool { return at < c.start })
		if c.seen[hash] = places; len(places) == 0 {
			delete(c.seen, hash)
		}
	}
}

// chants reports whether the stretches that begin at these places are the same,
// and close together with little else between.
func (c *chant) chants(places []int) bool {
	if places[len(places)-1]-places[0] > chantDistance*(len(places)-1) || places[0] < c.start {
		return false
	}
	last := places[len(places)-1] - c.start
	stretch := c.text[last : last+chantLength]
	between := make(map[string]bool)
	for i, place := range places[:len(places)-1] {
		at := place - c.start
		if !slices.Equal(c.text[at:at+chantLength], stretch) {
			return false
		}
		between[string(c.text[at:places[i+1]-c.start])] = true
	}
	return len(between) <= chantBetween
}

// isLine reports whether text is drawn of one or two characters, as a line
// is, which repeats at each step without saying the same again.
func isLine(text []rune) bool {
	first, other := text[0], text[0]
	for _, r := range text {
		switch {
		case r == first || r == other:
		case other != first:
			return false
		default:
			other = r
		}
	}
	return true
}

// hashOf is FNV-1a over characters.
func hashOf(text []rune) uint64 {
	h := uint64(14695981039346656037)
	for _, r := range text {
		h = (h ^ uint64(r)) * 1099511628211
	}
	return h
}
