package gateway

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/cli/guard/decide"
	"github.com/fettle-dev/fettle/core/confirmation"
	"github.com/fettle-dev/fettle/core/policy"
)

const forms = `{"elicitation":{}}`

// FD-03: rules decide about the calls of a server's tools by fettle's names. A call
// that is not allowed never reaches the server.
func TestRules(t *testing.T) {
	r := newRules(t,
		policy.Rule{Tools: []string{"mcp_files_read"}, Decision: policy.Allow, Priority: 100},
		policy.Rule{Tools: []string{"mcp_files_wipe"}, Decision: policy.Deny, Priority: 100, DenyMessage: "Nothing is wiped here."},
		policy.Rule{Tools: []string{"mcp_files_write"}, ArgsPattern: "secret", Decision: policy.Deny, Priority: 200},
		policy.Rule{Tools: []string{"mcp_files_write"}, Decision: policy.Allow, Priority: 100},
		policy.Rule{Tools: []string{"mcp_files_guarded"}, Decision: policy.AskUser, Priority: 100},
	)
	tests := []struct {
		name, tool, args string
		grants           []string
		runs             bool
		says             string
	}{
		{"allowed", "read", `{}`, nil, true, ""},
		{"denied", "wipe", `{}`, nil, false, "Nothing is wiped here."},
		{"denied in spite of a grant", "wipe", `{}`, []string{"*"}, false, "Nothing is wiped here."},
		{"allowed by arguments", "write", `{"path":"a"}`, nil, true, ""},
		{"denied by arguments", "write", `{"path":"secret"}`, nil, false, "policy denies it"},
		{"denied by arguments in an escape", "write", `{"path":"\u0073ecret"}`, nil, false, "policy denies it"},
		{"no rule and nobody to ask", "list", `{}`, nil, false, "--grant list"},
		{"granted", "list", `{}`, []string{"list"}, true, ""},
		{"granted by a prefix", "list", `{}`, []string{"li*"}, true, ""},
		{"another grant", "list", `{}`, []string{"lis", "x*"}, false, "requires approval"},
		{"a rule asks in spite of a grant", "guarded", `{}`, []string{"*"}, false, "requires approval"},
		{"invisible characters in the name", "re\\u200bad", `{}`, []string{"*"}, false, "invisible"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newFake(echo)
			p := connect(t, Options{Decider: r, Grants: tt.grants}, f.serve)
			p.initialize("2025-06-18", `{}`)
			line := fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"%s","arguments":%s}}`, tt.tool, tt.args)
			p.send(line)
			answer := p.line()
			if tt.runs {
				require.Equal(t, line, f.next(t), "the server receives the same bytes")
				require.NotContains(t, answer, `"isError"`)
			} else {
				require.Contains(t, answer, `"isError":true`)
				require.Contains(t, answer, tt.says)
				require.Empty(t, f.got)
			}
			require.NoError(t, p.end())
		})
	}
}

// The annotations of a server make a decision stricter, never milder.
func TestAnnotations(t *testing.T) {
	r := newRules(t,
		policy.Rule{Tools: []string{"mcp_files_*"}, Annotations: map[string]any{"readOnlyHint": true}, Decision: policy.Allow, Priority: 100},
		policy.Rule{Tools: []string{"mcp_files_*"}, Annotations: map[string]any{"destructiveHint": true}, Decision: policy.Deny, Priority: 100},
	)
	f := newFake(func(m *message) string {
		if m.method == methodTools {
			return string(result(m.id, map[string]any{"tools": []any{
				map[string]any{"name": "nice", "annotations": map[string]any{"readOnlyHint": true}},
				map[string]any{"name": "bad", "annotations": map[string]any{"destructiveHint": true}},
			}}))
		}
		return echo(m)
	})
	p := connect(t, Options{Decider: r, Grants: []string{"bad"}}, f.serve)
	p.initialize("2025-06-18", `{}`)
	p.send(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	p.line()
	f.next(t)
	for _, tool := range []string{"nice", "bad"} {
		p.send(toolCall(2, tool, `{}`))
		require.Contains(t, p.line(), `"isError":true`, tool)
	}
	require.Empty(t, f.got)
}

// brokenDecider fails.
type brokenDecider struct{ rules }

func (brokenDecider) Decide(context.Context, decide.Call) (policy.Decision, error) {
	return policy.Decision{Explanation: confirmation.Explanation{Decision: policy.Allow}}, errors.New("disk gone")
}

// A failure of the policy denies.
func TestPolicyFails(t *testing.T) {
	f := newFake(echo)
	p := connect(t, Options{Decider: brokenDecider{newRules(t)}, Grants: []string{"*"}}, f.serve)
	p.initialize("2025-06-18", forms)
	p.send(toolCall(1, "read", `{}`))
	require.Contains(t, p.line(), "disk gone")
	require.Empty(t, f.got)
}

// FD-03: a call that requires approval is asked about with fettle's form.
func TestAsk(t *testing.T) {
	tests := []struct {
		name, answer string
		runs         bool
		says         string
		after        bool // a second call runs without a question
		other        bool // so does a call of another tool
	}{
		{"once", `{"action":"accept","content":{"answer":"once"}}`, true, "", false, false},
		{"session", `{"action":"accept","content":{"answer":"session"}}`, true, "", true, false},
		{"server", `{"action":"accept","content":{"answer":"server"}}`, true, "", true, true},
		{"no", `{"action":"accept","content":{"answer":"no","reason":"use\u202e list"}}`, false, "use<U+202E> list", false, false},
		{"saved is not offered", `{"action":"accept","content":{"answer":"saved"}}`, false, "was not offered", false, false},
		{"decline", `{"action":"decline"}`, false, "denied it", false, false},
		{"cancel", `{"action":"cancel"}`, false, "was not answered", false, false},
		{"unknown action", `{"action":"yes"}`, false, "unknown", false, false},
		{"accept without an answer", `{"action":"accept"}`, false, "was not offered", false, false},
		{"no object", `"once"`, false, "unknown", false, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newFake(echo)
			p := connect(t, Options{}, f.serve)
			p.initialize("2025-11-25", forms)
			p.send(toolCall(1, "read", "{\"path\":\"a\u202eb\"}"))
			q := p.message()
			require.Equal(t, "elicitation/create", q["method"])
			params := q["params"].(map[string]any)
			require.Equal(t, "form", params["mode"])
			require.Contains(t, params["message"], "The tool read of the MCP server files wants to run.")
			require.Contains(t, params["message"], "a<U+202E>b", "the call is shown as it is")
			schema := params["requestedSchema"].(map[string]any)["properties"].(map[string]any)["answer"].(map[string]any)
			require.Equal(t, []any{"once", "session", "server", "no"}, schema["enum"])
			require.Empty(t, f.got, "the server knows nothing of the call yet")
			p.quiet() // other requests run meanwhile
			p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,"result":%s}`, q["id"], tt.answer))
			answer := p.line()
			require.Contains(t, answer, `"id":1`)
			if tt.runs {
				require.Contains(t, f.next(t), `"read"`)
			} else {
				require.Contains(t, answer, `"isError":true`)
				require.Contains(t, answer, tt.says)
			}
			for tool, silent := range map[string]bool{"read": tt.after, "list": tt.other} {
				p.send(toolCall(2, tool, `{"path":"a\u202eb"}`))
				m := p.message()
				if silent {
					require.NotContains(t, m, "method", tool)
					continue
				}
				require.Equal(t, "elicitation/create", m["method"], tool)
				p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,"result":{"action":"decline"}}`, m["id"]))
				p.line()
			}
		})
	}
}

// A call that cannot be shown completely is approved once at most.
func TestAskAboutLongCall(t *testing.T) {
	f := newFake(echo)
	p := connect(t, Options{}, f.serve)
	p.initialize("2025-11-25", forms)
	p.send(toolCall(1, "write", fmt.Sprintf(`{"text":%q}`, fmt.Sprintf("%050000d", 1))))
	params := p.message()["params"].(map[string]any)
	require.Contains(t, params["message"], "IMPORTANT")
	require.Equal(t, []any{"once", "no"}, params["requestedSchema"].(map[string]any)["properties"].(map[string]any)["answer"].(map[string]any)["enum"])
}

// A client that cannot show forms is not asked.
func TestWhoAsks(t *testing.T) {
	for capabilities, want := range map[string]bool{
		`{"elicitation":{}}`: true, `{"elicitation":{"form":{}}}`: true, `{"elicitation":{"form":{},"url":{}}}`: true,
		`{"elicitation":{"url":{}}}`: false, `{"elicitation":null}`: false, `{"elicitation":true}`: false, `{}`: false, `null`: false,
	} {
		require.Equal(t, want, asks([]byte(capabilities)), capabilities)
	}
	f := newFake(echo)
	p := connect(t, Options{}, f.serve)
	p.initialize("2025-03-26", forms) // which has no elicitation
	p.send(toolCall(1, "read", `{}`))
	require.Contains(t, p.line(), "cannot ask its user")
}

// The client's cancellation ends the question, and the server never learns of the
// call.
func TestCancelWhileAsked(t *testing.T) {
	f := newFake(echo)
	p := connect(t, Options{}, f.serve)
	p.initialize("2025-11-25", forms)
	p.send(toolCall(1, "read", `{}`))
	id := p.message()["id"]
	p.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	m := p.message()
	require.Equal(t, methodCancelled, m["method"])
	require.Equal(t, id, m["params"].(map[string]any)["requestId"])
	p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,"result":{"action":"accept","content":{"answer":"once"}}}`, id)) // too late
	p.quiet()
	require.Empty(t, f.got)
	require.NoError(t, p.end())
}

// FD-03: in the revision without requests of servers the question is a result, and
// the client repeats the call with the answer.
func TestAskByResult(t *testing.T) {
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{}}}}`
	rounds := 0
	f := newFake(func(m *message) string {
		if rounds++; rounds == 1 { // the server asks as well
			return string(result(m.id, map[string]any{"resultType": "input_required", "requestState": "mine", "inputRequests": map[string]any{}}))
		}
		return echo(m)
	})
	p := connect(t, Options{}, f.serve)
	call := func(id int, args, more string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"read","arguments":%s%s,%s}}`, id, args, more, meta)
	}
	ask := func(id int) string {
		t.Helper()
		p.send(call(id, `{"a":1}`, ""))
		r := p.message()["result"].(map[string]any)
		require.Equal(t, "input_required", r["resultType"])
		require.Contains(t, r["inputRequests"].(map[string]any)[answerKey].(map[string]any)["params"].(map[string]any)["message"], "wants to run")
		require.Empty(t, f.got)
		return r["requestState"].(string)
	}
	given := func(state, answer string) string {
		return fmt.Sprintf(`,"requestState":%q,"inputResponses":{%q:{"action":"accept","content":{"answer":%q}}}`, state, answerKey, answer)
	}
	state := ask(1)
	p.send(call(2, `{"a":2}`, given(state, "once"))) // another call than the one that was asked about
	require.Contains(t, p.line(), "input_required")
	require.Empty(t, f.got)
	p.send(call(3, `{"a":1}`, given(state, "once"))) // the state is used up
	require.Contains(t, p.line(), "input_required")
	require.Empty(t, f.got)

	p.send(call(4, `{"a":1}`, given(ask(4), "no")))
	require.Contains(t, p.line(), "denied it")
	require.Empty(t, f.got)

	p.send(call(5, `{"a":1}`, given(ask(5), "once")))
	require.Contains(t, p.line(), `"mine"`)
	received := f.next(t)
	require.NotContains(t, received, "inputResponses")
	require.NotContains(t, received, "requestState")
	p.send(call(6, `{"a":1}`, `,"requestState":"mine","inputResponses":{"name":{"action":"accept"}}`)) // the server's own round
	require.Contains(t, p.line(), "content")
	require.Contains(t, f.next(t), `"requestState":"mine"`)
	p.send(call(7, `{"a":1}`, `,"requestState":"mine","inputResponses":{}`)) // a second time it is a new call
	require.Contains(t, p.line(), "input_required")
	require.Empty(t, f.got)
	require.NoError(t, p.end())
}
