package agent

import (
	"slices"
	"strings"
	"unicode"
)

// Text repeats if a stretch of chantLength characters occurs chantRepeats times at short distances, with few different
// texts between.
const (
	chantLength   = 50
	chantRepeats  = 10
	chantDistance = 5 * chantLength // maximum average distance
	chantBetween  = 5               // maximum number of different texts between
	chantMemory   = 5000            // number of characters that are kept
)

// chant detects repetition in streamed text. Code, tables, lists, headings, quotes and dividers repeat by nature: code
// is ignored, and each of the others resets the detection. The zero value is ready to use.
type chant struct {
	text  []rune           // the last characters
	start int              // number of characters before them
	seen  map[uint64][]int // positions of a stretch by hash, counted from the first character

	line   []rune // the start of the current line
	inCode bool
}

// lineStart is the length of the prefix that determines the kind of a line.
const lineStart = 12

// add adds text, and reports whether it completes a loop.
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

// structured adds a character of a line, and reports whether the line is not plain text. A fence starts and ends code.
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

// chants reports whether the stretches at these positions are equal and close together, with few
// different texts between.
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

// isLine reports whether text is a divider of one or two characters. A divider repeats at every
// position, which is not a loop.
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

// hashOf returns the FNV-1a hash of characters.
func hashOf(text []rune) uint64 {
	h := uint64(14695981039346656037)
	for _, r := range text {
		h = (h ^ uint64(r)) * 1099511628211
	}
	return h
}
