package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const (
	pageName    = "benchmarks.md"
	plotDirName = "benchmarks" // next to the page
	blockEnd    = "<!-- bench: end -->"
)

// blockStart returns the line before the block of a key.
func blockStart(key string) string { return "<!-- bench: " + key + " -->" }

// The keys of the blocks that do not belong to a group.
const (
	blockRun     = "run"
	blockBudgets = "budgets"
	blockAbsent  = "not-compared"
)

// blockKeys lists the blocks of the page.
func blockKeys() []string {
	keys := []string{blockRun, blockBudgets, blockAbsent}
	for _, g := range groups() {
		keys = append(keys, g.Key)
	}
	return keys
}

// writeDocs writes a run into the page in dir and its plots into the directory next to it. It
// removes plots that the run does not have, and returns the number of files that it wrote. The page
// outside of its blocks stays unchanged.
func writeDocs(dir string, info RunInfo, results []Result) (int, error) {
	path := filepath.Join(dir, pageName)
	page, err := os.ReadFile(path)
	if err != nil {
		return 0, fmt.Errorf("%w: run the command in fettle's repository, or set the directory of the page with -docs", err)
	}
	plots := drawPlots(results)
	blocks := map[string]string{blockRun: runBlock(info), blockBudgets: budgetBlock(results), blockAbsent: notComparedBlock()}
	for _, g := range groups() {
		blocks[g.Key] = groupBlock(g, results, plots)
	}
	text := string(page)
	for _, key := range blockKeys() {
		if text, err = replaceBlock(text, key, blocks[key]); err != nil {
			return 0, fmt.Errorf("%s: %w", path, err)
		}
	}
	plotDir := filepath.Join(dir, plotDirName)
	if err := os.MkdirAll(plotDir, 0o755); err != nil {
		return 0, err
	}
	var old []string
	for _, own := range []string{"growth-*.svg", "ratios-*.svg"} { // others come from other commands
		files, err := filepath.Glob(filepath.Join(plotDir, own))
		if err != nil {
			return 0, err
		}
		old = append(old, files...)
	}
	for _, p := range plots {
		file := filepath.Join(plotDir, p.File)
		if err := os.WriteFile(file, []byte(p.SVG), 0o644); err != nil {
			return 0, err
		}
		old = slices.DeleteFunc(old, func(o string) bool { return o == file })
	}
	for _, file := range old {
		if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return 0, err
		}
	}
	return len(plots) + 1, os.WriteFile(path, []byte(text), 0o644)
}

// replaceBlock replaces the content between the lines that begin and end a block.
func replaceBlock(page, key, content string) (string, error) {
	before, rest, ok := strings.Cut(page, blockStart(key)+"\n")
	if !ok {
		return "", fmt.Errorf("the line %s is missing, and %s after it", blockStart(key), blockEnd)
	}
	_, after, ok := strings.Cut(rest, blockEnd)
	if !ok {
		return "", fmt.Errorf("no line %s follows %s", blockEnd, blockStart(key))
	}
	return before + blockStart(key) + "\n" + strings.TrimSpace(content) + "\n" + blockEnd + after, nil
}

func runBlock(info RunInfo) string {
	var b strings.Builder
	m := info.Machine
	command := "go run -C integration/dev ./bench -write"
	if info.Full {
		command = "go run -C integration/dev ./bench -full -write"
	}
	fmt.Fprintf(&b, "<!-- names -->\n```sh\n%s\n```\n\nMeasured on %s, at least %s a case", command, info.Date, info.PerCase)
	if !info.Full {
		b.WriteString(", with the small sizes")
	}
	fmt.Fprintf(&b, ".\n\n| | |\n|---|---|\n| machine | %s, %d cores", orUnknown(m.Processor), m.Cores)
	if m.Memory > 0 {
		fmt.Fprintf(&b, ", %s of memory", figure(float64(m.Memory), Bytes))
	}
	fmt.Fprintf(&b, " |\n| system | %s, %s, scratch directory on %s |\n", m.OS, orUnknown(m.Kernel), orUnknown(m.Disk))
	fmt.Fprintf(&b, "| versions | %s |\n", escaped(info.versions()))
	if info.Load >= 0 {
		fmt.Fprintf(&b, "| load average at the beginning | %.2f |\n", info.Load)
	}
	if warning := info.busy(); warning != "" {
		fmt.Fprintf(&b, "\n**These figures must be measured again**: %s.\n", warning)
	}
	return b.String()
}

func orUnknown(s string) string {
	if s == "" {
		return "unknown"
	}
	return s
}

func budgetBlock(results []Result) string {
	met, all := 0, budgetRows(results)
	for _, line := range all {
		if line[4] == string(MetYes) {
			met++
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d of %d budgets are met.\n\n", met, len(all))
	for i := range all {
		if cell := &all[i][4]; *cell != string(MetYes) {
			*cell = "**" + *cell + "**"
		}
	}
	markdownTable(&b, budgetHeaders(), all)
	return b.String()
}

func notComparedBlock() string {
	var b strings.Builder
	for _, n := range notCompared() {
		fmt.Fprintf(&b, "- %s: %s.\n", escaped(n.Subject), escaped(n.Because))
	}
	return b.String()
}

func groupBlock(g Group, results []Result, plots []Plot) string {
	var b strings.Builder
	var descriptions []string
	var lines [][]string
	var members []Result
	for _, r := range results {
		if r.group() != g.Key {
			continue
		}
		members = append(members, r)
		if !slices.Contains(descriptions, r.Description) {
			descriptions = append(descriptions, r.Description)
		}
		for _, line := range rows(r) {
			if line.Median != "" { // skipped and failed contestants are named below
				lines = append(lines, line.cells())
			}
		}
	}
	if len(members) == 0 {
		return "Not measured in this run."
	}
	fmt.Fprintf(&b, "%s\n\n", strings.Join(descriptions, " "))
	markdownTable(&b, headers().cells(), lines)
	for _, p := range plots {
		if p.Group == g.Key {
			fmt.Fprintf(&b, "\n![%s](%s/%s)\n", p.Title, plotDirName, p.File)
		}
	}
	if absent := missing(members); len(absent) > 0 {
		fmt.Fprintf(&b, "\nNot here: %s.\n", escaped(strings.Join(absent, "; ")))
	}
	if wrong := failures(members); len(wrong) > 0 {
		b.WriteString("\n**Failed**:\n")
		for _, text := range wrong {
			fmt.Fprintf(&b, "- %s\n", escaped(firstOf(text)))
		}
	}
	return b.String()
}

func markdownTable(b *strings.Builder, head []string, lines [][]string) {
	fmt.Fprintf(b, "| %s |\n|%s\n", strings.Join(head, " | "), strings.Repeat("---|", len(head)))
	for _, cells := range lines {
		fmt.Fprintf(b, "| %s |\n", strings.Join(cells, " | "))
	}
}

// escaped escapes a text for the page and for cells of a table.
func escaped(s string) string {
	return strings.NewReplacer("|", `\|`, "<", "&lt;", "\n", " ").Replace(s)
}
