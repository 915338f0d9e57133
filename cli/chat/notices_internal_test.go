package chat

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/cli/interactive"
	"github.com/fettle-dev/fettle/cli/internal/program"
)

// UI-05: information about a session keeps its level until it is displayed; errors are warnings.
func TestNoticesKeepTheirLevel(t *testing.T) {
	var n notices
	p := &program.Program{Err: &n, Notify: n.inform}
	p.PrintNotice("The model is gpt-5.")
	p.PrintError(errors.New("a setting is unknown"))
	require.Equal(t, []notice{
		{interactive.LevelInfo, "The model is gpt-5."},
		{interactive.LevelWarning, "a setting is unknown"},
	}, n.take())
}
