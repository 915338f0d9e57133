package contextcost

import (
	"fmt"
	"strings"
)

// task is a number of changes in a file, evenly distributed. Each replaces two
// adjacent lines by two others, so the number of lines is constant.
type task struct {
	lines, changes int
}

// tasks returns the tasks of the tables.
func tasks() []task {
	var all []task
	for _, lines := range []int{200, 2000} {
		for _, changes := range []int{1, 5, 20} {
			all = append(all, task{lines, changes})
		}
	}
	return all
}

// source returns the lines of a file that resembles a program, with line feeds:
// functions of ten lines.
func (t task) source() []string {
	lines := make([]string, 0, t.lines)
	for i := 0; len(lines) < t.lines; i++ {
		lines = append(lines,
			fmt.Sprintf("// load%d reads the records of section %d and returns how many were kept.\n", i, i),
			fmt.Sprintf("func load%d(r *reader, keep func(record) bool) (int, error) {\n", i),
			fmt.Sprintf("\tsection, err := r.section(%d)\n", i),
			"\tif err != nil {\n",
			fmt.Sprintf("\t\treturn 0, fmt.Errorf(\"section %d: %%w\", err)\n", i),
			"\t}\n",
			fmt.Sprintf("\tkept := section.filter(keep, limit%d)\n", i),
			"\treturn len(kept), nil\n",
			"}\n",
			"\n")
	}
	return lines[:t.lines]
}

// at returns the 0-based first line of change i.
func (t task) at(i int) int {
	return (2*i+1)*t.lines/(2*t.changes)/10*10 + 6
}

// replacement returns the new lines of change i.
func (t task) replacement(i int) []string {
	n := t.at(i) / 10
	return []string{
		fmt.Sprintf("\tkept := section.filter(keep, r.limits[%d])\n", n),
		"\treturn len(kept), section.close()\n",
	}
}

// result returns the file after the first n changes.
func (t task) result(n int) []string {
	lines := t.source()
	for i := range n {
		copy(lines[t.at(i):], t.replacement(i))
	}
	return lines
}

// diff returns all changes as a unified diff with the given lines of context, as far
// as the file has them. Adjacent hunks are merged.
func (t task) diff(name string, context int) string {
	olds, news := t.source(), t.result(t.changes)
	var b strings.Builder
	fmt.Fprintf(&b, "--- a/%s\n+++ b/%s\n", name, name)
	for i := 0; i < t.changes; {
		first, end := max(0, t.at(i)-context), 0
		last := i
		for ; last < t.changes && (last == i || t.at(last)-context <= end); last++ {
			end = min(t.lines, t.at(last)+2+context)
		}
		fmt.Fprintf(&b, "@@ -%d,%d +%d,%d @@\n", first+1, end-first, first+1, end-first)
		at := first
		for ; i < last; i++ {
			b.WriteString(prefixed(" ", olds[at:t.at(i)]))
			at = t.at(i) + 2
			b.WriteString(prefixed("-", olds[t.at(i):at]) + prefixed("+", news[t.at(i):at]))
		}
		b.WriteString(prefixed(" ", olds[at:end]))
	}
	return b.String()
}

func prefixed(prefix string, lines []string) string {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(prefix + l)
	}
	return b.String()
}
