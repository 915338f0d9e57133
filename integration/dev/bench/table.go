package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// row is one contestant in the table.
type row struct{ Case, Contestant, Least, Median, Spread, Ratio, Allocations string }

func headers() row {
	return row{"case", "contestant", "minimum", "median", "±", "fettle ÷ it, minimum and median", "allocated"}
}

func (r row) cells() []string {
	return []string{r.Case, r.Contestant, r.Least, r.Median, r.Spread, r.Ratio, r.Allocations}
}

// rows returns the rows of a result. Only the first one names the case.
func rows(r Result) []row {
	var all []row
	for _, o := range r.Outcomes {
		line := row{Contestant: o.Name}
		switch {
		case o.Measured():
			line.Least, line.Median, line.Spread = figure(o.Stats.Least, r.unit()), figure(o.Stats.Median, r.unit()), "–"
			if o.Turns > 1 {
				line.Spread = percent(o.Stats.Spread())
			}
			if o.Role != Ours {
				line.Ratio = times(o.Ratio.Least) + ", " + times(o.Ratio.Median)
			}
			if o.Allocations >= 0 {
				line.Allocations = figure(o.Allocated, Bytes) + " in " + digits(o.Allocations)
			}
		case o.Failed != "":
			line.Least = "failed: " + firstOf(o.Failed)
		case o.Skipped != "":
			line.Least = "skipped" // the reason is below the table, once
		default:
			continue
		}
		if len(all) == 0 {
			line.Case = r.Title
		}
		all = append(all, line)
	}
	return all
}

func firstOf(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// printTable writes the table, group by group, and the budgets below it.
func printTable(w io.Writer, results []Result) error {
	var out strings.Builder
	var all [][]string
	group := ""
	for _, r := range results {
		if r.group() != group {
			group = r.group()
			all = append(all, []string{"", strings.ToUpper(plain(groupTitle(group)))})
		}
		for _, line := range rows(r) {
			cells := line.cells()
			cells[0] = plain(cells[0])
			all = append(all, cells)
		}
	}
	columns(&out, headers().cells(), all)
	if lines := budgetRows(results); len(lines) > 0 {
		out.WriteByte('\n')
		for i := range lines {
			lines[i][0] = plain(lines[i][0])
		}
		columns(&out, budgetHeaders(), lines)
	}
	if all := missing(results); len(all) > 0 {
		out.WriteByte('\n')
		for _, text := range all {
			out.WriteString("skipped: " + plain(firstOf(text)) + "\n")
		}
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// plain removes the marks of Markdown.
func plain(s string) string { return strings.NewReplacer("`", "", `\|`, "|").Replace(s) }

func groupTitle(key string) string {
	for _, g := range groups() {
		if g.Key == key {
			return g.Title
		}
	}
	return key
}

// columns writes rows below a head with columns as wide as needed. The last cell of a row that has
// fewer cells than the head may exceed its column.
func columns(out *strings.Builder, head []string, rows [][]string) {
	widths := make([]int, len(head))
	for _, cells := range append([][]string{head}, rows...) {
		for i, c := range cells {
			if len(cells) == len(head) && !strings.HasPrefix(c, "failed: ") {
				widths[i] = max(widths[i], utf8.RuneCountInString(c))
			}
		}
	}
	for _, cells := range append([][]string{head}, rows...) {
		if len(cells) == 2 && cells[0] == "" { // a heading
			fmt.Fprintf(out, "\n%s\n", cells[1])
			continue
		}
		var line strings.Builder
		for i, c := range cells {
			line.WriteString(c)
			line.WriteString(strings.Repeat(" ", max(0, widths[i]-utf8.RuneCountInString(c))+2))
		}
		out.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
}

func budgetHeaders() []string {
	return []string{"budget", "at most", "found, minimum", "found, median", "met"}
}

// budgetRows returns a row for each budget.
func budgetRows(results []Result) [][]string {
	var all [][]string
	for _, r := range results {
		for _, v := range r.Verdicts {
			met := string(v.Met)
			if v.Note != "" {
				met += ": " + v.Note
			}
			all = append(all, []string{r.Title, v.limit(r.unit()), v.found(r.unit(), v.Found.Least), v.found(r.unit(), v.Found.Median), met})
		}
		if len(r.Verdicts) == 0 && (r.Skipped != "" || r.Failed != "") {
			for _, b := range r.Budgets {
				v := Verdict{Budget: b}
				all = append(all, []string{r.Title, v.limit(r.unit()), "–", "–", string(MetUndecided) + ": " + firstOf(r.Failed+r.Skipped)})
			}
		}
	}
	return all
}

// failures lists what went wrong, with the whole message.
func failures(results []Result) []string {
	var all []string
	for _, r := range results {
		for _, o := range r.Outcomes {
			if o.Failed != "" {
				all = append(all, fmt.Sprintf("%s, %s: %s", r.ID, o.Name, o.Failed))
			}
		}
	}
	return all
}

// missing lists the absent contestants by reason.
func missing(results []Result) []string {
	var all []string
	for _, r := range results {
		for _, o := range r.Outcomes {
			if o.Skipped != "" {
				line := o.Name + ": " + o.Skipped
				if o.Role == Ours {
					line = r.Title + ": " + o.Skipped
				}
				if !slices.Contains(all, line) {
					all = append(all, line)
				}
			}
		}
	}
	return all
}
