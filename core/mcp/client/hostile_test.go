//go:build unix

package client_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/mcp"
	"github.com/fettle-dev/fettle/core/mcp/client"
)

// EX-16: a program that is not a server, or dies, yields a readable error with
// its exit status and its last output.
func TestDialFails(t *testing.T) {
	plain := filepath.Join(t.TempDir(), "plain")
	require.NoError(t, os.WriteFile(plain, []byte("x"), 0o600))
	tests := map[string]struct {
		spec func(*mcp.ServerSpec)
		run  string
		code fault.Code
		want []string
	}{
		"not found":     {spec: func(s *mcp.ServerSpec) { s.Command = "no-such-program" }, want: []string{"There is no program no-such-program on the PATH."}},
		"no such path":  {spec: func(s *mcp.ServerSpec) { s.Command = "./none" }, want: []string{"There is no program ./none."}},
		"not runnable":  {spec: func(s *mcp.ServerSpec) { s.Command = plain }, want: []string{"cannot be executed"}},
		"no directory":  {spec: func(s *mcp.ServerSpec) { s.Dir = "/none" }, want: []string{"Its working directory /none does not exist."}},
		"exits":         {run: "!err I look for it\n!err cannot find my licence\n!exit 3", want: []string{"exited with status 3", `End of its stderr: "I look for it\ncannot find my licence".`}},
		"is killed":     {run: "!kill", want: []string{"was ended by SIGKILL"}},
		"prints":        {run: "< Welcome to the server!", want: []string{"not a message of the protocol", "Welcome to the server!"}},
		"half a line":   {run: `< {"jsonrpc":`, want: []string{"not a message of the protocol"}},
		"not a message": {run: `< {"a":1}`, want: []string{"not a message of the protocol"}},
		"closes":        {run: "!deaf\n!close", want: []string{"It closed its stdout."}},
		"hangs":         {spec: func(s *mcp.ServerSpec) { s.ConnectTimeout = 50 * time.Millisecond }, run: "!err waiting", want: []string{"not ready in time"}},
		"refuses": {run: `> server/discover
< {"jsonrpc":"2.0","id":$ID,"error":{"code":-32601,"message":"no"}}
> initialize
< {"jsonrpc":"2.0","id":$ID,"error":{"code":-32000,"message":"go away"}}`, want: []string{`It refused the initialization: "go away".`}},
		"odd version": {run: `> server/discover
< {"jsonrpc":"2.0","id":$ID,"error":{"code":-32601,"message":"no"}}
> initialize
< {"jsonrpc":"2.0","id":$ID,"result":{"protocolVersion":"1999-01-01","capabilities":{},"serverInfo":{"name":"x","version":"1"}}}`, want: []string{`the version "1999-01-01" of the protocol`}},
		"nowhere":    {spec: func(s *mcp.ServerSpec) { s.Command = "" }, code: fault.InvalidConfig, want: []string{"have no address"}},
		"tcp":        {spec: func(s *mcp.ServerSpec) { s.Command = ""; s.TCP = "ws://x" }, code: fault.InvalidConfig, want: []string{`"peer"`, "WebSocket"}}, // EX-18
		"odd url":    {spec: func(s *mcp.ServerSpec) { s.Command = ""; s.URL = "ftp://x" }, code: fault.InvalidConfig, want: []string{"not an http or https URL"}},
		"odd object": {spec: func(s *mcp.ServerSpec) { s.InProcess = 5 }, code: fault.InvalidConfig, want: []string{"unsupported type"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			settled(t)
			spec := peerSpec(t, "script", tt.run)
			if tt.spec != nil {
				tt.spec(&spec)
			}
			s, err := client.New(client.Options{Grace: 100 * time.Millisecond}).Dial(t.Context(), spec, mcp.Handlers{})
			require.Nil(t, s)
			f, ok := err.(*fault.Error) //nolint:errorlint // it is to be one itself
			require.True(t, ok, "%T: %v", err, err)
			if tt.code == "" {
				tt.code = fault.MCPServerUnavailable
			}
			require.Equal(t, tt.code, f.Code, "%v", f)
			for _, want := range tt.want {
				require.Contains(t, f.Message, want)
			}
			require.NotEmpty(t, f.Line())
		})
	}
}

// A server that breaks in use fails the running calls, ends the session with a
// reason, and leaves no process behind.
func TestDies(t *testing.T) {
	tests := map[string]struct{ run, want string }{
		"exits":        {"!err out of memory\n!exit 9", "exited with status 9"},
		"is killed":    {"!kill", "was ended by SIGKILL"},
		"invalid JSON": {`< {"jsonrpc":"2.0","id":$ID,"result":}`, "not a message of the protocol"},
		"too large":    {fmt.Sprintf("!big %d", 3<<20), "larger than the limit"},
		"leaves":       {"!child\n!exit 4", "exited with status 4"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			settled(t)
			s, err := client.New(client.Options{Grace: 100 * time.Millisecond, MaxMessage: 2 << 20}).Dial(t.Context(), peerSpec(t, "script", hello+"> tools/call\n"+tt.run), mcp.Handlers{})
			require.NoError(t, err)
			_, err = s.Call(t.Context(), "x", nil, nil)
			require.Equal(t, fault.MCPServerUnavailable, fault.CodeOf(err))
			require.Contains(t, fault.As(err).Message, tt.want)
			require.Contains(t, fault.As(err).Message, "Whether the call took effect is unknown.")
			require.Contains(t, fault.As(err).Remedy, "Check its effects before you try again.")
			<-s.Done()
			require.Contains(t, fault.As(s.Err()).Message, tt.want)
			_, err = s.Call(t.Context(), "x", nil, nil)
			require.Contains(t, fault.As(err).Message, tt.want, "the reason stays")
			require.NotContains(t, fault.As(err).Message, "took effect", "it was not sent")
			require.NoError(t, s.Close())
			require.Error(t, s.Err(), "it has ended before")
			noChild(t, s.Stderr())
		})
	}
}

// noChild fails if a process is alive whose number appears in a server's output.
func noChild(t *testing.T, stderr []string) {
	t.Helper()
	for _, m := range regexp.MustCompile(`child (\d+)`).FindAllStringSubmatch(strings.Join(stderr, "\n"), -1) {
		pid, err := strconv.Atoi(m[1])
		require.NoError(t, err)
		require.Eventually(t, func() bool {
			if syscall.Kill(pid, 0) != nil {
				return true
			}
			status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
			return err != nil && runtime.GOOS == "linux" || strings.Contains(string(status), "State:\tZ")
		}, long, time.Millisecond, "process %d lives", pid)
	}
}

// Close terminates a server that does not exit by itself, and its descendants.
func TestCloseEndsTheGroup(t *testing.T) {
	settled(t)
	s, err := client.New(client.Options{Grace: 100 * time.Millisecond}).Dial(t.Context(), peerSpec(t, "script", "!child\n!deaf\n"+hello), mcp.Handlers{})
	require.NoError(t, err)
	require.Eventually(t, func() bool { return len(s.Stderr()) > 0 }, long, time.Millisecond)
	require.NoError(t, s.Close())
	require.NoError(t, s.Close())
	noChild(t, s.Stderr())
}

// A large result arrives; a flood on stderr does no harm and keeps the end.
func TestLarge(t *testing.T) {
	settled(t)
	flood, size := 16, 17<<20 // the SDK's own limit is 16 MiB
	if os.Getenv("FETTLE_FULL") != "" {
		flood, size = 3<<10, 64<<20
	}
	s := dial(t, peerSpec(t, "script", hello+fmt.Sprintf("!flood %d\n!err the end\n> tools/call\n!big %d", flood, size)), mcp.Handlers{})
	r, err := s.Call(t.Context(), "x", nil, nil)
	require.NoError(t, err)
	require.Len(t, r.Content[0].Text, size)
	require.Eventually(t, func() bool {
		l := s.Stderr()
		return len(l) > 0 && l[len(l)-1] == "the end"
	}, long, time.Millisecond)
	require.LessOrEqual(t, len(s.Stderr()), 40)
	require.Less(t, len(strings.Join(s.Stderr(), "")), 41*1010)
}

// A server's process receives the common variables, its own, and the one that
// identifies the server, and no others.
func TestEnvironment(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	d := client.New(client.Options{Environ: func() []string {
		return []string{"PATH=/bin", "HOME=/h", "LC_ALL=C", "LANG=x", "SECRET_KEY=s", "GOOGLE_API_KEY=s", "LD_PRELOAD=x", "TERM=t"}
	}})
	s, err := d.Dial(t.Context(), mcp.ServerSpec{Name: "e", Command: self, Env: map[string]string{"FETTLE_TEST_PEER": "sdk", "HOME": "/own"}}, mcp.Handlers{})
	require.NoError(t, err)
	defer s.Close() //nolint:errcheck // ends it
	r, err := s.Call(t.Context(), "environ", nil, nil)
	require.NoError(t, err)
	require.ElementsMatch(t, []string{"PATH=/bin", "HOME=/own", "LC_ALL=C", "LANG=x", "TERM=t", "FETTLE_TEST_PEER=sdk", "FETTLE_MCP_SERVER=e"}, strings.Split(r.Content[0].Text, "\n"))
}

// Secrets of a spec appear in no error and no line of stderr.
func TestSecrets(t *testing.T) {
	const secret = "s3cr3t-value"
	spec := peerSpec(t, "script", "!err the key is "+secret+"\n< "+secret+"\n!exit 1")
	spec.Env["MY_API_KEY"] = secret
	_, err := client.New(client.Options{}).Dial(t.Context(), spec, mcp.Handlers{})
	require.Error(t, err)
	require.NotContains(t, err.Error(), secret)

	spec = peerSpec(t, "script", "!err the key is "+secret+"\n"+hello+`> tools/call
< {"jsonrpc":"2.0","id":$ID,"error":{"code":-1,"message":"bad key `+secret+`"}}`)
	spec.Env["MY_API_KEY"] = secret
	s := dial(t, spec, mcp.Handlers{})
	_, err = s.Call(t.Context(), "x", nil, nil)
	require.ErrorContains(t, err, `"bad key [masked]"`)
	require.NotContains(t, err.Error(), secret)
	require.Eventually(t, func() bool { return len(s.Stderr()) > 0 }, long, time.Millisecond)
	require.Equal(t, "the key is [masked]", s.Stderr()[0])

	for _, url := range []string{"http://user:" + secret + "@127.0.0.1:1/mcp?token=" + secret} {
		_, err = client.New(client.Options{}).Dial(t.Context(), mcp.ServerSpec{Name: "x", URL: url, Headers: map[string]string{"Authorization": "Bearer " + secret}}, mcp.Handlers{})
		require.Error(t, err)
		require.NotContains(t, err.Error(), secret)
		require.Contains(t, fault.As(err).Message, "cannot be reached")
	}
}

// Old servers: one that does not answer unknown methods, and one that exits.
func TestOldServers(t *testing.T) {
	settled(t)
	d := client.New(client.Options{})
	d.SetProbe(time.Millisecond)
	s, err := d.Dial(t.Context(), peerSpec(t, "script", strings.Replace(hello, `< {"jsonrpc":"2.0","id":$ID,"error":{"code":-32601,"message":"Method not found"}}`+"\n", "", 1)), mcp.Handlers{})
	require.NoError(t, err)
	defer s.Close() //nolint:errcheck // ends it
	require.Equal(t, "2025-06-18", s.Info().Protocol)

	for _, version := range []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"} {
		s := dial(t, peerSpec(t, "script", strings.Replace(hello, "2025-06-18", version, 1)), mcp.Handlers{})
		require.Equal(t, version, s.Info().Protocol)
	}
	server := newServer(&sdk.ServerOptions{SupportedProtocolVersions: []string{"2024-11-05"}})
	s2 := dial(t, mcp.ServerSpec{Name: "old", InProcess: server}, mcp.Handlers{})
	require.Equal(t, "2024-11-05", s2.Info().Protocol)
}

// EX-16: a server is connected although it starts so slowly that it reads
// server/discover together with the initialize that follows it.
func TestSlowStart(t *testing.T) {
	settled(t)
	d := client.New(client.Options{})
	d.SetProbe(time.Millisecond)
	s, err := d.Dial(t.Context(), peerSpec(t, "slow", ""), mcp.Handlers{})
	require.NoError(t, err)
	defer s.Close() //nolint:errcheck // ends it
	require.Equal(t, "2025-11-25", s.Info().Protocol)
	list, err := s.Tools(t.Context())
	require.NoError(t, err)
	require.NotEmpty(t, list)
}

// An invalid entry of a list does not affect the others, and an endless list is
// bounded.
func TestLists(t *testing.T) {
	settled(t)
	page := func(tools, next string) string {
		return `> tools/list
< {"jsonrpc":"2.0","id":$ID,"result":{"tools":[` + tools + `]` + next + `}}
`
	}
	s := dial(t, peerSpec(t, "script", hello+
		page(`{"name":"a","inputSchema":{"type":"object","maximum":9007199254740993,"b":1,"a":2},"annotations":{"title":"A","readOnlyHint":true},"outputSchema":{"type":"object"}},{"inputSchema":{}},{"name":5},null,7`, `,"nextCursor":"2"`)+
		page(`{"name":"null","inputSchema":null},{"name":"missing"},{"name":"string","inputSchema":"x"},{"name":"odd","annotations":"x","description":5,"icons":7,"inputSchema":{"type":"object","properties":{"p":{"type":"object","x-mcp-header":5}}}}`, "")+
		page(`{"name":"big","inputSchema":{"type":"object","description":"`+strings.Repeat("d", 60<<10)+`"}}`, "")), mcp.Handlers{})
	list, err := s.Tools(t.Context())
	require.NoError(t, err)
	require.Equal(t, []mcp.Tool{
		{Name: "a", Title: "A", InputSchema: []byte(`{"type":"object","maximum":9007199254740993,"b":1,"a":2}`), OutputSchema: []byte(`{"type":"object"}`), Annotations: map[string]any{"title": "A", "readOnlyHint": true}},
		{Name: "null"}, {Name: "missing"}, {Name: "string", InputSchema: []byte(`"x"`)},
		{Name: "odd", InputSchema: []byte(`{"type":"object","properties":{"p":{"type":"object","x-mcp-header":5}}}`)},
	}, list)
	list, err = s.Tools(t.Context())
	require.NoError(t, err)
	require.Greater(t, len(list[0].InputSchema), 60<<10)

	s = dial(t, peerSpec(t, "script", hello+page(`{"name":"a"}`, `,"nextCursor":"x"`)+page(`{"name":"b"}`, `,"nextCursor":"x"`)), mcp.Handlers{})
	_, err = s.Tools(t.Context())
	require.ErrorContains(t, err, "does not end")
	s, err = client.New(client.Options{MaxPages: 2, MaxItems: 2}).Dial(t.Context(), peerSpec(t, "script", hello+page(``, `,"nextCursor":"1"`)+page(``, `,"nextCursor":"2"`)+
		page(`{"name":"a"},{"name":"b"},{"name":"c"}`, "")), mcp.Handlers{})
	require.NoError(t, err)
	defer s.Close() //nolint:errcheck // ends it
	_, err = s.Tools(t.Context())
	require.ErrorContains(t, err, "more than 2 pages")
	_, err = s.Tools(t.Context())
	require.ErrorContains(t, err, "more than 2 entries")
}

// Content of all kinds, including malformed content.
func TestContent(t *testing.T) {
	settled(t)
	s := dial(t, peerSpec(t, "script", hello+`> tools/call
< {"jsonrpc":"2.0","id":$ID,"result":{"content":[{"type":"text","text":"t"},{"type":"image","data":"AAE=","mimeType":"image/png"},{"type":"audio","data":"AAE","mimeType":"audio/wav"},{"type":"resource","resource":{"uri":"u","text":"x"}},{"type":"resource","resource":{"uri":"u","blob":"AAE=","mimeType":"b"}},{"type":"resource_link","uri":"l","name":"n","size":5},{"type":"hologram","x":1},{"type":"image","data":"%%"},{"type":"text","text":5},null,{"type":"resource"}],"structuredContent":{"n":9007199254740993},"isError":"true"}}
> tools/call
< {"jsonrpc":"2.0","id":$ID,"result":{"content":{"type":"text","text":"one"}}}
> tools/call
< {"jsonrpc":"2.0","id":$ID,"result":{"content":"words","error":{"isError":true}}}
> tools/call
< {"jsonrpc":"2.0","id":$ID,"result":{"toolResult":{"old":1}}}
> tools/call
< {"jsonrpc":"2.0","id":$ID,"result":null}
> tools/call
< {"jsonrpc":"2.0","method":"notifications/elicitation/complete"}
< {"jsonrpc":"2.0","method":"notifications/message","params":null}
< {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":"x"}}
< {"jsonrpc":"2.0","id":77,"method":"elicitation/create"}
< {"jsonrpc":"2.0","id":78,"method":"roots/list"}
< {"jsonrpc":"2.0","id":79,"method":"sampling/createMessage","params":{}}
< {"jsonrpc":"2.0","id":4444,"result":{}}
< [{"jsonrpc":"2.0","id":$ID,"result":{"content":[{"type":"text","text":"batch"}]}}]
`), mcp.Handlers{})
	call := func() mcp.CallResult {
		t.Helper()
		r, err := s.Call(t.Context(), "x", nil, nil)
		require.NoError(t, err)
		return r
	}
	r := call()
	require.True(t, r.IsError)
	require.Equal(t, `{"n":9007199254740993}`, string(r.Structured))
	require.Len(t, r.Content, 11)
	require.Equal(t, "t", r.Content[0].Text)
	require.Equal(t, "image/png", r.Content[1].InlineData.MIMEType)
	require.Equal(t, []byte{0, 1}, r.Content[1].InlineData.Data)
	require.Equal(t, []byte{0, 1}, r.Content[2].InlineData.Data)
	require.Equal(t, "x", r.Content[3].Resource.Text)
	require.Equal(t, []byte{0, 1}, r.Content[4].Resource.Blob)
	require.Equal(t, &mcp.Resource{URI: "l", Name: "n", Size: 5}, r.Content[5].Link)
	require.Contains(t, r.Content[6].Text, `unknown kind "hologram": {"type":"hologram","x":1}`)
	for _, odd := range r.Content[7:] {
		require.Contains(t, odd.Text, "[The server sent content")
	}
	require.Equal(t, "one", call().Content[0].Text)
	r = call()
	require.True(t, r.IsError)
	require.Contains(t, r.Content[0].Text, `"words"`)
	require.Equal(t, `{"old":1}`, call().Content[0].Text)
	require.Empty(t, call().Content)
	require.Equal(t, "batch", call().Content[0].Text)
	require.NoError(t, s.Err())
}
