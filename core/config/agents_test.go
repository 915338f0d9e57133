package config_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/agent/subagent"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/configtest"
	"github.com/fettle-dev/fettle/core/model/script"
	"github.com/fettle-dev/fettle/core/services/trust"
	"github.com/fettle-dev/fettle/core/tools"
)

// EX-14, RC-25, RC-27: an agent is a tool that works in a derived Config. Its
// questions contain its name, its caller's history contains only its report with
// the changed files, and the caller's knowledge of these is stale.
func TestAgentIsATool(t *testing.T) {
	s := configtest.New(t, playing(t, `
		{"when":{"purpose":"main"},"calls":[{"tool":"read_file","args":{"file_path":"f.txt"}}]},
		{"when":{"purpose":"main"},"calls":[{"tool":"generalist","args":{"query":"Make it loud."}}]},
		{"when":{"purpose":"subagent"},"expect":{"prompt":"Make it loud."},"calls":[{"tool":"safe_patch","args":{"file_path":"f.txt","unified_diff":"@@\n-two\n+TWO\n","base_content_sha256":"0000000000000000000000000000000000000000000000000000000000000000"}}]},
		{"when":{"purpose":"subagent"},"expect":{"tool":"safe_patch","error":"edit_requires_prior_read"},"calls":[{"tool":"read_file","args":{"file_path":"f.txt"}}]},
		{"when":{"purpose":"subagent"},"expect":{"result":"\"version\":1"},"calls":[{"tool":"safe_patch","args":{`+patched+`}}]},
		{"when":{"purpose":"subagent"},"calls":[{"tool":"generalist","args":{"query":"x"}}]},
		{"when":{"purpose":"subagent"},"expect":{"tool":"generalist","error":"tool_not_registered"},"calls":[{"tool":"complete_task","args":{"result":"It is loud."}}]},
		{"when":{"purpose":"main"},"expect":{"tool":"generalist","result":"It is loud."},"calls":[{"tool":"safe_patch","args":{`+patched+`}}]},
		{"when":{"purpose":"main"},"expect":{"tool":"safe_patch","error":"file_changed_since_read"},"text":"Somebody did it."}`, script.Options{}))
	s.Write("f.txt", "one\ntwo\nthree\n")
	answer, calls := converse(t, s.Config, "Work.")
	require.Equal(t, "Somebody did it.", answer)
	require.Equal(t, []string{"read_file success", "generalist success", "safe_patch error file_changed_since_read"}, calls)
	require.Equal(t, "one\nTWO\nthree\n", s.Read("f.txt"))
	require.Len(t, s.Confirmations(), 1, "the agent itself is not asked about; what it does is")
	require.Equal(t, "generalist", s.Confirmations()[0].Subagent)
	client, err := s.Client()
	require.NoError(t, err)
	responses := client.History()[4].Responses()
	require.Len(t, responses, 1)
	require.Contains(t, string(responses[0].Response), s.Path("f.txt"), "the caller is told which files have changed")
	require.NotContains(t, string(responses[0].Response), "unified_diff")
}

// EX-13, CF-09: agents of the user's directory are loaded, those of the project's
// only if it is trusted; a mistake affects only its own agent.
func TestAgentFiles(t *testing.T) {
	put := func(dir, name, text string) {
		path := filepath.Join(dir, ".fettle", "agents", name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	for _, state := range []trust.State{trust.Trusted, trust.Undecided, trust.Untrusted} {
		s := configtest.New(t, playing(t, "", script.Options{}), func(p *config.Parameters) {
			p.Policy.Trust = state
			put(p.Environment.HomeDir, "reader.md", "---\nname: reader\ndescription: Reads.\ntools: Read\n---\nYou read.\n")
			put(p.Environment.HomeDir, "broken.md", "---\nname: [\n---\n")
			put(p.Environment.HomeDir, "glob.md", "---\nname: glob\ndescription: Takes a tool's name.\n---\nx\n")
			put(p.TargetDir, "theirs.md", "---\nname: theirs\ndescription: Theirs.\n---\nx\n")
			p.Agents.Definitions = []subagent.Definition{{Name: "mine", Description: "Mine.", Prompt: "You are mine."}}
			p.Tools.Exclude = []string{"codebase_investigator"}
		})
		all := names(t, s.Config)
		require.Subset(t, all, []string{"reader", "mine", "generalist", "glob"})
		require.NotContains(t, all, "codebase_investigator")
		require.Equal(t, state == trust.Trusted, contains(all, "theirs"), "%v", state)
		problems, err := s.Agents().Problems()
		require.NoError(t, err)
		require.Len(t, problems, 2)
		defs, err := s.Agents().List()
		require.NoError(t, err)
		require.Equal(t, "mine", defs[0].Name)
	}
	for _, change := range []func(*config.Parameters){
		func(p *config.Parameters) { p.Agents.Disabled, p.Conversation.Models = true, nil },
		func(p *config.Parameters) { p.Conversation.Models = nil },
	} {
		require.NotContains(t, names(t, configtest.New(t, change).Config), "generalist", "there is no model to run it on")
	}
}

func contains(all []string, name string) bool {
	for _, n := range all {
		if n == name {
			return true
		}
	}
	return false
}

// AR-11: agents' tools are registered before tools are discovered, so that none
// of these can replace an agent.
func TestAgentsBeforeDiscovery(t *testing.T) {
	s := configtest.New(t, playing(t, "", script.Options{}), func(p *config.Parameters) {
		p.Tools.Discover = append(p.Tools.Discover, func(context.Context) ([]tools.DeclarativeTool, error) {
			return []tools.DeclarativeTool{discovered(t, "generalist"), discovered(t, "aaa_found")}, nil
		})
	})
	r, err := s.ToolRegistry()
	require.NoError(t, err)
	generalist, err := r.Lookup("generalist")
	require.NoError(t, err)
	_, isAgent := generalist.(subagent.AgentTool)
	require.True(t, isAgent)
	all := names(t, s.Config)
	require.Equal(t, "aaa_found", all[len(all)-1], "sorted after the session's own")
}

func discovered(t *testing.T, name string) tools.DeclarativeTool {
	tool, err := tools.Define(name, "Found.", tools.KindOther, func(context.Context, struct{}) (tools.Result, error) { return tools.Result{}, nil },
		tools.WithSpec(func(s *tools.Spec) { s.Origin = tools.Origin{Group: tools.GroupDiscovered} }))
	require.NoError(t, err)
	return tool
}

// Agents that may call agents: the inner one works in a Config of its own, and at
// the maximum depth has no agent to call.
func TestAgentsCallAgents(t *testing.T) {
	call := func(purpose, query string) string {
		return `{"when":{"purpose":"` + purpose + `"},"calls":[{"tool":"generalist","args":{"query":"` + query + `"}}]}`
	}
	s := configtest.New(t, playing(t, call("main", "outer")+`,
		{"when":{"purpose":"subagent","prompt":"outer"},"calls":[{"tool":"read_file","args":{"file_path":"f"}}]},
		{"when":{"purpose":"subagent","prompt":"outer"},"expect":{"result":"\"version\":1"},"calls":[{"tool":"generalist","args":{"query":"inner"}}]},
		{"when":{"purpose":"subagent","prompt":"inner"},"calls":[{"tool":"read_file","args":{"file_path":"f"}}]},
		{"when":{"purpose":"subagent","prompt":"inner"},"expect":{"result":"\"version\":1"},"calls":[{"tool":"generalist","args":{"query":"innermost"}}]},
		{"when":{"purpose":"subagent","prompt":"inner"},"expect":{"tool":"generalist","error":"tool_not_registered"},"calls":[{"tool":"complete_task","args":{"result":"inner result"}}]},
		{"when":{"purpose":"subagent","prompt":"outer"},"expect":{"tool":"generalist","result":"inner result"},"calls":[{"tool":"complete_task","args":{"result":"outer result"}}]},
		{"expect":{"result":"outer result"},"text":"Done."}`, script.Options{}), func(p *config.Parameters) { p.Agents.Depth = 2 })
	s.Write("f", "x\n")
	answer, _ := converse(t, s.Config, "Go.")
	require.Equal(t, "Done.", answer)
}
