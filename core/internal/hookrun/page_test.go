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
	_, section, found := strings.Cut(string(page), "| event | 0 | 2 | 1, 3 and others |\n|---|---|---|---|\n")
	require.True(t, found)
	rows := map[hooks.Event]map[int]string{} // effects by exit code
	for line := range strings.Lines(section) {
		cells := strings.Split(line, "|")
		if len(cells) != 6 {
			break
		}
		for i := range cells {
			cells[i] = strings.Trim(cells[i], " `")
		}
		rows[hooks.Event(cells[1])] = map[int]string{0: cells[2], 2: cells[3], 1: cells[4], 3: cells[4]}
	}
	require.Len(t, rows, len(hooks.Events()))
	for _, e := range hooks.Events() {
		require.NotEmpty(t, rows[e], e)
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
