package contextcost

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/configtest"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/tools"
	"github.com/fettle-dev/fettle/core/tools/file"
)

var update = flag.Bool("update", false, "write the tables of docs/context-cost.md anew")

const page = "../../docs/context-cost.md"

// The tables of docs/context-cost.md equal the current figures of the tools, and the
// statements of the page are true. -update rewrites them.
func TestContextCost(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("paths have other lengths in JSON on Windows")
	}
	costs := map[task][]cost{}
	for _, task := range tasks() {
		for _, w := range ways() {
			costs[task] = append(costs[task], costOf(w.do(t, task)))
		}
	}
	for task, all := range costs {
		requireReading(t, task, all)
	}
	data, err := os.ReadFile(page)
	require.NoError(t, err)
	text := strings.ReplaceAll(string(data), "\r\n", "\n")
	want := text
	for _, lines := range []int{200, 2000} {
		want = withTable(t, want, fmt.Sprintf("%d lines", lines), costTable(lines, costs))
	}
	want = withTable(t, want, "refusals", refusalTable(t))
	want = withTable(t, want, "declarations", declarationTable(t))
	if *update {
		require.NoError(t, os.WriteFile(page, []byte(want), 0o644))
		return
	}
	require.Equal(t, want, text, "go test ./integration/contextcost -update rewrites the tables")
}

// requireReading checks the statements of the page about the figures.
func requireReading(t *testing.T, task task, all []cost) {
	t.Helper()
	patchDefault, patchWhole, patchRegions, editDefault, editWhole, editRegions, editSentence := all[0], all[1], all[2], all[3], all[4], all[5], all[6]
	if task.lines == 200 { // less than 16 KiB
		require.Equal(t, []cost{patchWhole, editWhole}, []cost{patchDefault, editDefault}, "%v", task)
	} else {
		require.Equal(t, []cost{patchRegions, editRegions}, []cost{patchDefault, editDefault}, "%v", task)
	}
	require.LessOrEqual(t, patchRegions.given, patchWhole.given, "%v: regions never cost more", task)
	require.LessOrEqual(t, editRegions.given, editWhole.given, "%v", task)
	for _, c := range all[:6] {
		require.Greater(t, c.entering, editSentence.entering, "%v: a sentence alone costs least", task)
		require.Greater(t, c.together, editSentence.together, "%v: the same with all changes in one turn", task)
	}
	if task.changes == 1 {
		require.Greater(t, patchWhole.entering, editWhole.entering, "%v: one change costs more as a patch", task)
		require.Greater(t, patchRegions.entering, editRegions.entering, "%v", task)
		return
	}
	for _, c := range []cost{editWhole, editRegions, editSentence} {
		require.Less(t, patchWhole.sent, c.sent, "%v: one call is sent less often than several", task)
	}
	require.Less(t, patchRegions.entering, editRegions.entering, "%v", task)
	require.Less(t, 2*patchWhole.entering, editWhole.entering, "%v", task)
}

// costTable returns the table for files of the given number of lines.
func costTable(lines int, costs map[task][]cost) string {
	var b strings.Builder
	b.WriteString("| changes | way | calls | arguments, bytes | results, bytes | written by the model, tokens | enters the context, tokens | sent without caching, tokens | the same, all changes in one turn |\n")
	b.WriteString("|---|---|---|---|---|---|---|---|---|\n")
	for _, task := range tasks() {
		if task.lines != lines {
			continue
		}
		for i, c := range costs[task] {
			fmt.Fprintf(&b, "| %d | %s | %d | %s | %s | %s | %s | %s | %s |\n", task.changes, ways()[i].title, c.calls,
				grouped(c.written), grouped(c.given), grouped(c.output), grouped(c.entering), grouped(c.sent), grouped(c.together))
		}
	}
	return b.String()
}

// refusalTable returns the table for a stale patch of a file of 2,000 lines in which
// another program has changed one distant line.
func refusalTable(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("| way | refusal, bytes | tokens |\n|---|---|---|\n")
	for _, w := range ways()[:2] {
		turn := w.refusal(t)
		fmt.Fprintf(&b, "| %s | %s | %s |\n", w.title, grouped(len(output(t, turn))), grouped(tokens(turn.response)))
		if w.regionsAbove == 0 {
			require.LessOrEqual(t, len(output(t, turn)), 1500)
		}
	}
	return b.String()
}

// declarationTable returns the table of the tool declarations in each request.
func declarationTable(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("| tool | declaration, bytes | tokens | with whole contents, tokens |\n|---|---|---|---|\n")
	regions, plain := declarations(t, 0), declarations(t, -1)
	for i, d := range regions {
		size := len(d.Name) + len(d.Description) + len(d.Parameters)
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", d.Name, grouped(size), grouped(declared(d)), grouped(declared(plain[i])))
	}
	return b.String()
}

func declared(d tools.FunctionDeclaration) int {
	return model.EstimateTokens(&model.Request{Tools: []model.Tool{{Name: d.Name, Description: d.Description, Parameters: d.Parameters}}})
}

func declarations(t *testing.T, regionsAbove int) []tools.FunctionDeclaration {
	t.Helper()
	s := configtest.New(t, func(p *config.Parameters) {
		p.Tools.Core = []string{file.ReadFile, file.SafePatch, file.WriteFile, file.Edit}
		p.Session.Limits.ChangedRegionsAbove = regionsAbove
	})
	registry, err := s.ToolRegistry()
	require.NoError(t, err)
	return registry.Declarations()
}

// withTable returns the page with the table of that name replaced.
func withTable(t *testing.T, page, name, table string) string {
	t.Helper()
	begin, end := "<!-- table: "+name+" -->\n\n", "\n<!-- table: end -->"
	before, rest, ok := strings.Cut(page, begin)
	require.True(t, ok, "%s has no table %s", page, name)
	_, after, ok := strings.Cut(rest, end)
	require.True(t, ok, "the table %s does not end", name)
	return before + begin + table + end + after
}

// grouped formats a number with commas.
func grouped(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
