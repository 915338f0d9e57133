package server_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/mcp"
	"github.com/fettle-dev/fettle/core/mcp/server"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}` + "\n"

func request(id int, method, params string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", id, method, params)
}

// EX-20: requests from a file are all answered, and then the server ends.
func TestStdioAnswersWhatWasSentBeforeTheEnd(t *testing.T) {
	shop := newShop()
	var in, out bytes.Buffer
	in.WriteString(hello)
	for i := 2; i < 50; i++ {
		in.WriteString(request(i, "tools/call", `{"name":"count"}`))
	}
	o := options(shop)
	o.Linger = time.Minute
	require.NoError(t, server.New(o).Stdio(t.Context(), &in, &out))
	require.Equal(t, 49, strings.Count(out.String(), "\n"))
	require.EqualValues(t, 1, shop.opened.Load())
	require.EqualValues(t, 1, shop.closed.Load())
}

// EX-20: the server ends when its client disconnects; running work is cancelled
// and awaited.
func TestStdioEnds(t *testing.T) {
	type parts struct {
		in     *io.PipeWriter
		out    *io.PipeReader
		cancel context.CancelFunc
		s      *server.Server
	}
	for name, end := range map[string]func(p parts){
		"the input ends":       func(p parts) { _ = p.in.Close() },
		"ctx ends":             func(p parts) { p.cancel() },
		"the server is closed": func(p parts) { _ = p.s.Close() },
		"nobody reads any more": func(p parts) {
			_ = p.out.Close()
			_, _ = p.in.Write([]byte(request(3, "ping", "{}")))
		},
		"nobody reads, and ctx ends": func(p parts) { // a blocked Write
			for i := range 10 {
				_, _ = p.in.Write([]byte(request(10+i, "ping", "{}")))
			}
			p.cancel()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shop := newShop()
			o := options(shop)
			o.Linger = -1
			s := server.New(o)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			inR, inW := io.Pipe()
			outR, outW := io.Pipe()
			defer func() { _ = outR.Close() }() // otherwise a blocked Write is left behind
			done := make(chan error, 1)
			go func() { done <- s.Stdio(ctx, inR, outW) }()
			_, err := inW.Write([]byte(hello))
			require.NoError(t, err)
			_, err = bufio.NewReaderSize(outR, 16).ReadBytes('\n')
			require.NoError(t, err)
			_, err = inW.Write([]byte(request(2, "tools/call", `{"name":"block"}`)))
			require.NoError(t, err)
			shop.begun(t)
			end(parts{inW, outR, cancel, s})
			require.NoError(t, <-done)
			require.EqualValues(t, 1, shop.cancelled.Load())
			require.EqualValues(t, 1, shop.closed.Load())
			require.Zero(t, shop.running.Load())
		})
	}
}

// EX-20: the server ends a while after its input, even if its client reads no answer.
func TestStdioEndsWithoutReader(t *testing.T) {
	for name, line := range map[string]string{"answers": request(3, "tools/list", "{}"), "refusals": "garbage\n", "refused batches": "[7]\n"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				shop := newShop()
				o := options(shop)
				released, lines := make(chan struct{}), 0
				out := writerFunc(func(p []byte) (int, error) {
					if lines++; lines > 1 { // the answer to initialize is read
						<-released
					}
					return len(p), nil
				})
				in := strings.NewReader(strings.Replace(hello, "2025-11-25", "2025-03-26", 1) + strings.Repeat(line, 20))
				start := time.Now()
				require.NoError(t, server.New(o).Stdio(t.Context(), in, out))
				require.Equal(t, o.Linger+time.Second, time.Since(start))
				require.EqualValues(t, 1, shop.closed.Load())
				close(released)
			})
		})
	}
}

// EX-20: a client that sends malformed messages and reads no answer is disconnected; one that
// reads receives all answers.
func TestStdioBoundsRefusals(t *testing.T) {
	for name, line := range map[string]string{"refusals": "garbage\n", "refused batches": "[7]\n"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				released := make(chan struct{})
				out := writerFunc(func(p []byte) (int, error) {
					<-released
					return len(p), nil
				})
				in := readerFunc(func(p []byte) (int, error) { return copy(p, line), nil }) // endless
				start := time.Now()
				require.NoError(t, server.New(options(newShop())).Stdio(t.Context(), in, out))
				require.Equal(t, 2*time.Second, time.Since(start), "one for the reply, one for the message that is being written")
				close(released)
			})
		})
	}
	o := options(newShop())
	o.Linger = time.Minute
	var out bytes.Buffer
	require.NoError(t, server.New(o).Stdio(t.Context(), strings.NewReader(strings.Repeat("garbage\n", 20_000)), &out))
	require.Equal(t, 20_000, strings.Count(out.String(), "\n"))
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// EX-20: a process whose input ends, as it does when its client exits, has
// answered earlier requests, exits by itself, and has written only messages.
func TestStdioProcess(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "FETTLE_TEST_STDIO_SERVER=1")
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	require.NoError(t, cmd.Start())
	_, err = io.WriteString(in, hello+request(2, "tools/call", `{"name":"echo","arguments":{"a":1}}`))
	require.NoError(t, err)
	require.NoError(t, in.Close())
	require.NoError(t, cmd.Wait())
	require.Equal(t, "ended\n", stderr.String())
	for line := range strings.Lines(out.String()) {
		require.True(t, strings.HasPrefix(line, `{"jsonrpc":"2.0"`), line)
	}
	require.Equal(t, 2, strings.Count(out.String(), "\n"))
}

// EX-20: a client that cannot be served receives the reason, and nothing that is
// not meant for it; it may retry.
func TestOpenFails(t *testing.T) {
	for name, tt := range map[string]struct {
		err  error
		want string
	}{
		"fault":     {fault.New(fault.InvalidConfig, "open", "The settings are broken.", "Mend them."), `"message":"The settings are broken. Mend them."`},
		"any error": {errors.New("token hunter2"), `"code":-32603`},
	} {
		t.Run(name, func(t *testing.T) {
			shop := newShop()
			shop.bad = tt.err
			w := stdio(t, server.New(options(shop)))
			out := bufio.NewReader(w.out)
			_, err := io.WriteString(w.in, hello)
			require.NoError(t, err)
			line, err := out.ReadString('\n')
			require.NoError(t, err)
			require.Contains(t, line, tt.want)
			require.NotContains(t, line, "hunter2")
			shop.mu.Lock()
			shop.bad = nil
			shop.mu.Unlock()
			_, err = io.WriteString(w.in, hello)
			require.NoError(t, err)
			line, err = out.ReadString('\n')
			require.NoError(t, err)
			require.Contains(t, line, `"protocolVersion"`)
		})
	}
}

// EX-20: 1,000 concurrent calls: some run, the others wait, all are answered.
func TestManyCallsAtOnce(t *testing.T) {
	atOnce, overWire := 300, 100 // of as many connections
	if os.Getenv("FETTLE_FULL") != "" {
		atOnce, overWire = 1000, 1000
	}
	for name, tt := range map[string]struct {
		calls int
		dial  func(*server.Server) sdk.Transport
	}{
		"stdio": {atOnce, func(s *server.Server) sdk.Transport { return stdio(t, s).transport() }},
		"http":  {overWire, func(s *server.Server) sdk.Transport { return overHTTP(t, s, server.HTTPOptions{}) }},
	} {
		t.Run(name, func(t *testing.T) {
			shop := newShop()
			o := options(shop)
			o.Calls = 8
			c := clientOf(t, tt.dial(server.New(o)), "2025-11-25", sdk.ClientOptions{})
			calls := tt.calls
			seen := make(chan string, calls)
			for range calls {
				go func() {
					r, err := c.CallTool(t.Context(), &sdk.CallToolParams{Name: "count"})
					if err != nil {
						seen <- err.Error()
						return
					}
					seen <- r.Content[0].(*sdk.TextContent).Text
				}()
			}
			got := map[string]bool{}
			for range calls {
				got[<-seen] = true
			}
			require.Len(t, got, calls)
			require.True(t, got["1"] && got[fmt.Sprint(calls)], "%v", got)
			require.LessOrEqual(t, shop.most.Load(), int64(8))
		})
	}
}

// EX-20: clients are notified of changes, once for several changes in short
// order.
func TestChanges(t *testing.T) {
	for name, tr := range transports {
		if name == "process" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			shop := newShop()
			c := clientOf(t, tr.dial(t, server.New(options(shop))), tr.revisions[0], sdk.ClientOptions{})
			require.NoError(t, c.Subscribe(t.Context(), &sdk.SubscribeParams{URI: "shop:text"}))
			looks := 0
			settled(t, "told", func() bool { // a client of 2026-07-28 does not know when it is subscribed
				if looks%50 == 0 { // changes that follow closely are reported as one, after the last
					shop.change(mcp.Change{Tools: true})
				}
				looks++
				return len(c.tools) > 0
			})
			for i := range 50 {
				shop.add(fmt.Sprint("new", i))
			}
			<-c.tools
			settled(t, "listed", func() bool {
				l, err := c.ListTools(t.Context(), nil)
				require.NoError(t, err)
				return l.Tools[len(l.Tools)-1].Name == "new49"
			})
			require.Equal(t, "added tool", c.text(t, "new49", nil))
			settled(t, "told", func() bool {
				shop.change(mcp.Change{Resource: "shop:blob"})
				shop.change(mcp.Change{Resource: "shop:text"})
				return len(c.updated) > 0
			})
			for len(c.updated) > 0 {
				require.Equal(t, "shop:text", <-c.updated, "of others it is not told")
			}
		})
	}
}
