package integration_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/agent/subagent"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/configtest"
	"github.com/fettle-dev/fettle/core/confirmation"
	"github.com/fettle-dev/fettle/core/model"
)

// edit returns a patch that inserts the author's line after another line.
func edit(behind, line, sha string) map[string]string {
	return map[string]string{
		"file_path": "shared.txt", "unified_diff": "@@\n " + behind + "\n+" + line + "\n", "base_content_sha256": sha,
	}
}

// agentGroup is the model of a parent and of its agents, which all edit one file. No agent
// patches before all have read, so that conflicts are certain.
type agentGroup struct {
	t     *testing.T
	read  sync.WaitGroup
	mu    sync.Mutex
	tries map[string]int
	codes map[string]int // of refusals
}

// report parses the response to a file change.
func report(t *testing.T, r model.FunctionResponse) (ok bool, code, sha string) {
	var keys struct {
		Output json.RawMessage
		Error  struct{ Type string }
	}
	require.NoError(t, json.Unmarshal(r.Response, &keys))
	text := string(keys.Output)
	_ = json.Unmarshal(keys.Output, &text)
	var state struct {
		Success bool
		Latest  struct{ SHA256 string } `json:"latest_file_state"`
		SHA256  string
	}
	require.NoError(t, json.Unmarshal([]byte(text), &state))
	return state.Success, keys.Error.Type, state.Latest.SHA256 + state.SHA256
}

// asAgent reads, then patches until the patch is applied.
func (c *agentGroup) asAgent(r *model.Request) *model.Response {
	name, _, _ := strings.Cut(r.Contents[0].Text(), ":")
	answers := answeredLast(r)
	if len(answers) == 0 {
		return calling("read_file", map[string]string{"file_path": "shared.txt"})
	}
	ok, code, sha := report(c.t, answers[0])
	switch {
	case ok:
		return calling("complete_task", map[string]string{"result": name + " is done"})
	case code == "":
		c.read.Done()
		c.read.Wait()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tries[name]++
	if code != "" {
		c.codes[code]++
	}
	return calling("safe_patch", edit("line for "+name, name+" was here", sha))
}

// RC-27, EX-14, AR-28: two agents and their parent edit one file with ten calls in
// one turn. Each edit is either in the file or refused because the file had changed;
// no line is lost. The parent receives the names of the files that its agents have
// changed, and recovers with the content of the refusal; each approval request names
// the agent.
func TestAgentsAndParentPatchOneFile(t *testing.T) {
	t.Parallel()
	const agents = 2
	names := []string{"anna", "bert"}
	c := &agentGroup{t: t, tries: map[string]int{}, codes: map[string]int{}}
	c.read.Add(agents)
	var text strings.Builder
	text.WriteString("top\n")
	for i := range 10 {
		fmt.Fprintf(&text, "%s", strings.Repeat("filler\n", 3))
		fmt.Fprintf(&text, "line for parent %d\n", i)
	}
	for _, name := range names {
		fmt.Fprintf(&text, "%sline for %s\n", strings.Repeat("filler\n", 3), name)
	}
	var turn []model.FunctionResponse
	answer := func(_ context.Context, r *model.Request) (*model.Response, error) {
		if r.Purpose == model.PurposeSubagent {
			return c.asAgent(r), nil
		}
		answers := answeredLast(r)
		switch len(r.Contents) {
		case 1:
			return calling("read_file", map[string]string{"file_path": "shared.txt"}), nil
		case 3:
			_, _, sha := report(t, answers[0])
			var pairs []any
			for i := range 8 { // one succeeds; then the agents; then the stale ones
				if i == 4 {
					for _, name := range names {
						pairs = append(pairs, "helper", map[string]string{"query": name + ": say so in shared.txt"})
					}
				}
				pairs = append(pairs, "safe_patch", edit(fmt.Sprintf("line for parent %d", i), fmt.Sprintf("parent %d was here", i), sha))
			}
			return calling(pairs...), nil
		case 5:
			turn = answers
			_, code, sha := report(t, answers[len(answers)-1])
			require.Equal(t, "file_changed_since_read", code)
			return calling("safe_patch", edit("line for parent 7", "parent 7 was here", sha)), nil
		}
		ok, _, _ := report(t, answers[0])
		require.True(t, ok, "the parent recovers")
		return says("Done."), nil
	}
	s := configtest.New(t, func(p *config.Parameters) {
		p.Conversation.Models = model.Always(acting{answer})
		p.Agents.Definitions = []subagent.Definition{{Name: "helper", Description: "Helps.", Prompt: "You help.", Tools: []string{"read_file", "safe_patch"}}}
	})
	s.Write("shared.txt", text.String())
	done := prompt(t, s.Config, "All of you, sign shared.txt.")
	require.Equal(t, agent.EventDone, done.last.Type, "%v", done.last.Err)

	require.Len(t, turn, 10)
	applied := []string{"parent 7"} // later
	for i, r := range turn {
		if r.Name == "helper" {
			require.Contains(t, string(r.Response), "is done")
			require.Contains(t, string(r.Response), s.Path("shared.txt"), "the parent receives the path of the changed file")
			applied = append(applied, names[i-4])
			continue
		}
		n := i
		if i > 5 {
			n = i - agents
		}
		ok, code, _ := report(t, r)
		if ok {
			applied = append(applied, fmt.Sprintf("parent %d", n))
			continue
		}
		require.Equal(t, "file_changed_since_read", code)
	}
	require.Contains(t, applied, "parent 0", "the first patch has no competitor")
	want := text.String()
	for _, name := range applied {
		want = strings.Replace(want, "line for "+name+"\n", "line for "+name+"\n"+name+" was here\n", 1)
	}
	require.Equal(t, want, s.Read("shared.txt"), "the file has each acknowledged edit and no other")

	require.Greater(t, c.tries["anna"]+c.tries["bert"], agents, "the edits conflicted")
	require.Equal(t, map[string]int{"file_changed_since_read": c.codes["file_changed_since_read"]}, c.codes)
	byWhom := map[string]int{}
	for _, q := range s.Confirmations() {
		require.Equal(t, "safe_patch", q.ToolCall.Name)
		require.Equal(t, confirmation.Edit, q.Details.Type)
		byWhom[q.Subagent]++
	}
	require.Equal(t, []string{"", "helper"}, sortedKeys(byWhom))
	require.GreaterOrEqual(t, byWhom["helper"], agents)
}

func sortedKeys[V any](m map[string]V) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// RC-27: agents in concurrent sessions on one directory share only the file system,
// and that is sufficient: every line whose write was acknowledged is in the file.
func TestSessionsPatchOneFile(t *testing.T) {
	t.Parallel()
	const sessions, rounds = 3, 4
	s := configtest.New(t)
	lines := ""
	for i := range sessions {
		for _, who := range []string{"self", "helper"} {
			lines += fmt.Sprintf("%sline for %s%d\n", strings.Repeat("filler\n", 3), who, i)
		}
	}
	s.Write("shared.txt", lines)
	var wg sync.WaitGroup
	for i := range sessions {
		wg.Go(func() {
			c, err := config.New(config.Parameters{
				TargetDir: s.Dir, Environment: config.Environment{HomeDir: t.TempDir()}, Policy: config.Policy{ApprovalMode: "auto_edit"},
				Conversation: config.Conversation{NoLoopDetection: true, Limits: agent.Limits{PromptTurns: -1}, Models: model.Always(acting{patient(t, i, rounds)})},
				Agents:       config.Agents{Definitions: []subagent.Definition{{Name: "helper", Description: "Helps.", Prompt: "You help.", MaxTurns: 10_000}}},
			})
			if err != nil {
				t.Error(err)
				return
			}
			defer func() { _ = c.Close() }()
			if err := c.Initialize(t.Context()); err != nil {
				t.Error(err)
				return
			}
			client, err := c.Client()
			if err != nil {
				t.Error(err)
				return
			}
			for e := range client.Run(t.Context(), model.TextPart("Go.")) {
				if e.Type.Ends() && e.Type != agent.EventDone {
					t.Errorf("session %d: %s: %v", i, e.Type, e.Err)
				}
			}
		})
	}
	wg.Wait()
	got := s.Read("shared.txt")
	for i := range sessions {
		for _, who := range []string{"self", "helper"} {
			for n := range rounds {
				require.Equal(t, 1, strings.Count(got, fmt.Sprintf("%s%d was here %d\n", who, i, n)))
			}
		}
	}
	require.Equal(t, strings.Count(lines, "\n")+2*sessions*rounds, strings.Count(got, "\n"))
}

// patient returns a model that writes its line several times, then lets its agent do
// the same, and retries each write until it succeeds.
func patient(t *testing.T, i, rounds int) func(context.Context, *model.Request) (*model.Response, error) {
	return func(_ context.Context, r *model.Request) (*model.Response, error) {
		who := "self"
		if r.Purpose == model.PurposeSubagent {
			who = "helper"
		}
		written, sha := 0, ""
		for _, turn := range r.Contents {
			for _, answer := range turn.Responses() {
				if answer.Name == "helper" {
					return says("Done."), nil
				}
				ok, code, now := report(t, answer)
				if sha = now; ok {
					written++
				} else if code != "" && code != "file_changed_since_read" {
					t.Errorf("%s%d was refused with %s", who, i, code)
					return says("No."), nil
				}
			}
		}
		switch {
		case sha == "":
			return calling("read_file", map[string]string{"file_path": "shared.txt"}), nil
		case written < rounds:
			return calling("safe_patch", edit(fmt.Sprintf("line for %s%d", who, i), fmt.Sprintf("%s%d was here %d", who, i, written), sha)), nil
		case who == "self":
			return calling("helper", map[string]string{"query": "The same."}), nil
		}
		return calling("complete_task", map[string]string{"result": "done"}), nil
	}
}
