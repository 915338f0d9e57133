package integration_test

import (
	"fmt"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// layers are the boxes of the diagram in docs/architecture.md: each package belongs
// to the first one with a matching pattern. Packages that only tests use belong to
// none.
var layers = []struct{ name, title, patterns string }{
	{"program", "cli: the program", "cli cli/* cli/*/*"},
	{"standard", "standard: every provider and protocol wired in", "core/standard core/standard/*"},
	{"telemetry", "telemetry", "core/telemetry core/telemetry/*"},
	{"", "", "core/config/configtest core/tools/tooltest core/internal/unprivileged core/model/internal/wiretest docs integration integration/* integration/*/*"},
	{"settings", "config/settings, config/layout", "core/config/settings core/config/layout"},
	{"config", "config: composes a session", "core/config core/config/dirpolicy core/config/extensioncheck core/config/internal/*"},
	{"agent", "agent: the conversation, subagents", "core/agent core/agent/* core/internal/a2a core/internal/compact core/internal/prompt"},
	{"scheduler", "scheduler: the path of a call", "core/scheduler"},
	{"tools", "tools: the contract of a tool", "core/tools core/tools/host core/tools/toollist"},
	{"builtin", "tools/…: the built-in tools", "core/tools/* core/internal/discovered"},
	{"custom", "hooks, skills, extensions, commands", "core/hooks core/hooks/* core/internal/hookrun core/skills core/extensions core/commands core/commands/* core/services/extensionstore"},
	{"mcp", "mcp: servers, clients, sign-in", "core/mcp core/mcp/*"},
	{"mention", "mention", "core/mention"},
	{"model", "model: providers, scripts, replay", "core/model core/model/* core/model/internal/*"},
	{"policy", "policy: rules, command lines", "core/policy core/policy/* core/internal/checker"},
	{"files", "files: the file layer without an agent", "core/files"},
	{"services", "services: files, processes, network", "core/services/* core/services/patch/applypatch core/internal/gitdir core/internal/memory"},
	{"bus", "bus: questions and events", "core/bus"},
	{"internal", "internal helpers, jsonkeys", "core/internal/* core/jsonkeys"},
	{"fault", "fault, escape, redact, confirmation: errors, safe text, shared data", "core/fault core/escape core/redact core/confirmation"},
}

const (
	diagramBegin = "<!-- generated: go test ./integration -run TestDiagram -update -->\n\n```mermaid\n"
	diagramEnd   = "```\n"
)

// GO-06: the diagram of the layers is the transitive reduction of the imports between
// layers. -update rewrites it.
func TestDiagram(t *testing.T) {
	t.Parallel()
	edges := layerEdges(t)
	var want strings.Builder
	want.WriteString("flowchart TD\n")
	for _, l := range layers {
		if l.name != "" {
			fmt.Fprintf(&want, "    %s[\"%s\"]\n", l.name, l.title)
		}
	}
	for _, from := range layers {
		for _, to := range layers {
			if edges[from.name][to.name] && !impliedEdge(edges, from.name, to.name) {
				fmt.Fprintf(&want, "    %s --> %s\n", from.name, to.name)
			}
		}
	}
	const page = "../docs/architecture.md"
	text := textOf(t, "docs/architecture.md")
	before, rest, found := strings.Cut(text, diagramBegin)
	require.True(t, found, "docs/architecture.md does not have the comment before its diagram")
	have, after, found := strings.Cut(rest, diagramEnd)
	require.True(t, found)
	if *update {
		require.NoError(t, os.WriteFile(page, []byte(before+diagramBegin+want.String()+diagramEnd+after), 0o644))
		return
	}
	require.Equal(t, want.String(), have, "the diagram differs from go list; go test ./integration -run TestDiagram -update rewrites it")
}

// layerEdges returns the imports between layers on Linux; a package in no layer and a
// cycle of layers fail the test.
func layerEdges(t *testing.T) map[string]map[string]bool {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`, "./core/...", "./cli/...")
	cmd.Dir = ".."
	cmd.Env = append(os.Environ(), "GOOS=linux", "CGO_ENABLED=0")
	out, err := cmd.Output()
	require.NoError(t, err)
	const module = "github.com/fettle-dev/fettle/"
	edges := map[string]map[string]bool{}
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		from := layerOf(t, strings.TrimPrefix(words[0], module))
		for _, imported := range words[1:] {
			name, inside := strings.CutPrefix(imported, module)
			if !inside || from == "" {
				continue
			}
			if to := layerOf(t, name); to != from && to != "" {
				if edges[from] == nil {
					edges[from] = map[string]bool{}
				}
				edges[from][to] = true
			}
		}
	}
	for _, l := range layers {
		require.False(t, leads(edges, l.name, l.name), "the layers have a cycle through %s", l.name)
	}
	require.Greater(t, len(edges), 10)
	return edges
}

func layerOf(t *testing.T, pkg string) string {
	t.Helper()
	for _, l := range layers {
		if slices.ContainsFunc(strings.Fields(l.patterns), func(p string) bool { ok, _ := path.Match(p, pkg); return ok }) {
			return l.name
		}
	}
	t.Errorf("%s is in no layer of the diagram: add it in diagram_test.go", pkg)
	return ""
}

// leads reports whether a path leads from one layer to another.
func leads(edges map[string]map[string]bool, from, to string) bool {
	for next := range edges[from] {
		if next == to || leads(edges, next, to) {
			return true
		}
	}
	return false
}

// impliedEdge reports whether a path other than the edge itself exists.
func impliedEdge(edges map[string]map[string]bool, from, to string) bool {
	for next := range edges[from] {
		if next != to && leads(edges, next, to) {
			return true
		}
	}
	return false
}
