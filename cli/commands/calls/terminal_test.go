package calls

import (
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/cli/internal/program"
	"github.com/fettle-dev/fettle/core/bus"
)

// Without a terminal no approver is attached.
func TestNoTerminalNobodyAttached(t *testing.T) {
	b := bus.New(bus.Options{})
	p := &program.Program{In: strings.NewReader("y\n"), Out: io.Discard, Err: io.Discard}
	_, detach := attachUser(t.Context(), p, &busSession{bus: b}, false)
	_, err := bus.Ask(t.Context(), b, bus.ToolConfirmationRequest{Outcomes: []bus.Outcome{bus.ProceedOnce}})
	require.ErrorIs(t, err, bus.ErrNoApprover)
	detach()
}
