package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/mcp"
	"github.com/fettle-dev/fettle/core/mcp/server"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/services/filestate"
)

// What MCP adds to a call: the same read_file in this process, over the protocol
// within this process, and over fettle mcp serve as a process of its own. The
// client writes and reads lines and no more.
func BenchmarkMCPCall(b *testing.B) {
	bin := filepath.Join(b.TempDir(), "fettle")
	build(b, bin, "github.com/fettle-dev/fettle/cli/fettle")
	const args = `{"file_path":"a.txt","offset":0,"limit":10}`

	b.Run("in process", func(b *testing.B) {
		s := newSession(b, filestate.Limits{})
		s.write("a.txt", "one\ntwo\n")
		measureCalls(b, func() {
			r := s.calls.Run(b.Context(), scheduler.Request{Tool: "read_file", Args: json.RawMessage(args)})
			require.Nil(b, r.Result.Error)
		})
	})
	b.Run("in memory", func(b *testing.B) {
		dir := b.TempDir()
		c, err := config.New(config.Parameters{TargetDir: dir, HomeDir: b.TempDir(), ApprovalMode: policy.ModeYolo})
		require.NoError(b, err)
		require.NoError(b, c.Initialize(b.Context()))
		writeFile(b, dir)
		srv := server.New(server.Options{Name: "fettle", Version: "bench", Open: func(context.Context, mcp.Client) (*mcp.Service, error) {
			return c.MCPService(config.MCPServiceOptions{Owned: true})
		}})
		inRead, inWrite := io.Pipe()
		outRead, outWrite := io.Pipe()
		ended := make(chan error, 1)
		go func() { ended <- srv.Stdio(context.WithoutCancel(b.Context()), inRead, outWrite) }()
		client := greet(b, inWrite, outRead)
		measureCalls(b, func() { client.call("read_file", args) })
		require.NoError(b, inWrite.Close())
		go func() { _, _ = io.Copy(io.Discard, outRead) }()
		require.NoError(b, <-ended)
		require.NoError(b, srv.Close())
		require.NoError(b, c.Close())
	})
	b.Run("stdio", func(b *testing.B) {
		dir := b.TempDir()
		writeFile(b, dir)
		cmd := exec.CommandContext(context.WithoutCancel(b.Context()), bin, "--approval-mode", "yolo", "mcp", "serve")
		cmd.Dir, cmd.Env = dir, []string{"HOME=" + b.TempDir()}
		in, err := cmd.StdinPipe()
		require.NoError(b, err)
		out, err := cmd.StdoutPipe()
		require.NoError(b, err)
		require.NoError(b, cmd.Start())
		client := greet(b, in, out)
		measureCalls(b, func() { client.call("read_file", args) })
		require.NoError(b, in.Close())
		require.NoError(b, cmd.Wait())
	})
}

func writeFile(b *testing.B, dir string) {
	b.Helper()
	s := session{tb: b, dir: dir}
	s.write("a.txt", "one\ntwo\n")
}

// measureCalls reports the least and the median time of a call.
func measureCalls(b *testing.B, call func()) {
	b.Helper()
	call()
	var walls []time.Duration
	for b.Loop() {
		start := time.Now()
		call()
		walls = append(walls, time.Since(start))
	}
	slices.Sort(walls)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(walls[0].Nanoseconds())/1e3, "µs/least")
	b.ReportMetric(float64(walls[len(walls)/2].Nanoseconds())/1e3, "µs/median")
}

// lineClient is the least client of MCP.
type lineClient struct {
	b   *testing.B
	in  io.Writer
	out *bufio.Reader
	id  int
}

func greet(b *testing.B, in io.Writer, out io.Reader) *lineClient {
	b.Helper()
	c := &lineClient{b: b, in: in, out: bufio.NewReader(out)}
	c.request("initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}`)
	_, err := io.WriteString(in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n")
	require.NoError(b, err)
	return c
}

func (c *lineClient) call(tool, args string) {
	c.request("tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, tool, args))
}

// request sends a request and waits for its answer, which must be no error.
func (c *lineClient) request(method, params string) {
	c.id++
	_, err := fmt.Fprintf(c.in, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", c.id, method, params)
	require.NoError(c.b, err)
	for {
		line, err := c.out.ReadBytes('\n')
		require.NoError(c.b, err)
		var m struct {
			ID     int             `json:"id"`
			Method string          `json:"method"`
			Error  json.RawMessage `json:"error"`
			Result struct {
				IsError bool `json:"isError"`
			} `json:"result"`
		}
		require.NoError(c.b, json.Unmarshal(line, &m))
		if m.ID == c.id && m.Method == "" {
			require.Empty(c.b, m.Error)
			require.False(c.b, m.Result.IsError)
			return
		}
	}
}
