package server_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fettle-dev/fettle/core/mcp/mcpservice"
	"github.com/fettle-dev/fettle/core/mcp/server"
	"github.com/fettle-dev/fettle/core/tools"
	"github.com/fettle-dev/fettle/core/tools/host"
	"github.com/stretchr/testify/require"
)

// directMethod is the method of direct calls in these tests.
const directMethod = "fettle/direct-call/test"

// serveText serves a client that sends text once its greeting is answered, and returns
// the lines that follow that answer. The greeting may be "".
func serveText(t testing.TB, s *server.Server, method, greeting, text string) []string {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := s.StdioMethod(t.Context(), inR, outW, method)
		_ = outW.Close()
		done <- err
	}()
	out := bufio.NewReader(outR)
	if greeting != "" {
		_, err := io.WriteString(inW, greeting)
		require.NoError(t, err)
		_, err = out.ReadString('\n')
		require.NoError(t, err)
	}
	go func() {
		_, _ = io.WriteString(inW, text)
		_ = inW.Close()
	}()
	rest, err := io.ReadAll(out)
	require.NoError(t, err)
	require.NoError(t, <-done)
	var lines []string
	for line := range strings.Lines(string(rest)) {
		lines = append(lines, line)
	}
	return lines
}

// longText is the result of the tool zebra of quoting.
var longText = strings.Repeat("<line>\n", 1<<17)

// quoting returns a server whose calls report progress and return their name and
// arguments.
func quoting() *server.Server {
	o := options(newShop())
	open := o.Open
	o.Open = func(ctx context.Context, c server.Client) (*mcpservice.Service, error) {
		svc, err := open(ctx, c)
		if err == nil {
			svc.Call = func(ctx context.Context, name string, args json.RawMessage) tools.Result {
				if name == "zebra" {
					return tools.Result{LLMContent: tools.Text(longText)}
				}
				host.FromContext(ctx).Progress(host.Progress{Done: 1, Message: name})
				return tools.Result{LLMContent: tools.Text(fmt.Sprintf("%s %s", name, args))}
			}
		}
		return svc, err
	}
	return server.New(o)
}

// sameAnswers compares the answers to a line with those without direct calls.
func sameAnswers(t testing.TB, greeting, line string) []any {
	t.Helper()
	var got [2][]any
	for i, method := range []string{directMethod, ""} {
		for _, answer := range serveText(t, quoting(), method, greeting, line+"\n") {
			var m any
			require.NoError(t, json.Unmarshal([]byte(answer), &m), answer)
			if batch, ok := m.([]any); ok { // in the order in which the calls end
				slices.SortFunc(batch, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
			}
			got[i] = append(got[i], m)
		}
	}
	require.Equal(t, got[1], got[0], line)
	return got[0]
}

// EX-20: a call whose parameters the connection decodes is answered as the SDK answers it.
func TestDirectCalls(t *testing.T) {
	call := func(params string) string { return strings.TrimSpace(request(7, "tools/call", params)) }
	modern := strings.TrimSpace(modernCall(7, "echo", ""))
	batches := strings.Replace(hello, "2025-11-25", "2025-03-26", 1)
	for _, line := range []string{
		call(`{"name":"echo","arguments":{"a":1}}`), call(`{"name":"echo"}`), call(`{"name":"echo","arguments":null}`), call(`{"name":"echo","arguments":[1]}`),
		call(`{"name":"echoes","arguments":{"a":"\ud83d\ude00\u003c\n"}}`), call(`{"name":"\u0065cho","arguments":  { "a" : 1 } }`),
		call(`{"name":"echo","_meta":{"progressToken":3}}`), call(`{"name":"echo","_meta":{"progressToken":"p"},"arguments":{}}`), call(`{"name":"echo","_meta":{"progressToken":{}}}`),
		call(`{"name":"echo","_meta":{"x":[1,{"y":null}]}}`), call(`{"name":"echo","_meta":null}`), call(`{"name":"echo","_meta":1}`), call(`{"name":"echo","_meta":{"progressToken":1},"_meta":{"a":1}}`),
		call(`{"name":"echo","name":"zebra","arguments":1,"arguments":2}`), call(`{"Name":"echo"}`), call(`{"NAME":"echo","name":"zebra"}`), call(`{"name":"echo","other":1}`),
		call(`{"name":"missing"}`), call(`{"name":""}`), call(`{}`), call(`null`), call(`[]`), call(`1`), call(`"a"`), call(`{"name":1}`), call(`{"name":null}`),
		call(`{"name":"echo","inputResponses":{"a":{"action":"accept"}},"requestState":"x"}`), call(`{"name":"echo","inputResponses":1}`), call(`{"name":"echo","requestState":1}`),
		call(`{"name":"echo","arguments":` + strings.Repeat("[", 990) + strings.Repeat("]", 990) + `}`), call(`{"name":"echo","arguments":` + strings.Repeat("[", 1100) + strings.Repeat("]", 1100) + `}`),
		call(`{"name":"echo","_meta":{"io.modelcontextprotocol/protocolVersion":"2025-11-25"}}`), call(`{"name":"echo","_meta":{"io.modelcontextprotocol/protocolVersion":"2099-01-01"}}`),
		call(`{"name":"echo","_meta":{"io.modelcontextprotocol/protocolVersion":1}}`), modern,
		`{"jsonrpc":"2.0","id":"a\u2028<","method":"tools/call","params":{"name":"echo"}}`, `{"jsonrpc":"2.0","id":"","method":"tools/call","params":{"name":"echo"}}`,
		`{"jsonrpc":"2.0","id":-1,"method":"tools/call","params":{"name":"echo"}}`, `{"jsonrpc":"2.0","id":8.5,"method":"tools/call","params":{"name":"echo"}}`,
		`{"jsonrpc":"2.0","id":1e30,"method":"tools/call","params":{"name":"echo"}}`, `{"jsonrpc":"2.0","id":7,"method":"tools/call"}`, `{"jsonrpc":"2.0","method":"tools/call","params":{"name":"echo"}}`,
	} {
		sameAnswers(t, hello, line)
	}
	for _, line := range []string{"[" + call(`{"name":"echo","arguments":{"a":1}}`) + "]", "[" + call(`{"name":"echo"}`) + "," + strings.Replace(call(`{"name":"missing"}`), "7", "8", 1) + "]"} {
		sameAnswers(t, batches, line)
	}
	got := sameAnswers(t, hello, call(`{"name":"echo","_meta":{"progressToken":3},"arguments":{"a":1}}`))
	require.Len(t, got, 2)
	require.Equal(t, map[string]any{"progressToken": 3., "progress": 1., "message": "echo"}, got[0].(map[string]any)["params"])
}

// EX-20: calls around one that selects revision 2026-07-28 are answered as the SDK answers them.
func TestRevisionAmidCalls(t *testing.T) {
	var text strings.Builder
	const calls = 60
	for i := range calls {
		if i%10 == 9 {
			text.WriteString(modernCall(100+i, "echo", ""))
		} else {
			text.WriteString(request(100+i, "tools/call", `{"name":"echo","arguments":{"a":1}}`))
		}
	}
	var got [2]map[float64]any
	for i, method := range []string{directMethod, ""} {
		got[i] = make(map[float64]any)
		for _, line := range serveText(t, quoting(), method, hello, text.String()) {
			var m map[string]any
			require.NoError(t, json.Unmarshal([]byte(line), &m), line)
			got[i][m["id"].(float64)] = m
		}
		require.Len(t, got[i], calls)
	}
	require.Equal(t, got[1], got[0])
}

// EX-20: a client may use the ID of a call again once it has the answer, even before the server's write
// has returned. The last call is answered although the input has ended.
func TestIDUsedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := options(newShop())
		open, slow := o.Open, make(chan struct{})
		o.Open = func(ctx context.Context, c server.Client) (*mcpservice.Service, error) {
			svc, err := open(ctx, c)
			svc.Call = func(ctx context.Context, name string, _ json.RawMessage) tools.Result {
				if name == "zebra" {
					close(slow)
					select {
					case <-ctx.Done():
					case <-time.After(time.Second):
					}
				}
				return tools.Result{LLMContent: tools.Text(fmt.Sprint(name, " ", ctx.Err()))}
			}
			return svc, err
		}
		in, client := io.Pipe()
		var answers []string
		out := writerFunc(func(p []byte) (int, error) {
			answers = append(answers, string(p))
			send := func(text string) {
				_, err := io.WriteString(client, text)
				require.NoError(t, err)
			}
			switch len(answers) {
			case 1:
				send(request(7, "tools/call", `{"name":"echo"}`))
			case 2:
				send(request(7, "tools/call", `{"name":"zebra"}`))
				<-slow
				require.NoError(t, client.Close())
			}
			return len(p), nil
		})
		go func() { _, _ = io.WriteString(client, hello) }()
		require.NoError(t, server.New(o).Stdio(t.Context(), in, out))
		require.Len(t, answers, 3)
		require.Contains(t, answers[2], "zebra <nil>")
	})
}

type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// EX-20: a client cannot send a direct call, whichever method it names.
func TestDirectCallsOfClients(t *testing.T) {
	for _, params := range []string{"", `,"params":{}`, `,"params":{"name":"echo"}`, `,"params":{"_meta":{"a":1},"name":"echo"}`} {
		for _, method := range []string{directMethod, "fettle/direct-call"} {
			for _, greeting := range []string{hello, modernCall(1, "echo", "")} {
				lines := serveText(t, quoting(), directMethod, greeting, `{"jsonrpc":"2.0","id":7,"method":"`+method+`"`+params+"}\n")
				require.Len(t, lines, 1)
				require.JSONEq(t, `{"jsonrpc":"2.0","id":7,"error":{"code":-32601,"message":"method not found: \"`+method+`\""}}`, lines[0])
			}
		}
	}
}

// EX-20: the memory of a call over stdio does not contain the buffers of the SDK's
// decoder, and contains a long result once.
func TestCallAllocates(t *testing.T) {
	for tool, tt := range map[string]struct {
		calls int
		limit uint64
	}{
		"echo":  {200, 20 << 10},
		"zebra": {5, 2 << 20}, // with the escapes of its line breaks
	} {
		w := stdio(t, quoting())
		out := bufio.NewReader(w.out)
		exchange := func(text string) {
			_, err := io.WriteString(w.in, text)
			require.NoError(t, err)
			for err = bufio.ErrBufferFull; err == bufio.ErrBufferFull; {
				_, err = out.ReadSlice('\n')
			}
			require.NoError(t, err)
		}
		exchange(hello)
		call := request(2, "tools/call", `{"name":"`+tool+`","arguments":{"a":1}}`)
		exchange(call)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range tt.calls {
			exchange(call)
		}
		runtime.ReadMemStats(&after)
		require.Less(t, (after.TotalAlloc-before.TotalAlloc)/uint64(tt.calls), tt.limit, tool)
	}
}

// EX-20: whatever the parameters of a call are, it is answered as the SDK answers it.
func FuzzDirectCall(f *testing.F) {
	for _, seed := range []string{`{"name":"echo"}`, `{"name":"echo","arguments":{"a":[1,"\u2028"]},"_meta":{"progressToken":"x"}}`, `{"name":"a","name":null,"_meta":[]}`, `null`, `[{}]`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, params string) {
		if !json.Valid([]byte(params)) || strings.ContainsAny(params, "\r\n") {
			t.Skip("it is no line")
		}
		sameAnswers(t, hello, strings.TrimSpace(request(7, "tools/call", params)))
	})
}
