package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

const (
	begin  = "<!-- fuzz: go run -C integration/dev ./fuzz -time 2m -keep -write -->\n"
	end    = "<!-- end of fuzz -->\n"
	header = "| target | executions | a second | seconds | corpus | new | load | date | result |\n|---|--:|--:|--:|--:|--:|--:|---|---|\n"
)

func (r outcome) row() string {
	load := r.Load
	if load == "" {
		load = "–"
	}
	return fmt.Sprintf("| `%s` | %d | %d | %.0f | %d | %d | %s | %s | %s |\n", r.Target, r.Executions, r.PerSecond, r.Seconds, r.Corpus, r.New, load, r.Date, r.Result)
}

// table returns the outcomes as Markdown.
func table(all []outcome) string {
	var b strings.Builder
	b.WriteString(header)
	var sum int64
	for _, r := range all {
		b.WriteString(r.row())
		sum += r.Executions
	}
	fmt.Fprintf(&b, "\n%d targets, %d executions.\n", len(all), sum)
	return b.String()
}

// write writes the outcomes between the marks of a page. Rows of other targets stay if they come
// from the same machine.
func write(file, machine string, all []outcome) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	text, err := merge(string(data), machine, all)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return os.WriteFile(file, []byte(text), 0o644)
}

func merge(text, machine string, all []outcome) (string, error) {
	before, rest, has := strings.Cut(text, begin)
	old, after, ends := strings.Cut(rest, end)
	if !has || !ends {
		return "", fmt.Errorf("has no lines %q and %q", strings.TrimSpace(begin), strings.TrimSpace(end))
	}
	rows := map[string]string{}
	if strings.Contains(old, "\n"+machine+"\n") {
		for line := range strings.Lines(old) {
			if name, is := strings.CutPrefix(line, "| `"); is {
				name, _, _ = strings.Cut(name, "`")
				rows[name] = line
			}
		}
	}
	for _, r := range all {
		rows[r.Target] = r.row()
	}
	names := make([]string, 0, len(rows))
	var sum int64
	for name, row := range rows {
		names = append(names, name)
		var n int64
		_, _ = fmt.Sscanf(strings.Split(row, "|")[2], "%d", &n)
		sum += n
	}
	slices.Sort(names)
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s\n\n%s", machine, header)
	for _, name := range names {
		b.WriteString(rows[name])
	}
	fmt.Fprintf(&b, "\n%d targets, %d executions.\n\n", len(names), sum)
	return before + begin + b.String() + end + after, nil
}
