package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"

	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/mcp/mcpservice"
	"github.com/fettle-dev/fettle/core/mcp/server"
)

// The file that is read over MCP, and the arguments.
const (
	mcpFile      = "a.txt"
	mcpText      = "one\ntwo\n"
	mcpArguments = `{"file_path":"a.txt","offset":0,"limit":10}`
)

// inProcess is the name of the contestant that a budget refers to.
const inProcess = "the call in process"

func mcpCases() []Case {
	return []Case{{ID: "mcp/call", Title: "`read_file` of a small file", Description: "A call to `fettle mcp serve` over pipes, and the same call without them.",
		Contestants: []Contestant{
			{"over stdio", Ours, mcpOverStdio},
			{"over MCP in memory", Part, mcpInMemory},
			{inProcess, Part, caller("read_file", json.RawMessage(mcpArguments), func(_ context.Context, s *session) error {
				_, err := s.write(mcpFile, mcpText)
				return err
			})},
		},
		Budgets: ratio(3, inProcess)}}
}

func mcpInMemory(ctx context.Context, lab *Lab) (*Prepared, error) {
	s, err := newSession(ctx, lab)
	if err != nil {
		return nil, err
	}
	if _, err := s.write(mcpFile, mcpText); err != nil {
		return nil, errors.Join(err, s.config.Close())
	}
	srv := server.New(server.Options{Name: "fettle", Version: "bench", Open: func(context.Context, server.Client) (*mcpservice.Service, error) {
		return s.config.MCP().Serve(config.MCPServiceOptions{Owned: true})
	}})
	inRead, inWrite := io.Pipe()
	outRead, outWrite := io.Pipe()
	var serving sync.WaitGroup
	var served error
	serving.Go(func() { served = srv.Stdio(context.WithoutCancel(ctx), inRead, outWrite) })
	end := func() error {
		closing := inWrite.Close()
		var draining sync.WaitGroup
		draining.Go(func() { _, _ = io.Copy(io.Discard, outRead) }) // the server must not block on unread output
		serving.Wait()
		closing = errors.Join(closing, served, outRead.Close())
		draining.Wait()
		return errors.Join(closing, srv.Close(), s.config.Close())
	}
	client, err := greet(inWrite, outRead)
	if err != nil {
		return nil, errors.Join(err, end())
	}
	return &Prepared{Close: end, InProcess: true, Run: timed(func(context.Context) error { return client.call("read_file", mcpArguments) })}, nil
}

func mcpOverStdio(ctx context.Context, lab *Lab) (*Prepared, error) {
	fettle, err := lab.Fettle(ctx)
	if err != nil {
		return nil, err
	}
	env, err := lab.Environment(ctx)
	if err != nil {
		return nil, err
	}
	dir, err := lab.TempDir("mcp")
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, mcpFile), []byte(mcpText), 0o644); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, fettle, "--approval-mode", "yolo", "mcp", "serve")
	cmd.Dir, cmd.Env = dir, env
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	end := func() error {
		err := errors.Join(in.Close(), cmd.Wait())
		if ctx.Err() != nil {
			return nil // the process was killed
		}
		return err
	}
	client, err := greet(in, out)
	if err != nil {
		return nil, errors.Join(err, end())
	}
	return &Prepared{Close: end, Run: timed(func(context.Context) error { return client.call("read_file", mcpArguments) })}, nil
}

// lineClient is a minimal MCP client: it writes lines and reads lines.
type lineClient struct {
	in  io.Writer
	out *bufio.Reader
	id  int
}

func greet(in io.Writer, out io.Reader) (*lineClient, error) {
	c := &lineClient{in: in, out: bufio.NewReader(out)}
	if err := c.request("initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}`); err != nil {
		return nil, err
	}
	_, err := io.WriteString(in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n")
	return c, err
}

func (c *lineClient) call(tool, args string) error {
	return c.request("tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, tool, args))
}

// request sends a request and waits for its response, which must not be an error.
func (c *lineClient) request(method, params string) error {
	c.id++
	if _, err := fmt.Fprintf(c.in, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", c.id, method, params); err != nil {
		return err
	}
	for {
		line, err := c.out.ReadBytes('\n')
		if err != nil {
			return fmt.Errorf("the response of the MCP server: %w", err)
		}
		var m struct {
			ID     int             `json:"id"`
			Method string          `json:"method"`
			Error  json.RawMessage `json:"error"`
			Result struct {
				IsError bool `json:"isError"`
			} `json:"result"`
		}
		if err := json.Unmarshal(line, &m); err != nil {
			return err
		}
		if m.ID != c.id || m.Method != "" {
			continue
		}
		if len(m.Error) > 0 || m.Result.IsError {
			return fmt.Errorf("the MCP server responded %s", line)
		}
		return nil
	}
}
