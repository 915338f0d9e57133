package mcp

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/cli/internal/program"
	"github.com/fettle-dev/fettle/core/tools"
)

// connectors is a session whose servers connect slowly.
type connectors struct {
	program.Session
	take time.Duration
}

func (c connectors) ConnectServers(ctx context.Context, wait time.Duration) []error {
	select {
	case <-time.After(min(c.take, wait)):
	case <-ctx.Done():
	}
	return []error{errors.New("the server is missing")}
}

// EX-20: connecting servers delay only the first list of tools, and only for a
// moment.
func TestConnectInTheBackground(t *testing.T) {
	tests := map[string]struct {
		take, waits time.Duration
	}{
		"soon there": {100 * time.Millisecond, 100 * time.Millisecond},
		"it hangs":   {time.Hour, time.Second},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var told strings.Builder
				s := &mcpServing{Program: &program.Program{Err: &told}}
				ctx, end := context.WithCancel(t.Context())
				begun := time.Now()
				c := s.connect(ctx, connectors{take: tt.take})
				require.Zero(t, time.Since(begun), "it returns at once")
				list := c.tools(func() []tools.DeclarativeTool { return nil })
				list()
				require.Equal(t, tt.waits, time.Since(begun))
				list()
				require.Equal(t, tt.waits, time.Since(begun), "the next one waits for nothing")
				if tt.take == tt.waits {
					require.Contains(t, told.String(), "the server is missing", "it is told before the tools are listed")
				}
				end()
				c.wait()
				require.LessOrEqual(t, strings.Count(told.String(), "missing"), 1)
			})
		})
	}
}

// EX-20: a process started as an MCP server by fettle connects to no servers and
// reports that.
func TestStartedAsServer(t *testing.T) {
	s := &mcpServing{alone: true}
	c := s.connect(t.Context(), connectors{take: time.Hour})
	c.tools(func() []tools.DeclarativeTool { return nil })()
	c.wait()
}
