package gateway

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/cli/guard/decide"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/policy"
)

// TestMain lets the test binary be a server.
func TestMain(m *testing.M) {
	if mode := os.Getenv("GATEWAY_SERVER"); mode != "" {
		serveLines(mode, os.Stdin, os.Stdout)
		return
	}
	os.Exit(m.Run())
}

// rules is a Decider with rules of the user.
type rules struct{ *policy.Engine }

func newRules(t *testing.T, all ...policy.Rule) rules {
	t.Helper()
	for i := range all {
		all[i].Tier, all[i].Source = policy.TierUser, "policies.toml"
	}
	e, err := policy.NewEngine(policy.Options{Rules: all})
	require.NoError(t, err)
	return rules{e}
}

func subjectOf(c decide.Call) policy.Call {
	return policy.Call{Tool: c.Tool, Kind: "other", Params: c.Args, Headless: c.Headless, Server: c.Server, ServerTool: c.ServerTool, Annotations: c.Annotations}
}

func (r rules) Decide(_ context.Context, c decide.Call) (policy.Decision, error) {
	return r.Engine.Decide(subjectOf(c)), nil
}

func (rules) Lasting() bool { return true }

// peer is a client under test, connected to a gateway.
type peer struct {
	t     *testing.T
	in    *io.PipeWriter
	lines chan string
	done  chan error
	log   *logged
}

// logged is a log.
type logged struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// connect starts a gateway with serve.
func connect(t *testing.T, o Options, serve func(ctx context.Context, o Options, in io.Reader, out io.Writer) error) *peer {
	t.Helper()
	if o.Decider == nil {
		o.Decider = newRules(t)
	}
	fromClient, toGateway := io.Pipe()
	fromGateway, toClient := io.Pipe()
	p := &peer{t: t, in: toGateway, lines: make(chan string, 2000), done: make(chan error, 1), log: &logged{}}
	o.Log = p.log
	if o.Server == "" {
		o.Server = "files"
	}
	go func() {
		p.done <- serve(t.Context(), o, fromClient, toClient)
		_ = toClient.Close()
	}()
	go func() {
		defer close(p.lines)
		b := bufio.NewReader(fromGateway)
		for {
			line, err := b.ReadString('\n')
			if line != "" {
				p.lines <- strings.TrimSuffix(line, "\n")
			}
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() { _ = toGateway.Close(); _ = fromGateway.Close() })
	return p
}

func (p *peer) send(lines ...string) {
	p.t.Helper()
	for _, line := range lines {
		_, err := io.WriteString(p.in, line+"\n")
		require.NoError(p.t, err)
	}
}

const patience = 20 * time.Second

// line returns the next line of the gateway.
func (p *peer) line() string {
	p.t.Helper()
	select {
	case line, ok := <-p.lines:
		require.True(p.t, ok, "the gateway has ended; log: %s", p.log)
		return line
	case <-time.After(patience):
		p.t.Fatalf("no line; log: %s", p.log)
		return ""
	}
}

func (p *peer) message() map[string]any {
	p.t.Helper()
	return decoded(p.t, p.line())
}

func decoded(t *testing.T, line string) map[string]any {
	t.Helper()
	var m map[string]any
	require.NoError(t, json.Unmarshal([]byte(line), &m), line)
	return m
}

// quiet requires that nothing comes until the server has answered a ping.
func (p *peer) quiet() {
	p.t.Helper()
	p.send(`{"jsonrpc":"2.0","id":"quiet","method":"ping"}`)
	require.Equal(p.t, `{"id":"quiet","jsonrpc":"2.0","result":{}}`, p.line())
}

// end closes the client's side and returns the gateway's outcome.
func (p *peer) end() error {
	p.t.Helper()
	_ = p.in.Close()
	return p.ended()
}

func (p *peer) ended() error {
	p.t.Helper()
	select {
	case err := <-p.done:
		return err
	case <-time.After(patience):
		p.t.Fatalf("the gateway does not end; log: %s", p.log)
		return nil
	}
}

// initialize negotiates a revision.
func (p *peer) initialize(revision, capabilities string) {
	p.t.Helper()
	p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":%q,"capabilities":%s,"clientInfo":{"name":"c","version":"1"}}}`, revision, capabilities))
	require.Contains(p.t, p.line(), `"id":"i"`)
	p.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
}

// fake is a server in this process.
type fake struct {
	out  chan []byte
	gone chan struct{}
	once sync.Once
	got  chan string // received messages, apart from pings and initialize
	// answer returns the response to a call; nil: the call is only recorded.
	answer func(m *message) string
}

func newFake(answer func(m *message) string) *fake {
	return &fake{out: make(chan []byte, 2000), gone: make(chan struct{}), got: make(chan string, 2000), answer: answer}
}

func (f *fake) serve(ctx context.Context, o Options, in io.Reader, out io.Writer) error {
	return run(ctx, o, f, in, out)
}

func (f *fake) emit(raw string) { f.out <- []byte(raw) }

func (f *fake) send(m *message) {
	switch {
	case m.method == "ping":
		f.out <- result(m.id, map[string]any{})
		return
	case m.method == methodInitialize:
		f.out <- result(m.id, map[string]any{"protocolVersion": text(m.params()["protocolVersion"])})
		return
	case m.method == methodInitialized:
		return
	}
	f.got <- string(m.raw)
	if f.answer != nil && m.id != nil && m.method != "" {
		if a := f.answer(m); a != "" {
			f.out <- []byte(a)
		}
	}
}

func (f *fake) receive(use func([]byte)) {
	for {
		select {
		case raw := <-f.out:
			use(raw)
		case <-f.gone:
			return
		}
	}
}

func (f *fake) finish()           {}
func (f *fake) close()            { f.once.Do(func() { close(f.gone) }) }
func (f *fake) why() *fault.Error { return unavailable("files", "It is gone.", "Start it.", nil) }

// next returns the next message that the server has received.
func (f *fake) next(t *testing.T) string {
	t.Helper()
	select {
	case raw := <-f.got:
		return raw
	case <-time.After(patience):
		t.Fatal("the server has received nothing")
		return ""
	}
}

// echo answers a call with its parameters.
func echo(m *message) string {
	return string(result(m.id, map[string]any{"content": []any{map[string]any{"type": "text", "text": string(m.fields["params"])}}}))
}

func toolCall(id int, tool, args string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, id, tool, args)
}

// serveLines is a server over stdin and stdout, whose behaviour mode selects.
func serveLines(mode string, in io.Reader, out io.Writer) {
	fmt.Fprintln(os.Stderr, "ready \x1b[31m", os.Getenv("GATEWAY_TOKEN"), os.Getenv("GATEWAY_OTHER"))
	eachLine(in, 128<<20, func(line []byte) bool {
		m, err := parse(line)
		if err != nil || m.id == nil {
			return true
		}
		if m.method == methodInitialize {
			fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":%s}}`+"\n", m.id, m.params()["protocolVersion"])
			return true
		}
		switch mode + " " + text(m.params()["name"]) {
		case "talk die":
			fmt.Fprintln(os.Stderr, "cannot go on")
			os.Exit(3)
		case "talk large":
			fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":%q}]}}`+"\n", m.id, strings.Repeat("x", 3<<20))
		case "talk junk":
			fmt.Fprintln(out, "Listening on \x1b[1mport\x1b[0m 1")
			fmt.Fprintln(out, echo(m))
		case "talk pid":
			fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":{"pid":%d,"env":%s}}`+"\n", m.id, os.Getpid(), encode(os.Environ()))
		default:
			fmt.Fprintln(out, echo(m))
		}
		return true
	})
	if mode == "stay" {
		select {} // ignores the end of its input
	}
}
