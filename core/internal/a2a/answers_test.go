package a2a_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/agent/subagent"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/internal/a2a"
	"github.com/fettle-dev/fettle/core/tools"
)

func TestAnswers(t *testing.T) {
	tests := map[string]struct {
		streaming bool
		by        map[string][]reply
		want, err string
	}{
		"not a stream":         {true, map[string][]reply{"message/stream": {gives(finished)}}, "It is done.", ""},
		"no stream after all":  {true, map[string][]reply{"message/stream": {fails(-32004, "no")}, "message/send": {gives(finished)}}, "It is done.", ""},
		"an unknown event":     {true, map[string][]reply{"message/stream": {pieces(event(`{"kind":"new"}`), "data: what\n\n", event(finished))}}, "It is done.", ""},
		"an error in a stream": {true, map[string][]reply{"message/stream": {pieces(event(working), "data: {\"error\":{\"code\":-32603,\"message\":\"boom\"}}\n\n")}}, "", "error -32603: boom"},
		"no task, forgotten":   {false, map[string][]reply{"message/send": {fails(-32001, "gone")}}, "", "error -32001"},
		"refused":              {false, map[string][]reply{"message/send": {status(401)}}, "", "denied access (HTTP status 401)"},
		"sent elsewhere": {false, map[string][]reply{"message/send": {func(w http.ResponseWriter, _ string, _ json.RawMessage) {
			w.Header().Set("Location", "http://example.com/")
			w.WriteHeader(http.StatusTemporaryRedirect)
		}}}, "", "redirects calls"},
		"parts of all kinds": {false, map[string][]reply{"message/send": {gives(`{"kind":"message","role":"agent","messageId":"m","parts":[{"kind":"text","text":"T"},
			{"kind":"data","data":{"a":1}},{"kind":"file","file":{"uri":"http://x/y","name":"f"}},{"kind":"file","file":{"bytes":"AAAA","mimeType":"image/png"}}]}`)}},
			"T\n{\"a\":1}\n[file f : http://x/y]\n[file  image/png: 3 bytes, not shown]", ""},
		"history alone": {false, map[string][]reply{"message/send": {gives(`{"kind":"task","id":"t","contextId":"c","status":{"state":"completed"},
			"history":[{"kind":"message","role":"agent","messageId":"m","parts":[{"kind":"text","text":"Old."}]},{"kind":"message","role":"user","messageId":"n","parts":[]}]}`)}}, "Old.", ""},
		"nothing":     {false, map[string][]reply{"message/send": {gives(`{"kind":"task","id":"t","contextId":"c","status":{"state":"completed"}}`)}}, "The answer has no text.", ""},
		"a bad event": {false, map[string][]reply{"message/send": {gives(`[]`)}}, "", "not valid in the protocol"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			srv := newServer(t, &handler{by: tt.by})
			srv.streaming = tt.streaming
			r := call(t, service(t, a2a.Options{}), definition(srv.URL), "x")
			if tt.err != "" {
				require.NotNil(t, r.Error)
				require.Contains(t, r.Error.Message, tt.err)
				return
			}
			require.Nil(t, r.Error)
			require.Contains(t, r.LLMContent.String(), tt.want)
		})
	}
}

// A server that no longer has the task receives the message as the first of a new one.
func TestForgottenTask(t *testing.T) {
	const asks = `{"kind":"task","id":"t1","contextId":"c1","status":{"state":"input-required"}}`
	srv := newServer(t, &handler{by: map[string][]reply{"message/send": {gives(asks), fails(-32001, "gone"),
		func(w http.ResponseWriter, id string, params json.RawMessage) {
			if strings.Contains(string(params), "taskId") || !strings.Contains(string(params), `"contextId":"c1"`) {
				status(500)(w, id, params)
				return
			}
			gives(finished)(w, id, params)
		}}}})
	made := tool(t, service(t, a2a.Options{}), definition(srv.URL))
	say(t, made, "x")
	r := say(t, made, "y")
	require.Nil(t, r.Error)
	require.Contains(t, r.LLMContent.String(), "It is done.")
}

// A long answer is cut, with a note for the model.
func TestLongAnswer(t *testing.T) {
	srv := newServer(t, &handler{by: map[string][]reply{"message/send": {gives(fmt.Sprintf(`{"kind":"message","role":"agent","messageId":"m","parts":[{"kind":"text","text":%q}]}`, strings.Repeat("é", 1000)))}}})
	r := call(t, service(t, a2a.Options{MaxReport: 101}), definition(srv.URL), "x")
	require.Contains(t, r.LLMContent.String(), "\n"+strings.Repeat("é", 50)+"\n[The report was cut here: it has 2000 bytes, of which 100 are shown.]")
}

// The end of ctx ends the call, and the server is notified.
func TestCancel(t *testing.T) {
	cancelled := make(chan struct{})
	h := &handler{by: map[string][]reply{
		"message/stream": {func(w http.ResponseWriter, _ string, _ json.RawMessage) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, event(`{"kind":"task","id":"t1","contextId":"c1","status":{"state":"working","message":{"kind":"message","role":"agent","messageId":"m","parts":[{"kind":"text","text":"Well…"}]}}}`))
			w.(http.Flusher).Flush()
			<-cancelled
		}},
		"tasks/cancel": {func(w http.ResponseWriter, id string, params json.RawMessage) {
			if strings.Contains(string(params), `"t1"`) {
				close(cancelled)
			}
			gives(`{"kind":"task","id":"t1","contextId":"c1","status":{"state":"canceled"}}`)(w, id, params)
		}},
	}}
	srv := newServer(t, h)
	srv.streaming = true
	made := tool(t, service(t, a2a.Options{}), definition(srv.URL))
	inv, err := made.Build(json.RawMessage(`{"query":"x"}`))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, err = inv.Execute(ctx, func(string) { cancel() })
	require.ErrorIs(t, err, context.Canceled)
	<-cancelled
}

// The time of a call is limited.
func TestTimeout(t *testing.T) {
	t.Parallel()
	srv := newServer(t, &handler{by: map[string][]reply{"message/send": {gives(working)}, "tasks/get": {gives(working)}}})
	r := call(t, service(t, a2a.Options{Timeout: 2 * time.Second}), definition(srv.URL), "x")
	require.NotNil(t, r.Error)
	require.Contains(t, r.Error.Message, "did not answer within 2s")
	require.Contains(t, srv.called(), "tasks/cancel")
}

// Calls of one tool run one after the other, and a waiting call ends with its ctx.
func TestOneAtATime(t *testing.T) {
	begun, release := make(chan struct{}), make(chan struct{})
	srv := newServer(t, &handler{by: map[string][]reply{"message/send": {func(w http.ResponseWriter, id string, params json.RawMessage) {
		close(begun)
		<-release
		gives(finished)(w, id, params)
	}, gives(finished)}}})
	made := tool(t, service(t, a2a.Options{}), definition(srv.URL))
	first := make(chan error)
	go func() {
		_, err := execute(t.Context(), t, made, "x")
		first <- err
	}()
	<-begun
	ctx, cancel := context.WithCancel(t.Context())
	second := make(chan error)
	go func() {
		_, err := execute(ctx, t, made, "y")
		second <- err
	}()
	cancel()
	require.ErrorIs(t, <-second, context.Canceled)
	close(release)
	require.NoError(t, <-first)
	require.Len(t, srv.called(), 1)
}

// The confirmation names the server and the text, and no secret.
func TestConfirmation(t *testing.T) {
	d := definition("https://agents.example.com/card.json?key=topsecret")
	d.Remote.Auth = &subagent.Auth{Type: subagent.AuthHTTP, Scheme: "Basic", Username: "$NAME", Password: "topsecret"}
	made := tool(t, service(t, a2a.Options{}), d)
	require.Equal(t, tools.KindOther, made.Spec().Kind)
	require.False(t, made.Spec().Mutates())
	require.Equal(t, "echo", made.Agent().Name)
	inv, err := made.Build(json.RawMessage(`{"query":"the text"}`))
	require.NoError(t, err)
	c, err := inv.Confirmation(t.Context())
	require.NoError(t, err)
	require.Equal(t, tools.ConfirmInfo, c.Type)
	require.Equal(t, []string{"https://agents.example.com/card.json"}, c.URLs)
	require.Contains(t, c.Prompt, "the text")
	require.Contains(t, c.Prompt, "the value of $NAME, and a value from the agent's definition")
	require.NotContains(t, c.Prompt, "topsecret")
	_, err = made.Build(json.RawMessage(`{}`))
	require.True(t, errors.Is(err, &fault.Error{Code: fault.InvalidToolParams}))
}
