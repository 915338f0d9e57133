package headless

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/cli/internal/conversation"
	"github.com/fettle-dev/fettle/cli/internal/program"
	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/redact"
)

// Of several answers JSON has the last one, unless it is incomplete; text has every
// complete one.
func TestReportersKeepWholeAnswers(t *testing.T) {
	said := []agent.Event{
		{Type: agent.EventText, Text: "First."}, {Type: agent.EventFinished},
		{Type: agent.EventText, Text: "Void"}, {Type: agent.EventRetry},
		{Type: agent.EventText, Text: "Sec"}, {Type: agent.EventText, Text: "ond.\n"}, {Type: agent.EventFinished},
		{Type: agent.EventText, Text: "Cut"},
	}
	for format, want := range map[string]string{conversation.FormatText: "First.\nSecond.\n", conversation.FormatJSON: `"response": "Second.\n"`} {
		var out bytes.Buffer
		r := newReporter(format, &out, false, conversation.NewStatistics(), redact.Text)
		r.begin(beginning{session: "s"})
		for _, e := range said {
			r.event(e)
		}
		r.end(program.Interrupted())
		require.Contains(t, out.String(), strings.TrimSpace(want[:len(want)-1]))
		require.NotContains(t, out.String(), "Void")
		require.NotContains(t, out.String(), "Cut")
	}
}

// The end of a prompt determines the exit code.
func TestEnded(t *testing.T) {
	failed := func(code fault.Code) *fault.Error { return fault.New(code, "test", "It failed.", "") }
	for name, tt := range map[string]struct {
		last agent.Event
		want program.ExitCode
	}{
		"done":           {agent.Event{Type: agent.EventDone}, program.ExitDone},
		"stopped":        {agent.Event{Type: agent.EventStopped, Text: "by a hook"}, program.ExitDone},
		"blocked":        {agent.Event{Type: agent.EventBlocked, Text: "by a hook"}, program.ExitToolError},
		"cancelled":      {agent.Event{Type: agent.EventCancelled}, program.ExitInterrupted},
		"model error":    {agent.Event{Type: agent.EventError, Err: failed(fault.ModelError)}, program.ExitToolError},
		"no model":       {agent.Event{Type: agent.EventError, Err: failed(fault.InvalidConfig)}, program.ExitConfig},
		"turns or time":  {agent.Event{Type: agent.EventLimit, Err: failed(fault.LimitReached)}, program.ExitLimit},
		"tokens":         {agent.Event{Type: agent.EventOverflow, Err: failed(fault.LimitReached)}, program.ExitLimit},
		"loop":           {agent.Event{Type: agent.EventLoop, Err: failed(fault.LoopDetected)}, program.ExitToolError},
		"invalid stream": {agent.Event{Type: agent.EventInvalidStream, Err: failed(fault.InvalidStream)}, program.ExitToolError},
		"in between":     {agent.Event{Type: agent.EventError, Err: failed(fault.Cancelled)}, program.ExitInterrupted},
	} {
		t.Run(name, func(t *testing.T) {
			err := conversation.Ended(tt.last, nil)
			if tt.want == program.ExitDone {
				require.NoError(t, err)
				return
			}
			_, code := failureOf(err)
			require.Equal(t, tt.want, code)
		})
	}
}
