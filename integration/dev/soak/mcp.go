package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/mcp"
	"github.com/fettle-dev/fettle/core/mcp/client"
	"github.com/fettle-dev/fettle/core/mcp/mcpservice"
	"github.com/fettle-dev/fettle/core/mcp/server"
	"github.com/fettle-dev/fettle/core/policy"
)

// serveVariable makes this program an MCP server over stdin and stdout for the
// directory in its value.
const serveVariable = "FETTLE_SOAK_SERVE"

// serve serves a fettle session until stdin ends.
func serve(ctx context.Context, dir string) (err error) {
	c, err := config.New(config.Parameters{TargetDir: dir, Environment: config.Environment{HomeDir: dir}, Policy: config.Policy{ApprovalMode: policy.ModeYolo}})
	if err != nil {
		return err
	}
	if err := c.Initialize(ctx); err != nil {
		return errors.Join(err, c.Close())
	}
	return errors.Join(serveOver(ctx, c, os.Stdin, os.Stdout), c.Close())
}

func serveOver(ctx context.Context, c *config.Config, in *os.File, out *os.File) error {
	s := server.New(server.Options{Name: "soak", Version: "1", Open: func(context.Context, server.Client) (*mcpservice.Service, error) {
		return c.MCP().Serve(config.MCPServiceOptions{})
	}})
	return errors.Join(s.Stdio(ctx, in, out), s.Close())
}

// programServer returns this program as a server named after its directory.
func (s *soak) programServer(dir string) mcp.ServerSpec {
	return mcp.ServerSpec{Name: "program", Command: s.program, Env: map[string]string{serveVariable: s.path(dir)}, Dir: s.dir, Trusted: true}
}

// withServers makes a session connect to servers.
func withServers(servers ...mcp.ServerSpec) func(*config.Parameters) {
	return func(p *config.Parameters) {
		p.MCP.Dial = func(env config.MCPEnvironment) mcp.Dialer {
			return client.New(client.Options{Name: "soak", Version: "1", Dir: env.Dir, Logger: env.Logger})
		}
		p.MCP.Servers = servers
	}
}

// mcpByHand sends raw protocol messages to a server of the long session.
func mcpByHand(ctx context.Context, s *soak, r *rand.Rand) error {
	srv := server.New(server.Options{Name: "soak", Version: "1", Linger: time.Minute, Open: func(context.Context, server.Client) (*mcpservice.Service, error) {
		return s.long.MCP().Serve(config.MCPServiceOptions{Stateless: true})
	}})
	var in, out bytes.Buffer
	in.WriteString(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}` + "\n" +
		`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n" + `{"jsonrpc":"2.0","id":1,"method":"tools/list"}` + "\n")
	requests := 2
	for range 1 + r.IntN(5) {
		fmt.Fprintf(&in, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"glob","arguments":{"pattern":"f0*.txt"}}}`+"\n", requests)
		requests++
	}
	if err := errors.Join(srv.Stdio(ctx, &in, &out), srv.Close()); err != nil {
		return err
	}
	answers := map[int]bool{}
	for line := range strings.Lines(out.String()) {
		var m struct {
			ID     *int            `json:"id"`
			Result json.RawMessage `json:"result"`
			Error  json.RawMessage `json:"error"`
		}
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			return fmt.Errorf("%q is not a message: %w", line, err)
		}
		if m.ID == nil {
			continue
		}
		if answers[*m.ID] || m.Error != nil || *m.ID > 1 && !strings.Contains(string(m.Result), "f00.txt") {
			return fmt.Errorf("request %d has the response %q", *m.ID, clip(line))
		}
		answers[*m.ID] = true
	}
	if len(answers) != requests {
		return fmt.Errorf("%d of %d requests have a response", len(answers), requests)
	}
	return nil
}

// mcpInMemory uses a server in this process.
func mcpInMemory(ctx context.Context, s *soak, r *rand.Rand) error {
	srv := sdk.NewServer(&sdk.Implementation{Name: "memory", Version: "1"}, nil)
	srv.AddTool(&sdk.Tool{Name: "echo", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(_ context.Context, q *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: string(q.Params.Arguments)}}}, nil
	})
	return s.short(ctx, withServers(mcp.ServerSpec{Name: "memory", InProcess: srv, Trusted: true}), func(c *session) error {
		manager, err := c.MCP().Manager()
		if err != nil {
			return err
		}
		manager.Settled(ctx)
		for range 1 + r.IntN(3) {
			word := fmt.Sprint("word", r.IntN(1000))
			text, err := c.must(ctx, "mcp_memory_echo", map[string]any{"say": word})
			if err == nil && !strings.Contains(text, word) {
				err = fmt.Errorf("%s has the response %q", word, clip(text))
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// mcpOverStdio calls the long session's server, and occasionally starts another one.
func mcpOverStdio(ctx context.Context, s *soak, r *rand.Rand) error {
	look := func(c *session) error {
		manager, err := c.MCP().Manager()
		if err != nil {
			return err
		}
		manager.Settled(ctx)
		text, err := c.must(ctx, "mcp_program_glob", map[string]any{"pattern": "*.txt"})
		if err == nil && !strings.Contains(text, ".txt") {
			err = fmt.Errorf("the server finds %q", clip(text))
		}
		return err
	}
	if err := look(s.long); err != nil || r.IntN(4) != 0 {
		return err
	}
	return s.short(ctx, nil, func(outer *session) error {
		if err := os.WriteFile(filepath.Join(outer.dir, "a.txt"), nil, 0o644); err != nil {
			return err
		}
		dir, err := filepath.Rel(s.dir, outer.dir)
		if err != nil {
			return err
		}
		return s.short(ctx, withServers(s.programServer(dir)), look)
	})
}
