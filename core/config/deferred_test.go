package config_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/agent/subagent"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/configtest"
	"github.com/fettle-dev/fettle/core/config/settings"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/model/script"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/tools"
	"github.com/fettle-dev/fettle/core/tools/catalog"
)

type lookParams struct {
	Title string   `json:"title" jsonschema:"minLength=1" jsonschema_description:"What it is called by the people who look for it, in one line of words."`
	State string   `json:"state,omitempty" jsonschema:"enum=open,enum=closed" jsonschema_description:"Which of them to take into account. Default: open."`
	Tags  []string `json:"tags,omitempty" jsonschema_description:"Further words that have to be attached to it."`
}

// served returns n tools of a server, of the average length of servers' tools.
func served(t testing.TB, server string, n int) []tools.DeclarativeTool {
	t.Helper()
	var all []tools.DeclarativeTool
	for i := range n {
		name := fmt.Sprintf("%s_thing_%03d", server, i)
		tool, err := tools.Define(name, fmt.Sprintf("Looks at thing %d of %s.", i, server), tools.KindOther,
			func(_ context.Context, p lookParams) (tools.Result, error) {
				return tools.Result{LLMContent: tools.Text("seen: " + p.Title)}, nil
			}, tools.WithSpec(func(s *tools.Spec) { s.Origin = tools.Origin{Group: tools.GroupMCP, Server: server, Tool: name} }))
		require.NoError(t, err)
		all = append(all, tool)
	}
	return all
}

// offered is a session whose registry has tools of servers, and the requests that
// its conversations make.
type offered struct {
	*configtest.Session
	requests []*model.Request
}

// offering returns a session that plays turns, in which tools run without
// approval.
func offering(t *testing.T, turns string, change ...func(*config.Parameters)) *offered {
	t.Helper()
	o := &offered{}
	o.Session = configtest.New(t, append([]func(*config.Parameters){playing(t, turns, script.Options{}), func(p *config.Parameters) {
		p.Policy.Rules = append(p.Policy.Rules, policy.Rule{Name: "servers", Tools: []string{"*_thing_*"}, Decision: policy.Allow, Tier: policy.TierUser})
		p.Conversation.Steps.BeforeRequest = append(p.Conversation.Steps.BeforeRequest, func(_ context.Context, r *model.Request) (agent.RequestAdvice, error) {
			o.requests = append(o.requests, r)
			return agent.RequestAdvice{}, nil
		})
	}}, change...)...)
	return o
}

func (o *offered) offer(server string, list []tools.DeclarativeTool) {
	o.T.Helper()
	r, err := o.ToolRegistry()
	require.NoError(o.T, err)
	require.NoError(o.T, r.Offer(server, list))
}

// foreign returns the tools of servers that a request declares.
func foreign(r *model.Request) []string {
	names := []string{}
	for _, t := range r.Tools {
		if strings.Contains(t.Name, "_thing_") {
			names = append(names, t.Name)
		}
	}
	return names
}

// declares returns the tools of servers that the next request of a Config
// declares.
func declares(t *testing.T, c *config.Config) []string {
	t.Helper()
	r, err := c.ToolRegistry()
	require.NoError(t, err)
	request := &model.Request{}
	for _, d := range r.Declarations() {
		request.Tools = append(request.Tools, model.Tool(d))
	}
	return foreign(request)
}

func has(r *model.Request, tool string) bool {
	return slices.ContainsFunc(r.Tools, func(t model.Tool) bool { return t.Name == tool })
}

const (
	searchForSeven = `{"calls":[{"tool":"tool_search","args":{"query":"thing 7 of git","limit":1}}]}`
	lookAtSeven    = `{"calls":[{"tool":"git_thing_007","args":{"title":"x"}}]}`
)

// 500 tools of servers do not fill the context: the prompt contains only names,
// within its limit, and tools found by a search are declared from the next
// request on.
func TestManyTools(t *testing.T) {
	o := offering(t, searchForSeven+`,{"expect":{"tool":"tool_search","ok":true,"result":"git_thing_007"},"calls":[{"tool":"git_thing_007","args":{"title":"x"}}]},
		{"expect":{"tool":"git_thing_007","ok":true,"result":"seen: x"},"text":"Done."}, {"text":"Again."}`)
	o.offer("git", served(t, "git", 300))
	o.offer("tickets", served(t, "tickets", 200))
	answer, calls := converse(t, o.Config, "Look at seven.")
	require.Equal(t, "Done.", answer)
	require.Equal(t, []string{"tool_search success", "git_thing_007 success"}, calls)
	require.Empty(t, o.Confirmations(), "a search is never asked about")

	first := o.requests[0]
	require.Empty(t, foreign(first))
	require.True(t, has(first, catalog.ToolSearch))
	require.True(t, has(first, "read_file"))
	require.Equal(t, 500, first.Deferred)
	require.Contains(t, first.System, "# More tools")
	require.Contains(t, first.System, "git (300): git_thing_000, git_thing_001, ")
	require.Contains(t, first.System, "tickets (200): tickets_thing_000, ")
	require.Contains(t, first.System, " more not shown\n")
	at := strings.Index(first.System, "<untrusted_context>")
	require.Less(t, strings.Index(first.System, "</untrusted_context>")-at, catalog.MaxListing)

	for _, later := range o.requests[1:] {
		require.Equal(t, []string{"git_thing_007"}, foreign(later))
		require.Equal(t, 499, later.Deferred)
		require.Equal(t, first.System, later.System, "so that a provider can keep it")
	}
	converse(t, o.Config, "And now?")
	require.Equal(t, []string{"git_thing_007"}, foreign(o.requests[3]), "they stay declared")

	sum := 0
	for _, tool := range first.Tools {
		sum += tools.FunctionDeclaration(tool).Bytes()
	}
	require.Equal(t, sum, first.DeclaredBytes())
}

// A tool can be called by its exact name without a search. Mistakes in its
// arguments are reported with the schema, and from then on it is declared.
func TestCallWithoutSearch(t *testing.T) {
	o := offering(t, `{"calls":[{"tool":"git_thing_007","args":{"title":""}}]},
		{"expect":{"tool":"git_thing_007","error":"invalid_tool_params","result":"minLength"},"calls":[{"tool":"git_thing_007","args":{"title":"x"}}]},
		{"expect":{"ok":true,"result":"seen: x"},"calls":[{"tool":"git_thing_999","args":{}}]},
		{"expect":{"tool":"git_thing_999","error":"tool_not_registered"},"text":"Done."}`)
	o.offer("git", served(t, "git", 300))
	converse(t, o.Config, "Look.")
	require.Empty(t, foreign(o.requests[0]))
	for _, later := range o.requests[1:] {
		require.Equal(t, []string{"git_thing_007"}, foreign(later))
	}
}

// Below the threshold nothing is deferred; settings and parameters set it, and
// without tool_search nothing is deferred.
func TestThresholdOfDeferral(t *testing.T) {
	layers := func(text string) func(*config.Parameters) { return withUser(t, text) }
	parameters := func(above int) func(*config.Parameters) {
		return func(p *config.Parameters) { p.Tools.DeferSchemasAbove = above }
	}
	both := func(changes ...func(*config.Parameters)) func(*config.Parameters) {
		return func(p *config.Parameters) {
			for _, f := range changes {
				f(p)
			}
		}
	}
	require.Equal(t, catalog.DefaultAbove, settings.Defaults().Tools.DeferSchemasAbove)
	for name, tt := range map[string]struct {
		n      int
		change func(*config.Parameters)
		defers bool
	}{
		"few":                      {3, parameters(0), false},
		"many":                     {300, parameters(0), true},
		"many, with settings":      {300, layers(`{}`), true},
		"few, with settings":       {3, layers(`{}`), false},
		"always":                   {3, parameters(1), true},
		"always, by settings":      {3, layers(`{"tools":{"deferSchemasAbove":1}}`), true},
		"never":                    {300, parameters(-1), false},
		"never, by settings":       {300, layers(`{"tools":{"deferSchemasAbove":0}}`), false},
		"never, by negative":       {300, layers(`{"tools":{"deferSchemasAbove":-7}}`), false},
		"parameters go before":     {300, both(layers(`{"tools":{"deferSchemasAbove":1}}`), parameters(-1)), false},
		"no search":                {300, layers(`{"tools":{"exclude":["tool_search"]}}`), false},
		"no search among the core": {300, func(p *config.Parameters) { p.Tools.Core = []string{"read_file"} }, false},
		"search among the core":    {300, func(p *config.Parameters) { p.Tools.Core = []string{"tool_search"} }, true},
		"no server":                {0, parameters(1), false},
	} {
		t.Run(name, func(t *testing.T) {
			o := offering(t, `{"text":"Done."}`, tt.change)
			o.offer("git", served(t, "git", tt.n))
			converse(t, o.Config, "Go.")
			r := o.requests[0]
			require.Equal(t, tt.defers, has(r, catalog.ToolSearch))
			require.Equal(t, tt.defers, strings.Contains(r.System, "# More tools"))
			if tt.defers {
				require.Empty(t, foreign(r))
				require.Equal(t, tt.n, r.Deferred)
				return
			}
			require.Len(t, foreign(r), tt.n)
			require.Zero(t, r.Deferred)
		})
	}
}

// Discovered tools are deferred too; an embedder's own, and agents, are not.
func TestWhatIsDeferred(t *testing.T) {
	o := offering(t, `{"text":"Done."}`, func(p *config.Parameters) {
		p.Tools.DeferSchemasAbove = 1
		p.Tools.Own = append(p.Tools.Own, echo(t, "own_thing_1"))
		p.Tools.Discover = append(p.Tools.Discover, func(context.Context) ([]tools.DeclarativeTool, error) {
			return []tools.DeclarativeTool{discovered(t, "found_thing_1")}, nil
		})
	})
	converse(t, o.Config, "Go.")
	require.Equal(t, []string{"own_thing_1"}, foreign(o.requests[0]))
	require.True(t, has(o.requests[0], "generalist"))
	require.Equal(t, 1, o.requests[0].Deferred)
	require.Contains(t, o.requests[0].System, "- found_thing_1: Found.\n")
}

// With a user's own system prompt the names are still listed.
func TestNamesBesideOwnPrompt(t *testing.T) {
	o := offering(t, `{"text":"Done."}`, func(p *config.Parameters) { p.Conversation.SystemPrompt = "Be brief." })
	o.offer("git", served(t, "git", 300))
	converse(t, o.Config, "Go.")
	require.True(t, strings.HasPrefix(o.requests[0].System, "Be brief.\n\n# More tools\n"))
}

// Plan mode can search, too.
func TestSearchInPlanMode(t *testing.T) {
	o := offering(t, "", func(p *config.Parameters) { p.Policy.ApprovalMode = policy.ModePlan })
	o.offer("git", served(t, "git", 300))
	require.Equal(t, scheduler.StatusSuccess, o.Call(catalog.ToolSearch, map[string]any{"names": []string{"git_thing_007"}}).Status)
	require.Equal(t, []string{"git_thing_007"}, declares(t, o.Config))
}

// Added and removed tools take effect with the next request.
func TestListChanges(t *testing.T) {
	o := offering(t, searchForSeven+`,{"text":"1"},{"text":"2"},{"text":"3"},{"text":"4"}`)
	many := served(t, "git", 300)
	o.offer("git", many)
	converse(t, o.Config, "Look.")
	require.Equal(t, []string{"git_thing_007"}, foreign(o.requests[1]))

	o.offer("git", slices.Delete(slices.Clone(many), 7, 8))
	o.offer("new", served(t, "new", 1))
	converse(t, o.Config, "Look.")
	require.Empty(t, foreign(o.requests[2]), "it is gone")
	require.Equal(t, 300, o.requests[2].Deferred)
	require.Contains(t, o.requests[2].System, "new (1): new_thing_000\n")

	o.offer("git", many)
	converse(t, o.Config, "Look.")
	require.Equal(t, []string{"git_thing_007"}, foreign(o.requests[3]), "it is back, and still loaded")

	o.offer("git", nil)
	converse(t, o.Config, "Look.")
	require.Equal(t, []string{"new_thing_000"}, foreign(o.requests[4]), "there are few now")
	require.False(t, has(o.requests[4], catalog.ToolSearch))
	require.NotContains(t, o.requests[4].System, "# More tools")
}

// A new conversation starts over, however it begins; compaction does not.
func TestNewConversations(t *testing.T) {
	for name, begin := range map[string]func(t *testing.T, o *offered){
		"an emptied history": func(t *testing.T, o *offered) {
			client, err := o.Client()
			require.NoError(t, err)
			require.NoError(t, client.ResetChat(t.Context()))
		},
		"another client": func(t *testing.T, o *offered) {
			_, err := o.Converse(config.Opening{})
			require.NoError(t, err)
		},
		"a new session": func(t *testing.T, o *offered) {
			_, err := o.StartNewSession("", 0)
			require.NoError(t, err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := offering(t, searchForSeven+`,{"text":"Done."}`)
			o.offer("git", served(t, "git", 300))
			converse(t, o.Config, "Look.")
			require.NoError(t, o.Compacted())
			require.Equal(t, []string{"git_thing_007"}, declares(t, o.Config), "compaction keeps it")
			begin(t, o)
			require.Empty(t, declares(t, o.Config))
		})
	}
}

// Compaction of a real history keeps the loaded tools.
func TestCompactionKeepsLoaded(t *testing.T) {
	o := offering(t, searchForSeven+`,{"text":"`+strings.Repeat("long ", 4000)+`"},{"text":"<state_snapshot>Short.</state_snapshot>"},{"text":"<state_snapshot>Short.</state_snapshot>"}`)
	o.offer("git", served(t, "git", 300))
	converse(t, o.Config, "Look. "+strings.Repeat("word ", 4000))
	client, err := o.Client()
	require.NoError(t, err)
	result, err := client.Compress(t.Context(), true)
	require.NoError(t, err)
	require.True(t, result.Status.Changed(), "%d", result.Status)
	require.Equal(t, []string{"git_thing_007"}, declares(t, o.Config))
}

// A resumed session declares the tools that were found or called according to its
// history, even if their server connects later.
func TestResumedSession(t *testing.T) {
	o := offering(t, searchForSeven+`,{"calls":[{"tool":"git_thing_009","args":{"title":"x"}}]},{"text":"Done."},{"text":"Resumed."}`)
	o.offer("git", served(t, "git", 300))
	converse(t, o.Config, "Look.")
	client, err := o.Client()
	require.NoError(t, err)
	raw, err := json.Marshal(client.History())
	require.NoError(t, err)
	var history []model.Content
	require.NoError(t, json.Unmarshal(raw, &history))

	o.offer("git", nil)
	_, err = o.StartNewSession("", 0)
	require.NoError(t, err)
	_, err = o.Converse(config.Opening{History: history})
	require.NoError(t, err)
	o.offer("git", served(t, "git", 300))
	converse(t, o.Config, "Go on.")
	require.Equal(t, []string{"git_thing_007", "git_thing_009"}, foreign(o.requests[len(o.requests)-1]))
}

// Each conversation has its own loaded tools: a search in a derived Config does
// not affect its parent, nor the reverse.
func TestLoadedToolsOfDerived(t *testing.T) {
	o := offering(t, "")
	o.offer("git", served(t, "git", 300))
	o.Call(catalog.ToolSearch, map[string]any{"names": []string{"git_thing_001"}})
	child := derive(t, o.Config, config.DeriveParameters{})
	require.Empty(t, declares(t, child))
	call(t, child, catalog.ToolSearch, map[string]any{"names": []string{"git_thing_002"}})
	call(t, child, "git_thing_003", map[string]any{"title": "x"})
	require.Equal(t, []string{"git_thing_002", "git_thing_003"}, declares(t, child))
	require.Equal(t, []string{"git_thing_001"}, declares(t, o.Config))
}

// A subagent searches only among its own tools, and its list is short enough or
// deferred itself; tool_search accompanies foreign tools.
func TestAgentsSearch(t *testing.T) {
	run := func(t *testing.T, list []string, turns string) (o *offered, agents []*model.Request) {
		o = offering(t, `{"when":{"purpose":"main"},"calls":[{"tool":"tool_search","args":{"names":["git_thing_001"]}}]},
			{"when":{"purpose":"main"},"calls":[{"tool":"worker","args":{"query":"Work."}}]},`+turns+`,
			{"when":{"purpose":"subagent"},"calls":[{"tool":"complete_task","args":{"result":"Done."}}]},
			{"when":{"purpose":"main"},"expect":{"tool":"worker","ok":true},"text":"Done."}`, func(p *config.Parameters) {
			p.Agents.Definitions = []subagent.Definition{{Name: "worker", Description: "Works.", Prompt: "You work.", Tools: list}}
		})
		o.offer("git", served(t, "git", 300))
		o.offer("tickets", served(t, "tickets", 2))
		converse(t, o.Config, "Go.")
		for _, r := range o.requests {
			if r.Purpose == model.PurposeSubagent {
				agents = append(agents, r)
			}
		}
		require.Equal(t, []string{"git_thing_001"}, declares(t, o.Config))
		return o, agents
	}
	searches := func(query, finds string) string {
		return `{"when":{"purpose":"subagent"},"calls":[{"tool":"tool_search","args":{"query":"` + query + `","limit":1}}]},
			{"when":{"purpose":"subagent"},"expect":{"tool":"tool_search","result":"` + finds + `"},"calls":[{"tool":"git_thing_007","args":{"title":"x"}}]}`
	}
	for name, list := range map[string][]string{"all": nil, "a server's": {"read_file", "mcp_git_*"}} {
		t.Run(name, func(t *testing.T) {
			_, agents := run(t, list, searches("thing 7 of git", "git_thing_007"))
			require.Empty(t, foreign(agents[0]), "what its caller searched for is not its own")
			require.True(t, has(agents[0], catalog.ToolSearch))
			require.Contains(t, agents[0].System, "# More tools")
			require.Equal(t, list == nil, strings.Contains(agents[0].System, "tickets_thing_000"))
			require.Equal(t, []string{"git_thing_007"}, foreign(agents[2]))
		})
	}
	t.Run("few", func(t *testing.T) {
		_, agents := run(t, []string{"mcp_tickets_*"}, `{"when":{"purpose":"subagent"},"calls":[{"tool":"tickets_thing_000","args":{"title":"x"}}]}`)
		require.Equal(t, []string{"tickets_thing_000", "tickets_thing_001"}, foreign(agents[0]))
		require.False(t, has(agents[0], catalog.ToolSearch))
		require.Zero(t, agents[0].Deferred)
	})
	t.Run("none", func(t *testing.T) {
		_, agents := run(t, []string{"read_file"}, `{"when":{"purpose":"subagent"},"calls":[{"tool":"tool_search","args":{"query":"x"}}]},
			{"when":{"purpose":"subagent"},"expect":{"error":"tool_not_registered"},"calls":[{"tool":"git_thing_001","args":{"title":"x"}}]}`)
		require.Empty(t, foreign(agents[0]))
		require.NotContains(t, agents[0].System, "# More tools")
	})
}

// The numbers of docs/deferred-tools.md: go test ./core/config -run TestDeferredBytes -v
func TestDeferredBytes(t *testing.T) {
	measure := func(above int) (r *model.Request) {
		o := offering(t, `{"text":"Done."}`, func(p *config.Parameters) { p.Tools.DeferSchemasAbove = above })
		for i := range 10 {
			server := fmt.Sprintf("server%d", i)
			o.offer(server, served(t, server, 50))
		}
		converse(t, o.Config, "Go.")
		return o.requests[0]
	}
	with, without := measure(0), measure(-1)
	for name, r := range map[string]*model.Request{"held back": with, "declared": without} {
		t.Logf("%s: %d tools declared in %d bytes, system prompt of %d bytes, about %d tokens", name, len(r.Tools), r.DeclaredBytes(), len(r.System), model.EstimateTokens(r))
	}
	require.Equal(t, 500, with.Deferred)
	require.Less(t, with.DeclaredBytes()+len(with.System), (without.DeclaredBytes()+len(without.System))/4)
	require.Less(t, len(with.System)-len(without.System), catalog.MaxListing+1000)
}

// A search that fails loads nothing.
func TestFailedSearch(t *testing.T) {
	o := offering(t, "")
	o.offer("git", served(t, "git", 300))
	r := o.Call(catalog.ToolSearch, map[string]any{"names": []string{"absent"}})
	require.Equal(t, fault.ToolNotRegistered, r.Result.Error.Code)
	require.Empty(t, declares(t, o.Config))
}
