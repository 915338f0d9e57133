package server_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fettle-dev/fettle/core/mcp/server"
	"github.com/stretchr/testify/require"
)

const modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}`

// modernCall returns a call of revision 2026-07-28; more begins with a comma.
func modernCall(id int, tool, more string) string {
	return request(id, "tools/call", fmt.Sprintf(`{%s,"name":%q%s}`, modernMeta, tool, more))
}

func modernHeaders(tool string, more ...string) []string {
	return append(more, "Mcp-Protocol-Version: 2026-07-28", "Mcp-Method: tools/call", "Mcp-Name: "+tool)
}

// EX-20: without sessions each request has its own Service.
func TestStateless(t *testing.T) {
	w := serveWeb(t, server.HTTPOptions{Stateless: true})
	for i := range 3 {
		res, body := w.do("POST", modernCall(i, "count", ""), modernHeaders("count")...)
		require.Equal(t, 200, res.StatusCode)
		require.Contains(t, body, `"text":"1"`, "nothing is kept")
		require.Empty(t, res.Header.Get("Mcp-Session-Id"))
	}
	settled(t, "closed", func() bool { return w.shop.opened.Load() == 3 && w.shop.closed.Load() == 3 })
	w.shop.mu.Lock()
	require.Equal(t, "c", w.shop.clients[0].Name)
	require.Empty(t, w.shop.clients[0].Session)
	w.shop.mu.Unlock()
	for _, method := range []string{"GET", "DELETE"} {
		res, _ := w.do(method, "", "Mcp-Session-Id: x")
		require.Equal(t, 405, res.StatusCode)
	}

	echo := func(arguments string, headers ...string) (int, string) {
		res, body := w.do("POST", modernCall(9, "echo", `,"arguments":`+arguments), modernHeaders("echo", headers...)...)
		return res.StatusCode, body
	}
	status, _ := echo(`{"region":"eu"}`, "Mcp-Param-Region: eu")
	require.Equal(t, 200, status)
	status, body := echo(`{"region":"eu"}`)
	require.Equal(t, 400, status, "a header is wanted: x-mcp-header")
	require.Contains(t, body, "-32020")
	status, _ = echo(`{"region":"eu"}`, "Mcp-Param-Region: us")
	require.Equal(t, 400, status)
	status, _ = echo(`{"region":"eu"}`, "Mcp-Param-Region: =?base64?ZXU=?=")
	require.Equal(t, 200, status)

	// The body as decoded by the SDK counts, not a lookalike key.
	good := modernCall(9, "echo", `,"arguments":{"region":"us"}`)
	for name, body := range map[string]string{
		"as it should be":      good,
		"another method":       strings.Replace(good, `"method":`, `"Method":"ping","method":`, 1),
		"another method after": strings.TrimSuffix(strings.TrimSpace(good), "}") + `,"Method":"ping"}`,
		"other params":         strings.TrimSuffix(strings.TrimSpace(good), "}") + `,"Params":{"name":"count"}}`,
		"another name":         strings.Replace(good, `"arguments":`, `"Name":"count","arguments":`, 1),
		"a number as name":     strings.Replace(good, `"arguments":`, `"Name":1,"arguments":`, 1),
		"a state":              strings.Replace(good, `"arguments":`, `"RequestState":"x","arguments":`, 1),
		"a state taken back":   strings.Replace(good, `"arguments":`, `"requestState":"x","requestState":"","arguments":`, 1),
		"an escaped state":     strings.Replace(good, `"arguments":`, `"requestState":"\u0000","requestState":"","arguments":`, 1),
		"other arguments":      strings.Replace(good, `"arguments":`, `"Arguments":{"region":"eu"},"arguments":`, 1),
		"by its alias":         strings.Replace(good, `"name":"echo"`, `"name":"echoes"`, 1),
	} {
		t.Run(name, func(t *testing.T) {
			called := "echo"
			if strings.Contains(name, "alias") {
				called = "echoes"
			}
			res, answer := w.do("POST", body, modernHeaders(called, "Mcp-Param-Region: eu")...)
			require.Equal(t, 400, res.StatusCode, answer)
			require.NotContains(t, answer, `"text"`, "it is not called")
		})
	}

	res, body := w.do("POST", modernCall(10, "need_sampling", ""), modernHeaders("need_sampling")...)
	require.Equal(t, 400, res.StatusCode)
	require.Contains(t, body, "-32021")
	res, _ = w.do("POST", request(11, "tools/list", "{}")) // an older revision, without initialize
	require.Equal(t, 200, res.StatusCode)
	_, body = w.do("POST", hello)
	require.Contains(t, body, `"instructions"`)
	require.NotContains(t, body, `"listChanged":true`, "nobody could be told")
	_, body = w.do("POST", call(12, "ask"))
	require.Contains(t, body, "nobody_to_ask")
}
