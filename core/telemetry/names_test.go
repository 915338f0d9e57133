package telemetry_test

import (
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/fettle-dev/fettle/core/agent"
)

// names returns the constants of names.go with a prefix.
func names(t *testing.T, prefix string) []string {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), "names.go", nil, 0)
	require.NoError(t, err)
	var found []string
	ast.Inspect(f, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || !strings.HasPrefix(spec.Names[0].Name, prefix) {
			return true
		}
		value := spec.Values[0]
		if call, ok := value.(*ast.CallExpr); ok {
			value = call.Args[0]
		}
		text, err := strconv.Unquote(value.(*ast.BasicLit).Value)
		require.NoError(t, err)
		found = append(found, text)
		return true
	})
	return found
}

// rows returns the rows of the tables of docs/telemetry.md below a heading.
func rows(t *testing.T, heading string) [][]string {
	t.Helper()
	page, err := os.ReadFile("../../docs/telemetry.md")
	require.NoError(t, err)
	_, section, found := strings.Cut(string(page), "\n## "+heading+"\n")
	require.True(t, found, heading)
	section, _, _ = strings.Cut(section, "\n## ")
	var list [][]string
	for line := range strings.Lines(section) {
		if !strings.HasPrefix(line, "| `") {
			continue
		}
		var cells []string
		for _, cell := range strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|") {
			cells = append(cells, strings.ReplaceAll(strings.TrimSpace(cell), "`", ""))
		}
		list = append(list, cells)
	}
	return list
}

func column(rows [][]string, n int) []string {
	var cells []string
	for _, row := range rows {
		cells = append(cells, row[n])
	}
	return cells
}

// The tables of the page have every name and no other.
func TestNamesAreDocumented(t *testing.T) {
	require.ElementsMatch(t, names(t, "attr"), column(rows(t, "Attributes"), 0))
	require.ElementsMatch(t, names(t, "metric"), column(rows(t, "Metrics"), 0))
	var spans []string
	for _, row := range rows(t, "Spans") {
		name, _, _ := strings.Cut(row[0], " ")
		spans = append(spans, name)
	}
	require.ElementsMatch(t, names(t, "span"), spans)
}

// Every record has the kind, the unit and the attributes that the page states, and every name on
// the page is recorded.
func TestRecordsAreDocumented(t *testing.T) {
	w := watch(t, withContent)
	conversation(t, w)
	c := w.client(t, play(t, `{"text": "Hi.", "repeat": "forever"}`), registry(t), func(o *agent.Options) {
		o.Limits.CompactAt, o.Limits.OutputTokens = 1e-9, 100
		temperature := 0.5
		o.Temperature = &temperature
		o.Compactor = shorten{result: agent.Compaction{Status: agent.Compacted, Before: 9, After: 1}}
	})
	ask(t.Context(), c, "Hello.")
	ask(t.Context(), c, "Hello again.")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, end := w.Prompt(ctx, agent.PromptInfo{})
	end(agent.PromptEnd{Err: ctx.Err()})

	recorded := map[string]bool{}
	for _, s := range w.spans.Ended() {
		for _, a := range s.Attributes() {
			recorded[string(a.Key)] = true
		}
	}
	metrics := w.collected(t)
	for _, row := range rows(t, "Metrics") {
		m, ok := metrics[row[0]]
		require.True(t, ok, row[0])
		kind := "histogram"
		if _, isSum := m.Data.(metricdata.Sum[int64]); isSum {
			kind = "counter"
		}
		require.Equal(t, []string{kind, m.Unit}, row[1:3], row[0])
		require.NotEmpty(t, m.Description)
		for _, point := range points(m) {
			for _, a := range strings.Fields(strings.TrimSuffix(point, ":")) {
				if key, _, found := strings.Cut(a, "="); found {
					recorded[key] = true
					require.Contains(t, strings.Split(row[3], ", "), key, row[0])
				}
			}
		}
	}
	missing := slices.DeleteFunc(names(t, "attr"), func(name string) bool { return recorded[name] })
	require.Equal(t, []string{"gen_ai.response.id", "fettle.decision.line"}, missing) // a script has no response IDs, and no rule is from a file
}

// The bucket bounds are those of the semantic conventions.
func TestBounds(t *testing.T) {
	w := watch(t)
	conversation(t, w)
	tokens := w.collected(t)["gen_ai.client.token.usage"].Data.(metricdata.Histogram[int64]).DataPoints[0].Bounds
	require.Equal(t, []float64{1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864}, tokens)
	seconds := w.collected(t)["gen_ai.client.operation.duration"].Data.(metricdata.Histogram[float64]).DataPoints[0].Bounds
	require.Equal(t, []float64{0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92}, seconds)
}
