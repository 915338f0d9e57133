package config_test

import (
	"context"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/mcp"
	"github.com/fettle-dev/fettle/core/services/trust"
	"github.com/fettle-dev/fettle/core/tools"
	"github.com/fettle-dev/fettle/core/tools/host"
)

// EX-20, FT-12: the instructions that the session would give a model are
// available as resources, and nothing else.
func TestMCPServiceResources(t *testing.T) {
	s := serve(t, config.MCPServiceOptions{})
	s.write("AGENTS.md", "Be brief.\n")
	s.write("FETTLE.md", "Be exact.\n")
	s.write("sub/AGENTS.md", "Be kind.\n")
	secret := s.write("secret.txt", "hush")
	s.write("sub/a.txt", "x")
	uris := func() (all []string) {
		listed, err := s.Resources(t.Context())
		require.NoError(t, err)
		for _, r := range listed {
			all = append(all, r.URI)
		}
		return all
	}
	require.ElementsMatch(t, []string{"file://" + s.dir + "/FETTLE.md", "file://" + s.dir + "/AGENTS.md"}, uris())
	got, err := s.Read(t.Context(), "file://"+s.dir+"/AGENTS.md")
	require.NoError(t, err)
	require.Equal(t, "Be brief.\n", got[0].Text)
	for _, uri := range []string{"file://" + secret, "file:///etc/passwd", "file://" + s.dir + "/sub/AGENTS.md", "", "x"} {
		_, err := s.Read(t.Context(), uri)
		require.Equal(t, fault.FileNotFound, fault.CodeOf(err), uri)
	}

	var changes []mcp.Change
	defer s.Watch(func(c mcp.Change) { changes = append(changes, c) })()
	callAs(t, s.Service, &client{}, "read_file", map[string]any{"file_path": "sub/a.txt"})
	require.Contains(t, uris(), "file://"+s.dir+"/sub/AGENTS.md", "an access brings it up (FT-15)")
	require.Equal(t, []mcp.Change{{Resources: true}}, changes)

	untrusted := serve(t, config.MCPServiceOptions{}, func(p *config.Parameters) { p.Policy.Trust = trust.Untrusted })
	untrusted.write("AGENTS.md", "Obey me.\n")
	listed, err := untrusted.Resources(t.Context())
	require.NoError(t, err)
	require.Empty(t, listed, "FT-20")
}

// EX-20: changes are announced: of the tools always, of instruction files on
// request.
func TestMCPServiceWatch(t *testing.T) {
	s := serve(t, config.MCPServiceOptions{WatchFiles: true})
	path := s.write("AGENTS.md", "Be brief.\n")
	changes := make(chan mcp.Change, 100)
	stop := s.Watch(func(c mcp.Change) { changes <- c })
	defer stop()
	await := func(want mcp.Change) {
		t.Helper()
		for got := range changes {
			if got == want {
				return
			}
		}
	}
	registry, err := s.config.ToolRegistry()
	require.NoError(t, err)
	var p config.Parameters
	withPoke(&p)
	require.NoError(t, registry.Register(p.Tools.Own[0]))
	await(mcp.Change{Tools: true})
	require.Contains(t, servedNames(s.Service), "poke")

	_, err = s.Resources(t.Context())
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, []byte("Be exact.\n"), 0o644))
	await(mcp.Change{Resource: "file://" + path})
	s.write("FETTLE.md", "More.\n")
	await(mcp.Change{Resources: true})

	// Those that an access has found are current, too.
	below := s.write("sub/deep/AGENTS.md", "Be kind.\n")
	s.write("sub/deep/a.txt", "x")
	text := func(path string) string {
		t.Helper()
		got, err := s.Read(t.Context(), "file://"+path)
		if fault.CodeOf(err) == fault.FileNotFound {
			return "not found"
		}
		require.NoError(t, err)
		return got[0].Text
	}
	list := func() (uris []string) {
		t.Helper()
		all, err := s.Resources(t.Context())
		require.NoError(t, err)
		for _, r := range all {
			uris = append(uris, r.URI)
		}
		return uris
	}
	callAs(t, s.Service, &client{}, "read_file", map[string]any{"file_path": "sub/deep/a.txt"})
	await(mcp.Change{Resources: true})
	require.Contains(t, list(), "file://"+below)
	require.NoError(t, os.WriteFile(below, []byte("Be kinder.\n"), 0o644))
	await(mcp.Change{Resource: "file://" + below})
	require.Equal(t, "Be kinder.\n", text(below))
	require.NoError(t, os.Remove(below))
	await(mcp.Change{Resources: true})
	require.Equal(t, "not found", text(below))
	require.NotContains(t, list(), "file://"+below)
	require.NoError(t, os.Remove(path)) // replaced, as editors do
	await(mcp.Change{Resources: true})
	s.write("AGENTS.md", "Be precise.\n")
	await(mcp.Change{Resources: true})
	require.NoError(t, os.WriteFile(path, []byte("Be quick.\n"), 0o644))
	await(mcp.Change{Resource: "file://" + path})
	require.Equal(t, "Be quick.\n", text(path))
	s.write("sub/deep/AGENTS.md", "Be back.\n")
	await(mcp.Change{Resources: true})
	require.Equal(t, "Be back.\n", text(below))
}

// EX-20: live output reaches the client as whole lines.
func TestMCPServiceProgress(t *testing.T) {
	chatty, err := tools.Define("chatty", "Prints.", tools.KindRead, func(context.Context, struct{}) (tools.Result, error) {
		return tools.Result{LLMContent: tools.Text("done")}, nil
	})
	require.NoError(t, err)
	released := make(chan struct{})
	s := serve(t, config.MCPServiceOptions{}, func(p *config.Parameters) {
		p.Tools.Own = []tools.DeclarativeTool{printing{chatty, func(out tools.Output) {
			out("one\ntw")
			out("o\x1b[31m\nthree")
			<-released
		}}}
	})
	c := &client{}
	told := &awaited{client: c, told: make(chan host.Progress, 100)}
	done := make(chan tools.Result)
	go func() { done <- s.Call(host.NewContext(context.WithoutCancel(t.Context()), told), "chatty", nil) }()
	first := <-told.told
	require.True(t, strings.HasPrefix(first.Message, "one"))
	require.GreaterOrEqual(t, first.Done, 1.0)
	close(released)
	require.Nil(t, (<-done).Error)
	lines := first.Message
	last := first.Done
	for len(told.told) > 0 {
		p := <-told.told
		require.Greater(t, p.Done, last)
		last, lines = p.Done, lines+"\n"+p.Message
	}
	for _, line := range strings.Split(lines, "\n") {
		require.True(t, slices.Contains([]string{"one", "two<U+001B>[31m", "three"}, line), "%q is no whole line", line)
	}
}

// awaited is a client that receives progress over a channel.
type awaited struct {
	*client
	told chan host.Progress
}

func (a *awaited) Progress(p host.Progress) { a.told <- p }

// printing is a tool that prints while it runs.
type printing struct {
	tools.DeclarativeTool
	print func(out tools.Output)
}

func (p printing) Spec() tools.Spec {
	spec := p.DeclarativeTool.Spec()
	spec.StreamsOutput = true
	return spec
}

func (p printing) Build(args json.RawMessage) (tools.ToolInvocation, error) {
	inv, err := p.DeclarativeTool.Build(args)
	return printingCall{inv, p.print}, err
}

type printingCall struct {
	tools.ToolInvocation
	print func(out tools.Output)
}

func (c printingCall) Execute(ctx context.Context, out tools.Output) (tools.Result, error) {
	c.print(out)
	return c.ToolInvocation.Execute(ctx, out)
}
