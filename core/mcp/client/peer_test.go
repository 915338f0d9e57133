//go:build unix

package client_test

//lint:file-ignore SA1019 roots, logs and sampling are the protocol's until servers have moved on

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/fettle-dev/fettle/core/mcp"
)

// The test binary also contains the servers used by the tests: FETTLE_TEST_PEER
// selects one.
func TestMain(m *testing.M) {
	switch peer := os.Getenv("FETTLE_TEST_PEER"); peer {
	case "":
		os.Exit(m.Run())
	case "sdk":
		_ = newServer(nil).Run(context.Background(), &sdk.StdioTransport{MaxLineLength: -1})
	case "slow":
		_ = serveSlowly()
	case "script":
		play(os.Getenv("FETTLE_TEST_SCRIPT"))
	case "dialogue":
		converse(os.Getenv("FETTLE_TEST_SCRIPT"))
	case "sleep": // outlives polite shutdown
		signal.Ignore(syscall.SIGTERM)
		time.Sleep(time.Hour)
	}
	os.Exit(0)
}

// serveSlowly is a server that starts when initialize has arrived, and then also
// reads everything before it.
func serveSlowly() error {
	in := bufio.NewReader(os.Stdin)
	var read bytes.Buffer
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return err
		}
		read.Write(line)
		if messageOf(line).Method == "initialize" {
			break
		}
	}
	return newServer(nil).Run(context.Background(), &sdk.IOTransport{Reader: io.NopCloser(io.MultiReader(&read, in)), Writer: os.Stdout, MaxLineLength: -1})
}

// peerSpec returns the spec of a server in this binary.
func peerSpec(t *testing.T, peer, script string) mcp.ServerSpec {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return mcp.ServerSpec{Name: "peer", Command: self, Env: map[string]string{"FETTLE_TEST_PEER": peer, "FETTLE_TEST_SCRIPT": script}, Dir: t.TempDir()}
}

// message is the part of a client's message that a scripted server reads.
type message struct {
	ID     json.RawMessage
	Method string
	Params struct {
		Meta struct{ ProgressToken json.RawMessage } `json:"_meta"`
	}
}

func messageOf(text []byte) (m message) {
	_ = json.Unmarshal(text, &m) // an invalid message has no method
	return m
}

// play is a server by script. Its lines, in order:
//
//	> METHOD    the next message of the client's is of that method
//	< TEXT      sends a line, in which $ID is the id of the last request and
//	            $TOKEN its progress token
//	!err TEXT   writes to stderr
//	!exit N     ends
//	!kill       ends by a signal
//	!close      closes stdout
//	!big N      answers with a text of N bytes
//	!flood N    writes N MiB to stderr
//	!child      starts a process that does not end when asked, and prints its number to stderr
//	!deaf       does not end at SIGTERM nor at the end of its input
//
// At the end it reads until its input ends.
func play(script string) {
	in := bufio.NewReader(os.Stdin)
	id, token, deaf := "", "", false
	for line := range strings.Lines(script) {
		verb, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch verb {
		case ">":
			text, err := in.ReadBytes('\n')
			if err != nil {
				os.Exit(0)
			}
			m := messageOf(text)
			if len(m.ID) > 0 {
				id = string(m.ID)
			}
			token = string(m.Params.Meta.ProgressToken)
			if m.Method != rest {
				fmt.Fprintf(os.Stderr, "want %s, got %s", rest, text)
				os.Exit(99)
			}
		case "<":
			fmt.Println(strings.NewReplacer("$ID", id, "$TOKEN", token).Replace(rest))
		case "!err":
			fmt.Fprintln(os.Stderr, rest)
		case "!exit":
			code, _ := strconv.Atoi(rest)
			os.Exit(code)
		case "!kill":
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		case "!close":
			_ = os.Stdout.Close()
		case "!big":
			n, _ := strconv.Atoi(rest)
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"%s"}]}}`+"\n", id, strings.Repeat("x", n))
		case "!flood":
			n, _ := strconv.Atoi(rest)
			block := []byte(strings.Repeat(strings.Repeat("f", 1023)+"\n", 1024))
			for range n {
				_, _ = os.Stderr.Write(block)
			}
		case "!child":
			c := exec.Command(os.Args[0])
			c.Env = []string{"FETTLE_TEST_PEER=sleep"}
			c.Stdout, c.Stderr = os.Stdout, os.Stderr // kept open
			_ = c.Start()
			fmt.Fprintln(os.Stderr, "child", c.Process.Pid)
		case "!deaf":
			deaf = true
			signal.Ignore(syscall.SIGTERM)
		}
	}
	_, _ = io.Copy(io.Discard, in)
	if deaf {
		time.Sleep(time.Hour) // until it is killed; without cgo, select {} would be reported as a deadlock
	}
}

// hello begins a dialogue with the old handshake.
const hello = `> server/discover
< {"jsonrpc":"2.0","id":$ID,"error":{"code":-32601,"message":"Method not found"}}
> initialize
< {"jsonrpc":"2.0","id":$ID,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{},"resources":{},"prompts":{}},"serverInfo":{"name":"script","version":"1"}}}
> notifications/initialized
`

// newServer returns a server of the SDK with tools for the tests.
func newServer(o *sdk.ServerOptions) *sdk.Server {
	if o == nil {
		o = &sdk.ServerOptions{}
	}
	o.Instructions = "Use the tools."
	if o.SubscribeHandler == nil {
		o.SubscribeHandler = func(context.Context, *sdk.SubscribeRequest) error { return nil }
		o.UnsubscribeHandler = func(context.Context, *sdk.UnsubscribeRequest) error { return nil }
	}
	s := sdk.NewServer(&sdk.Implementation{Name: "sdk", Title: "The SDK", Version: "2"}, o)
	schema := json.RawMessage(`{"type":"object","properties":{"b":{"type":"integer"},"a":{"type":"integer"}}}`)
	add := func(name string, f sdk.ToolHandler) {
		s.AddTool(&sdk.Tool{Name: name, Description: name + " it", InputSchema: schema}, f)
	}
	say := func(text string) *sdk.CallToolResult {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}}
	}
	add("echo", func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		res := say(string(r.Params.Arguments))
		res.StructuredContent = json.RawMessage(r.Params.Arguments)
		return res, nil
	})
	add("environ", func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return say(strings.Join(os.Environ(), "\n")), nil
	})
	add("progress", func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		for i := range 20 {
			err := r.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{
				ProgressToken: r.Params.GetProgressToken(), Progress: float64(i + 1), Total: 20, Message: "step",
			})
			if err != nil {
				return nil, err
			}
		}
		return say("done"), nil
	})
	add("wait", func(ctx context.Context, _ *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		dir := os.Getenv("FETTLE_TEST_NOTES")
		note := func(what string) {
			if dir != "" {
				_ = os.WriteFile(filepath.Join(dir, what), nil, 0o600)
			}
		}
		note("begun")
		<-ctx.Done()
		note("cancelled")
		return nil, ctx.Err()
	})
	add("ask", func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		answer, ok := r.Params.InputResponses["who"].(*sdk.ElicitResult)
		if !ok {
			return &sdk.CallToolResult{RequestState: "state", InputRequests: sdk.InputRequestMap{"who": &sdk.ElicitParams{
				Mode: "form", Message: "Who?", RequestedSchema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"},"age":{"type":"integer","default":9},"big":{"type":"integer"}},"required":["name","age"]}`),
			}}}, nil
		}
		text, _ := json.Marshal(answer)
		return say(string(text) + r.Params.RequestState), nil
	})
	add("roots", func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		answer, ok := r.Params.InputResponses["r"].(*sdk.ListRootsResult)
		if !ok {
			return &sdk.CallToolResult{InputRequests: sdk.InputRequestMap{"r": &sdk.ListRootsParams{}}}, nil
		}
		var uris []string
		for _, root := range answer.Roots {
			uris = append(uris, root.URI)
		}
		return say(strings.Join(uris, " ")), nil
	})
	add("add", func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		s.AddTool(&sdk.Tool{Name: "added", InputSchema: schema}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) { return say("x"), nil })
		return say("ok"), nil
	})
	add("touch", func(ctx context.Context, _ *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return say("ok"), s.ResourceUpdated(ctx, &sdk.ResourceUpdatedNotificationParams{URI: "test://a"})
	})
	add("log", func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return say("ok"), r.Session.Log(ctx, &sdk.LoggingMessageParams{Level: "warning", Logger: "l", Data: map[string]any{"n": 1}})
	})
	add("panic", func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) { os.Exit(7); return nil, nil })
	s.AddResource(&sdk.Resource{URI: "test://a", Name: "a", MIMEType: "text/plain"}, func(_ context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: r.Params.URI, Text: "A"}, {URI: "test://b", Blob: []byte{0, 1}, MIMEType: "x/y"}}}, nil
	})
	s.AddResourceTemplate(&sdk.ResourceTemplate{URITemplate: "t://{x}", Name: "t"}, func(_ context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		return nil, sdk.ResourceNotFoundError(r.Params.URI)
	})
	s.AddPrompt(&sdk.Prompt{Name: "p", Arguments: []*sdk.PromptArgument{{Name: "x", Required: true}}}, func(_ context.Context, r *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
		return &sdk.GetPromptResult{Description: "d", Messages: []*sdk.PromptMessage{{Role: "assistant", Content: &sdk.TextContent{Text: "x=" + r.Params.Arguments["x"]}}}}, nil
	})
	return s
}
