package integration_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/agent/subagent"
	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/standard"
	"github.com/fettle-dev/fettle/core/tools"
)

// work runs a prompt on a model, with all tools, until it has ended.
func work(ctx context.Context, p config.Parameters, prompt string, out io.Writer) error {
	c, err := config.New(standard.Parameters(p))
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.Initialize(ctx); err != nil {
		return err
	}
	client, err := c.Client()
	if err != nil {
		return err
	}
	for event := range client.Run(ctx, model.TextPart(prompt)) {
		switch {
		case event.Type == agent.EventText:
			fmt.Fprint(out, event.Text)
		case event.Type.Ends() && event.Err != nil:
			return event.Err
		}
	}
	return nil
}

// GO-07, AR-30: the complete loop, with a script as the model.
func Example_agent() {
	dir := exampleDir()
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "turns.json")
	err := os.WriteFile(file, []byte(`{"turns": [
		{"text": "I read it. ", "calls": [{"tool": "read_file", "args": {"file_path": "hello.txt"}}]},
		{"text": "I change it. ", "calls": [{"tool": "safe_patch", "args": {"file_path": "hello.txt", "base_content_sha256": "{{sha256 \"hello.txt\"}}", "unified_diff": "@@\n-Hello\n+Good evening\n"}}]},
		{"expect": {"tool": "safe_patch", "ok": true}, "text": "Done."}]}`), 0o644)
	if err != nil {
		fmt.Println(err)
	}
	p := config.Parameters{TargetDir: dir, Environment: config.Environment{HomeDir: dir}, Conversation: config.Conversation{Model: "script:" + file}, Policy: config.Policy{ApprovalMode: policy.ModeAutoEdit}}
	var out strings.Builder
	if err := work(context.Background(), p, "Be more polite in hello.txt.", &out); err != nil {
		fmt.Println(err)
	}
	fmt.Println(out.String())
	text, err := os.ReadFile(filepath.Join(dir, "hello.txt"))
	fmt.Print(string(text), err, "\n")
	// Output:
	// I read it. I change it. Done.
	// Good evening
	// <nil>
}

// code: generator
// echo is an embedder's model: it calls count_words with the text of the prompt,
// and then answers with the result.
type echo struct{}

func (g echo) Stream(ctx context.Context, r *model.Request) iter.Seq2[*model.Chunk, error] {
	return func(yield func(*model.Chunk, error) bool) {
		last := r.Contents[len(r.Contents)-1]
		part := model.Part{Call: &model.FunctionCall{ID: model.NewCallID(), Name: "count_words"}}
		part.Call.Args, _ = json.Marshal(map[string]string{"text": last.Text()})
		if answers := last.Responses(); len(answers) > 0 {
			part = model.TextPart(string(answers[0].Response))
		}
		yield(&model.Chunk{Parts: []model.Part{part}, Finish: model.FinishStop}, nil)
	}
}

func (g echo) Generate(ctx context.Context, r *model.Request) (*model.Response, error) {
	return model.Collect(g.Stream(ctx, r))
}

func (g echo) CountTokens(_ context.Context, r *model.Request) (int, error) {
	return model.EstimateTokens(r), nil
}

// code: end

// An embedder's tool and generator: no key, no network, and no provider linked in.
func Example_ownGenerator() {
	dir := exampleDir()
	defer os.RemoveAll(dir)
	tool, err := newCountWords()
	if err != nil {
		fmt.Println(err)
	}
	p := config.Parameters{TargetDir: dir, Environment: config.Environment{HomeDir: dir}, Conversation: config.Conversation{Models: model.Always(echo{}), Model: "echo"}, Tools: config.Tools{Own: []tools.DeclarativeTool{tool}}}
	var out strings.Builder
	if err := work(context.Background(), p, "to be or not to be", &out); err != nil {
		fmt.Println(err)
	}
	fmt.Println(out.String())
	// Output:
	// {"output":"{\"words\":6}"}
}

// GO-07: two agents of an embedder at once, each with its own tools, model, subagent,
// front end and clock. Neither sees the other's state, and they share nothing but the
// process (GO-04).
func TestAgentsSideBySide(t *testing.T) {
	var wg sync.WaitGroup
	for i, name := range []string{"alder", "birch"} {
		other := []string{"birch", "alder"}[i]
		wg.Go(func() {
			day := time.Date(2001+i, 2, 3, 4, 5, 6, 0, time.UTC)
			clock := 0
			var mu sync.Mutex
			var systems []string
			var asked []bus.ToolConfirmationRequest
			tool, err := tools.Define("ask_"+name, "Tells a secret of "+name+".", tools.KindRead,
				func(context.Context, struct{}) (tools.Result, error) {
					return tools.Result{LLMContent: tools.Text("the secret of " + name)}, nil
				})
			if err != nil {
				t.Error(err)
				return
			}
			answer := func(_ context.Context, r *model.Request) (*model.Response, error) {
				mu.Lock()
				systems = append(systems, r.System)
				mu.Unlock()
				step := len(r.Contents) / 2
				if r.Purpose == model.PurposeSubagent {
					return []*model.Response{
						calling("write_file", map[string]string{"file_path": name + ".txt", "content": name + "\n"}),
						calling("complete_task", map[string]string{"result": "written by the helper of " + name}),
					}[step], nil
				}
				return []*model.Response{
					calling("ask_"+name, struct{}{}, "ask_"+other, struct{}{}),
					calling("helper_"+name, map[string]string{"query": "Write it."}),
					says(name + " is done."),
				}[step], nil
			}
			p := config.Parameters{
				Session: config.Session{ID: name}, TargetDir: realTemp(t), Environment: config.Environment{HomeDir: realTemp(t), Now: func() time.Time {
					mu.Lock()
					defer mu.Unlock()
					clock++
					return day
				}}, Conversation: config.Conversation{Model: "model-" + name, Models: model.Always(acting{answer})},
				Tools:  config.Tools{Own: []tools.DeclarativeTool{tool}},
				Agents: config.Agents{Definitions: []subagent.Definition{{Name: "helper_" + name, Description: "Helps " + name + ".", Prompt: "You help " + name + " on ${today}."}}},
			}
			c, err := config.New(p)
			if err != nil {
				t.Error(err)
				return
			}
			defer func() {
				if err := c.Close(); err != nil {
					t.Error(err)
				}
			}()
			if err := c.Initialize(t.Context()); err != nil {
				t.Error(err)
				return
			}
			sayYes(t.Context(), c.MessageBus(), func(q bus.ToolConfirmationRequest) { asked = append(asked, q) })
			for range 5 {
				client, err := c.Converse(config.Opening{})
				if err != nil {
					t.Error(err)
					return
				}
				_ = os.Remove(filepath.Join(p.TargetDir, name+".txt"))
				text, calls := "", []string(nil)
				var last agent.Event
				for e := range client.Run(t.Context(), model.TextPart("Go, "+name+".")) {
					switch last = e; e.Type {
					case agent.EventText:
						text += e.Text
					case agent.EventToolResponse:
						calls = append(calls, e.Call.Name+" "+string(e.Response.Status))
					}
				}
				if want := []string{"ask_" + name + " success", "ask_" + other + " error", "helper_" + name + " success"}; last.Type != agent.EventDone || text != name+" is done." || !slices.Equal(calls, want) {
					t.Errorf("%s ended with %s %v: %q, %q", name, last.Type, last.Err, text, calls)
				}
				history := mustJSON(client.History())
				if strings.Contains(history, "secret of "+other) || !strings.Contains(history, "secret of "+name) || !strings.Contains(history, "helper of "+name) {
					t.Errorf("%s: the conversation is %s", name, history)
				}
			}
			mu.Lock()
			defer mu.Unlock()
			for _, system := range systems {
				if !strings.Contains(system, day.Format("2006")) || strings.Contains(system, other) {
					t.Errorf("%s has a system prompt that is not its own: %s", name, system)
				}
			}
			if len(asked) != 5 || clock == 0 {
				t.Errorf("%s: %d questions, and the clock was read %d times", name, len(asked), clock)
			}
			for _, q := range asked {
				if q.Subagent != "helper_"+name || q.ToolCall.Name != "write_file" {
					t.Errorf("%s was asked about %s by %q", name, q.ToolCall.Name, q.Subagent)
				}
			}
			text, err := os.ReadFile(filepath.Join(p.TargetDir, name+".txt"))
			if err != nil || string(text) != name+"\n" {
				t.Errorf("%s: %q, %v", name, text, err)
			}
			if _, err := os.Stat(filepath.Join(p.TargetDir, other+".txt")); err == nil {
				t.Errorf("%s has a file of %s", name, other)
			}
		})
	}
	wg.Wait()
	require.False(t, t.Failed())
}
