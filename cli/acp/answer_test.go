package acp

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	sdk "github.com/coder/acp-go-sdk"
	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/cli/internal/program"
)

// FD-02: a cancellation in the middle of an answer ends the turn with cancelled, and so
// does the end of the session.
func TestCancelInAnAnswer(t *testing.T) {
	stalled := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"It begins\"}}]}\n\n")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}))
	defer stalled.Close()
	e := edit(t, `{"turns": [{"text": "unused"}]}`, func(g *program.Flags) { g.Model = "openai:stalled" })
	t.Setenv("OPENAI_API_KEY", "a key of this test")
	t.Setenv("OPENAI_BASE_URL", stalled.URL+"/v1")
	id := e.open(false)
	begins := func(u sdk.SessionUpdate) bool {
		return u.AgentMessageChunk != nil && u.AgentMessageChunk.Content.Text.Text == "It begins"
	}

	done := make(chan sdk.StopReason)
	go func() { done <- e.say(id, "Tell me.") }()
	e.until(begins)
	require.NoError(t, e.conn.Cancel(t.Context(), sdk.CancelNotification{SessionId: id}))
	require.Equal(t, sdk.StopReasonCancelled, <-done)

	e.take()
	go func() { done <- e.say(id, "Tell me.") }()
	e.until(begins)
	_, err := e.conn.CloseSession(t.Context(), sdk.CloseSessionRequest{SessionId: id})
	require.NoError(t, err)
	require.Equal(t, sdk.StopReasonCancelled, <-done)
}
