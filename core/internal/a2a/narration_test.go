package a2a_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/internal/a2a"
)

// says is an agent's message in JSON.
func says(id, parts string) string {
	return fmt.Sprintf(`{"kind":"message","role":"agent","messageId":%q,"parts":[%s]}`, id, parts)
}

func textPart(s string) string { return fmt.Sprintf(`{"kind":"text","text":%q}`, s) }

// works is an event in the state working with a message; kind is the one in its metadata.
func works(kind, message string) string {
	return event(fmt.Sprintf(`{"kind":"status-update","taskId":"t","contextId":"c","final":false,"metadata":{"coderAgent":{"kind":%q}},"status":{"state":"working","message":%s}}`, kind, message))
}

func ends(state, more string) string {
	return event(fmt.Sprintf(`{"kind":"status-update","taskId":"t","contextId":"c","final":true,"status":{"state":%q%s}}`, state, more))
}

func artifact(text string) string {
	return event(fmt.Sprintf(`{"kind":"artifact-update","taskId":"t","contextId":"c","artifact":{"artifactId":"a","parts":[%s]}}`, textPart(text)))
}

// EX-12: the texts of working status messages belong to the answer.
func TestNarration(t *testing.T) {
	thought := works("thought", says("m", `{"kind":"data","data":{"subject":"Secretly","description":"x"}}`))
	long := strings.Repeat("chatter ", 4000)
	tests := map[string]struct {
		events []string
		want   string
	}{
		"chunks, as gemini-cli sends them": {[]string{thought, works("text-content", says("m1", textPart("It is 4"))), works("text-content", says("m2", textPart("2."))), ends("input-required", "")}, "It is 42."},
		"chunks of one message":            {[]string{works("", says("m", textPart("un"))), works("", says("m", textPart("split"))), ends("completed", "")}, "unsplit"},
		"messages":                         {[]string{works("", says("m1", textPart("One."))), works("", says("m2", textPart("Two."))), ends("completed", "")}, "One.\nTwo."},
		"spaces":                           {[]string{works("", says("m1", textPart("One "))), works("", says("m2", textPart("two"))), ends("completed", "")}, "One two"},
		"a thought as text":                {[]string{works("thought", says("m1", textPart("Hm"))), works("", says("m2", textPart("Yes."))), ends("completed", "")}, "Yes."},
		"with a result":                    {[]string{works("", says("m1", textPart("I look."))), artifact("Result."), ends("completed", "")}, "I look.\n\nResult."},
		"in the artifact":                  {[]string{works("", says("m1", textPart("Res"))), works("", says("m1", textPart("ult"))), artifact("The Result."), ends("completed", "")}, "The Result."},
		"in the last message":              {[]string{works("", says("m1", textPart("Which?"))), ends("input-required", `,"message":`+says("m2", textPart("Which?")))}, "Which?"},
		"the end repeats":                  {[]string{works("", says("m1", textPart("Found. Which?"))), ends("input-required", `,"message":`+says("m2", textPart("Which?")))}, "Found. Which?"},
		"a long narration":                 {[]string{works("", says("m1", textPart(long))), artifact("Result."), ends("completed", "")}, "Result.\n\n" + strings.TrimSpace(long)},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			srv := newServer(t, &handler{by: map[string][]reply{"message/stream": {pieces(tt.events...)}}})
			srv.streaming = true
			r := call(t, service(t, a2a.Options{}), definition(srv.URL), "x")
			require.Nil(t, r.Error)
			require.Equal(t, tt.want, r.ReturnDisplay.Text)
		})
	}
}

// The messages of a polled task since the last message of the user are the answer.
func TestNarrationOfHistory(t *testing.T) {
	task := func(state, history string) string {
		return `{"kind":"task","id":"t","contextId":"c","status":{"state":"` + state + `"},"history":[` + history + `]}`
	}
	user := `{"kind":"message","role":"user","messageId":"u","parts":[]}`
	history := strings.Join([]string{says("0", textPart("Before.")), user, says("1", textPart("One.")), says("2", `{"kind":"data","data":{}}`), says("3", textPart("Two."))}, ",")
	tests := map[string]struct {
		send reply
		get  []reply
		want string
	}{
		"polled":            {gives(working), []reply{gives(task("working", user)), gives(task("working", user+","+says("1", textPart("One.")))), gives(task("completed", history))}, "One.\nTwo."},
		"at once":           {gives(task("input-required", history)), nil, "One.\nTwo."},
		"no user":           {gives(task("completed", says("1", textPart("Old."))+","+says("2", textPart("New.")))), nil, "New."},
		"the current state": {gives(strings.Replace(working, `"working"`, `"working","message":`+says("1", textPart("One.")), 1)), []reply{gives(strings.Replace(working, `"working"`, `"working","message":`+says("1", textPart("One.")), 1)), gives(task("completed", ""))}, "One."},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			srv := newServer(t, &handler{by: map[string][]reply{"message/send": {tt.send}, "tasks/get": tt.get}})
			r := call(t, service(t, a2a.Options{}), definition(srv.URL), "x")
			require.Nil(t, r.Error)
			require.Equal(t, tt.want, r.ReturnDisplay.Text)
		})
	}
}

// A stream that narrates without end does not grow without limit.
func TestNarrationIsBounded(t *testing.T) {
	piece := works("text-content", says("m", textPart(strings.Repeat("x", 1<<20))))
	srv := newServer(t, &handler{by: map[string][]reply{"message/stream": {func(w http.ResponseWriter, id string, p json.RawMessage) {
		var all []string
		for range 10 {
			all = append(all, piece)
		}
		pieces(append(all, ends("completed", ""))...)(w, id, p)
	}}}})
	srv.streaming = true
	r := call(t, service(t, a2a.Options{MaxReport: 10}), definition(srv.URL), "x")
	require.Nil(t, r.Error)
	require.Contains(t, r.ReturnDisplay.Text, "it has 10485760 bytes, of which 10 are shown")
}
