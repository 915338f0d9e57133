package patch

import (
	"strings"
	"time"
)

// betweenParts is betweenLines for texts with many different lines, found as by segments. Only the lines of the segments
// are divided: the equal texts between them are compared as texts. It returns false for texts with fewer lines, or
// without equal lines between changes.
func betweenParts(oldText, newText string, limit time.Duration) (*Change, bool) {
	oldFrom, oldTo, newTo := inner(oldText, newText)
	olds, news := oldText[oldFrom:oldTo], newText[oldFrom:newTo]
	if countLines(olds)+countLines(news) < segmentLines {
		return nil, false
	}
	deadline := time.Now().Add(limit)
	c := &Change{}
	before := strings.Count(oldText[:oldFrom], "\n")
	oldLines, newLines := before, before
	for olds != "" || news != "" {
		n := prefix(olds, news)
		if n < len(olds) || n < len(news) {
			n = lineStart(olds[:n])
		}
		same := strings.Count(olds[:n], "\n")
		oldLines, newLines = oldLines+same, newLines+same
		if olds, news = olds[n:], news[n:]; olds == "" && news == "" {
			break
		}
		oldPart, newPart := firstLines(olds, segmentWindow+segmentAround), firstLines(news, segmentWindow+segmentAround)
		a, b, ok := nextEqual(oldPart, newPart)
		if ok {
			oldPart, newPart = oldPart[:a], newPart[:b]
		} else if len(c.fragments) == 0 {
			return nil, false
		} else {
			oldPart, newPart = splitLines(olds), splitLines(news)
		}
		left := limit
		if limit > 0 {
			left = max(time.Until(deadline), time.Nanosecond)
		}
		at := oldTo - len(olds)
		olds, news = olds[bytesOf(oldPart):], news[bytesOf(newPart):]
		context := lastLines(oldText[:at], contextLines)
		edits := diffLinesOf(oldPart, newPart, left)
		for i := range edits {
			edits[i].start += len(context)
			edits[i].end += len(context)
		}
		base := append(append(context, oldPart...), firstLines(oldText[oldTo-len(olds):], contextLines)...)
		part := &Change{fragments: fragments(base, edits)}
		part.move(oldLines-len(context), newLines-len(context))
		c.fragments = append(c.fragments, part.fragments...)
		oldLines, newLines = oldLines+len(oldPart), newLines+len(newPart)
	}
	return c, true
}

// inner returns the bounds of the lines of two texts between their first and their last different line. Both begin at
// the same byte.
func inner(oldText, newText string) (from, oldTo, newTo int) {
	from = prefix(oldText, newText)
	if from == len(oldText) && from == len(newText) {
		return from, from, from
	}
	from = lineStart(oldText[:from])
	n := suffix(oldText[from:], newText[from:])
	oldTo, newTo = len(oldText)-n, len(newText)-n
	starts := func(text string, at int) bool { return at == from || text[at-1] == '\n' }
	if !starts(oldText, oldTo) || !starts(newText, newTo) {
		rest := strings.IndexByte(oldText[oldTo:], '\n') + 1
		if rest == 0 {
			rest = n
		}
		oldTo, newTo = oldTo+rest, newTo+rest
	}
	return from, oldTo, newTo
}

// lineStart returns the start of the last line of text, which may be empty.
func lineStart(text string) int { return strings.LastIndexByte(text, '\n') + 1 }

// firstLines returns up to n first lines of text, each with its ending.
func firstLines(text string, n int) []string {
	var lines []string
	for len(lines) < n && text != "" {
		end := strings.IndexByte(text, '\n') + 1
		if end == 0 {
			end = len(text)
		}
		lines = append(lines, text[:end])
		text = text[end:]
	}
	return lines
}

// lastLines returns up to n last lines of text, which is empty or ends in a line feed.
func lastLines(text string, n int) []string {
	at := len(text)
	for range n {
		if at == 0 {
			break
		}
		at = lineStart(text[:at-1])
	}
	return firstLines(text[at:], n)
}

func bytesOf(lines []string) (n int) {
	for _, l := range lines {
		n += len(l)
	}
	return n
}
