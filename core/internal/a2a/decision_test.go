package a2a_test

import (
	"context"
	"testing"

	protocol "github.com/a2aproject/a2a-go/a2a"
	"github.com/a2aproject/a2a-go/a2asrv"
	"github.com/a2aproject/a2a-go/a2asrv/eventqueue"
	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/internal/a2a"
)

// FD-04: a request that is data reaches the model, and the answer to it is sent as data if it is a JSON object.
func TestDecision(t *testing.T) {
	var got []protocol.Part
	srv := newServer(t, library(func(ctx context.Context, r *a2asrv.RequestContext, q eventqueue.Queue) error {
		got = append(got, r.Message.Parts...)
		if r.StoredTask != nil {
			// gemini-cli's server reports the progress of the approved call in the state input-required.
			progress := protocol.NewMessageForTask(protocol.MessageRoleAgent, r, protocol.DataPart{Data: map[string]any{"status": "executing"}})
			if err := q.Write(ctx, protocol.NewStatusUpdateEvent(r, protocol.TaskStateInputRequired, progress)); err != nil {
				return err
			}
			e := protocol.NewStatusUpdateEvent(r, protocol.TaskStateCompleted, message(r, "Written."))
			e.Final = true
			return q.Write(ctx, e)
		}
		if err := q.Write(ctx, protocol.NewSubmittedTask(r, r.Message)); err != nil {
			return err
		}
		asks := protocol.NewMessageForTask(protocol.MessageRoleAgent, r, protocol.DataPart{Data: map[string]any{"status": "awaiting_approval", "callId": "c7"}})
		if err := q.Write(ctx, protocol.NewStatusUpdateEvent(r, protocol.TaskStateWorking, asks)); err != nil {
			return err
		}
		waits := protocol.NewStatusUpdateEvent(r, protocol.TaskStateInputRequired, nil)
		waits.Final = true
		return q.Write(ctx, waits)
	}))
	srv.streaming = true
	made := tool(t, service(t, a2a.Options{}), definition(srv.URL))
	first := say(t, made, `{"not": "an answer"}`)
	require.Contains(t, first.LLMContent.String(), "Termination reason: INPUT_REQUIRED")
	require.Contains(t, first.LLMContent.String(), "awaiting_approval")
	require.Contains(t, first.LLMContent.String(), "c7")
	second := say(t, made, `{"callId": "c7", "outcome": "proceed_once"}`)
	require.Contains(t, second.LLMContent.String(), "Written.")
	require.Equal(t, []protocol.Part{
		protocol.TextPart{Text: `{"not": "an answer"}`},
		protocol.DataPart{Data: map[string]any{"callId": "c7", "outcome": "proceed_once"}},
	}, got)
}
