package hookrun

import (
	"io/fs"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/hooks"
	"github.com/fettle-dev/fettle/docs"
)

// EX-10: the table of events, exit codes and effects in docs/hooks.md matches the
// behaviour.
func TestPage(t *testing.T) {
	page, err := fs.ReadFile(docs.Files(), "hooks.md")
	require.NoError(t, err)
	_, section, found := strings.Cut(string(page), "| event | exit code | effect |\n")
	require.True(t, found)
	rows := map[hooks.Event]map[int]string{}
	for line := range strings.Lines(section) {
		cells := strings.Split(line, "|")
		if len(cells) != 5 {
			break
		}
		code, ok := map[string]int{"0": 0, "1": 1, "2": 2, "3 and others": 3}[strings.TrimSpace(cells[2])]
		if !ok {
			continue
		}
		e := hooks.Event(strings.Trim(cells[1], " `"))
		if rows[e] == nil {
			rows[e] = map[int]string{}
		}
		rows[e][code] = strings.TrimSpace(cells[3])
	}
	require.Len(t, rows, len(hooks.Events()))
	for _, e := range hooks.Events() {
		require.Len(t, rows[e], 4, e)
		for code, effect := range rows[e] {
			got := fire(t, e, outcome(code, "", "why"))
			require.Equal(t, len(Warnings(&got)) > 0, strings.HasSuffix(effect, ", with a warning"), "%s %d: %v", e, code, Warnings(&got))
			blocked := got.Decision == hooks.Block && !advisory(e)
			goesOn := strings.HasPrefix(effect, "goes on") || strings.HasPrefix(effect, "done")
			require.Equal(t, blocked, !goesOn, "%s %d", e, code)
			if blocked {
				require.Equal(t, "why", got.Reason)
			}
		}
	}
}
