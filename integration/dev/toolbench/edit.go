package main

import (
	"fmt"
	"strings"
)

// Change is a change of adjacent lines of a text, in the forms that contestants accept.
type Change struct {
	Path          string // absolute
	First, Last   int    // replaced lines, 1-based; Last < First: an insertion before First
	Lines         []string
	Old, New      string // replaced text, as short as is unique
	Wide, WideNew string // the same with three lines around
	Diff          string // unified diff with three lines of context
	Seen          string // the answer that gave the model its last version of the file
}

// changeOf returns the change from one text to another.
func changeOf(path, before, after string) Change {
	a, b := strings.SplitAfter(before, "\n"), strings.SplitAfter(after, "\n")
	a, b = trimmed(a), trimmed(b)
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < len(a)-head && tail < len(b)-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	c := Change{Path: path, First: head + 1, Last: len(a) - tail}
	for _, l := range b[head : len(b)-tail] {
		c.Lines = append(c.Lines, strings.TrimRight(l, "\r\n"))
	}
	from, to := head, len(a)-tail // the replaced text grows until it is unique
	for from > 0 || to < len(a) {
		if old := strings.Join(a[from:to], ""); old != "" && strings.Count(before, old) == 1 {
			break
		}
		from, to = max(0, from-1), min(len(a), to+1)
	}
	c.Old = strings.Join(a[from:to], "")
	c.New = strings.Join(a[from:head], "") + strings.Join(b[head:len(b)-tail], "") + strings.Join(a[len(a)-tail:to], "")
	if strings.HasSuffix(c.Old, "\n") && strings.HasSuffix(c.New, "\n") && len(c.Old) > 1 && len(c.New) > 1 {
		if old := strings.TrimSuffix(c.Old, "\n"); strings.Count(before, old) == 1 && strings.TrimSpace(old) != "" {
			c.Old, c.New = old, strings.TrimSuffix(c.New, "\n") // as models write it
		}
	}
	from, to = max(0, head-3), min(len(a), len(a)-tail+3)
	c.Wide, c.WideNew = strings.Join(a[from:to], ""), strings.Join(a[from:head], "")+strings.Join(b[head:len(b)-tail], "")+strings.Join(a[len(a)-tail:to], "")
	c.Diff = unified(a, b, head, tail)
	return c
}

func trimmed(lines []string) []string {
	if n := len(lines); n > 0 && lines[n-1] == "" {
		return lines[:n-1]
	}
	return lines
}

func unified(a, b []string, head, tail int) string {
	from, to := max(0, head-3), min(3, tail)
	var d strings.Builder
	before, after := len(a)-tail-head, len(b)-tail-head
	context := head - from + to
	start := func(lines int) int {
		if lines == 0 {
			return from
		}
		return from + 1
	}
	fmt.Fprintf(&d, "--- a/%s\n+++ b/%s\n@@ -%d,%d +%d,%d @@\n", target, target, start(before+context), before+context, start(after+context), after+context)
	put := func(sign string, lines []string) {
		for _, l := range lines {
			d.WriteString(sign + l)
			if !strings.HasSuffix(l, "\n") {
				d.WriteString("\n\\ No newline at end of file\n")
			}
		}
	}
	put(" ", a[from:head])
	put("-", a[head:len(a)-tail])
	put("+", b[head:len(b)-tail])
	put(" ", a[len(a)-tail:len(a)-tail+to])
	return d.String()
}
