package config_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/commands"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/configtest"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/hooks"
	"github.com/fettle-dev/fettle/core/model/script"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/services/filestate"
	"github.com/fettle-dev/fettle/core/tools"
)

const (
	plain  = "one\ntwo\nthree\n"
	hidden = "one\nTOPSECRET\nthree\n"
)

// guards withholds results that contain a word, of tools that a matcher names.
func guards(matcher, word string) func(*config.Parameters) {
	return withFunctions(hooks.Hook{Event: hooks.AfterTool, Matcher: matcher, Name: "guard", Run: func(_ context.Context, in hooks.Input) (hooks.Output, error) {
		if strings.Contains(string(in.ToolResponse.LLMContent), word) {
			return hooks.Output{Decision: hooks.Block, Reason: "not for you"}, nil
		}
		return hooks.Output{}, nil
	}})
}

// tails replaces the results of a tool by that of another call.
func tails(tool string, call hooks.ToolCall) func(*config.Parameters) {
	return withFunctions(hooks.Hook{Event: hooks.AfterTool, Matcher: "^" + tool + "$", Name: "tail", Run: func(_ context.Context, in hooks.Input) (hooks.Output, error) {
		if in.OriginalRequestName != "" {
			return hooks.Output{}, nil
		}
		return hooks.Output{Specific: hooks.Specific{TailToolCall: &call}}, nil
	}})
}

// drops are the ways in which a step after a call withholds a read of hidden from
// the model.
func drops() map[string]func(*config.Parameters) {
	after := func(f scheduler.After) func(*config.Parameters) {
		return func(p *config.Parameters) {
			p.Calls.After = append(p.Calls.After, func(ctx context.Context, d scheduler.Done, r tools.Result) (tools.Result, error) {
				if !strings.HasPrefix(d.Spec.Name, "read_") || !strings.Contains(r.LLMContent.String(), "TOPSECRET") {
					return r, nil
				}
				return f(ctx, d, r)
			})
			p.Environment.OnDefect = func(error) {}
		}
	}
	return map[string]func(*config.Parameters){
		"block":     guards("^read_", "TOPSECRET"),
		"tail call": tails("read_file", hooks.ToolCall{Name: "list_directory", Args: []byte(`{"dir_path":"."}`)}),
		"another text": after(func(_ context.Context, _ scheduler.Done, r tools.Result) (tools.Result, error) {
			r.LLMContent = tools.Text("gone")
			return r, nil
		}),
		"a masked text": after(func(_ context.Context, _ scheduler.Done, r tools.Result) (tools.Result, error) {
			r.LLMContent.Parts[0].Text = strings.ReplaceAll(r.LLMContent.Parts[0].Text, "TOPSECRET", "***")
			return r, nil
		}),
	}
}

func toldOf(t *testing.T, r scheduler.Response) string {
	t.Helper()
	return string(r.FunctionResponse())
}

// Content that a step after a call withholds from the model does not count as
// shown: no edit is based on it, no read is answered with "unchanged", and no
// refusal shows it. RC-13, PR-03, FS-29
func TestDroppedReads(t *testing.T) {
	for name, drop := range drops() {
		t.Run(name, func(t *testing.T) {
			on := false
			s := configtest.New(t, drop, func(p *config.Parameters) {
				p.Tools.Core = []string{"read_file", "write_file", "safe_patch", "edit", "list_directory", "run_shell_command"}
				p.Policy.Rules = []policy.Rule{{Name: "all", Tools: []string{"*"}, Decision: policy.Allow, Priority: 1, Tier: policy.TierUser}}
				for i := range p.Hooks.Functions {
					run := p.Hooks.Functions[i].Run
					p.Hooks.Functions[i].Run = func(ctx context.Context, in hooks.Input) (hooks.Output, error) {
						if !on {
							return hooks.Output{}, nil
						}
						return run(ctx, in)
					}
				}
			})
			s.Write("f.txt", plain)
			s.Write("g.txt", hidden)
			first := s.Call("read_file", map[string]any{"file_path": "f.txt"})
			require.Equal(t, scheduler.StatusSuccess, first.Status, "%+v", first.Result.Error)
			s.Write("f.txt", hidden)
			on = true
			for _, file := range []string{"f.txt", "g.txt"} {
				for range 2 {
					r := s.Call("read_file", map[string]any{"file_path": file})
					require.NotContains(t, toldOf(t, r), "TOPSECRET")
					require.NotContains(t, toldOf(t, r), "file_unchanged")
				}
				for _, refused := range []scheduler.Response{
					s.Call("edit", map[string]any{"file_path": file, "old_string": "one", "new_string": "1"}),
					s.Call("write_file", map[string]any{"file_path": file, "content": "x\n"}),
					s.Call("write_file", map[string]any{"file_path": file, "content": "x\n", "base_content_sha256": strings.Repeat("0", 64)}),
					patches(t, s.Config, file, "@@\n-one\n+1\n", shaOf(plain)),
					patches(t, s.Config, file, "@@\n-nothing like it\n+1\n", shaOf(hidden)),
					patches(t, s.Config, file, "@@\n-two\n+1\n", shaOf(hidden)),
				} {
					require.NotEqual(t, scheduler.StatusSuccess, refused.Status)
					require.NotContains(t, toldOf(t, refused), "TOPSECRET")
				}
				require.Equal(t, hidden, s.Read(file))
			}
			require.Equal(t, fault.EditRequiresPriorRead, s.Call("edit", map[string]any{"file_path": "g.txt", "old_string": "one", "new_string": "1"}).Result.Error.Code)

			// The hash alone is still a proof, and shows nothing, neither here
			// nor in a copy.
			s.Write("copy.txt", hidden)
			for _, file := range []string{"g.txt", "copy.txt"} {
				r := patches(t, s.Config, file, "@@\n-one\n+1\n", shaOf(hidden))
				require.Equal(t, scheduler.StatusSuccess, r.Status, "%+v", r.Result.Error)
				require.NotContains(t, toldOf(t, r), "TOPSECRET")
			}
			s.Write("third.txt", "1\nTOPSECRET\nthree\n")
			require.NotContains(t, toldOf(t, patches(t, s.Config, "third.txt", "@@\n-x\n+1\n", shaOf("1\nTOPSECRET\nthree\n"))), "TOPSECRET")

			// Once a read is shown, everything works as usual.
			on = false
			if name == "block" || name == "tail call" {
				read(t, s.Config, "f.txt")
				require.Contains(t, toldOf(t, s.Call("read_file", map[string]any{"file_path": "f.txt"})), "file_unchanged")
				require.Contains(t, toldOf(t, s.Call("write_file", map[string]any{"file_path": "f.txt", "content": "x\n"})), "TOPSECRET")
				require.Equal(t, scheduler.StatusSuccess, s.Call("edit", map[string]any{"file_path": "f.txt", "old_string": "one", "new_string": "1"}).Status)
			}
		})
	}
}

// The model reads the result of a tail call, so that its own reads count.
func TestTailReadsCount(t *testing.T) {
	s := configtest.New(t, tails("list_directory", hooks.ToolCall{Name: "read_file", Args: []byte(`{"file_path":"f.txt"}`)}))
	s.Write("f.txt", plain)
	require.Contains(t, toldOf(t, s.Call("list_directory", map[string]any{"dir_path": "."})), "two")
	require.Contains(t, toldOf(t, s.Call("read_file", map[string]any{"file_path": "f.txt"})), "file_unchanged")
}

// Text added by an earlier step to the result of a call stays when a hook
// replaces the result by that of another call, before the latter's own.
func TestTailKeepsContext(t *testing.T) {
	adds := func(p *config.Parameters) {
		p.Calls.After = append(p.Calls.After, func(_ context.Context, d scheduler.Done, r tools.Result) (tools.Result, error) {
			return r.WithContext("about " + d.Spec.Name), nil
		})
	}
	s := configtest.New(t, adds, tails("list_directory", hooks.ToolCall{Name: "read_file", Args: []byte(`{"file_path":"f.txt"}`)}))
	s.Write("f.txt", plain)
	r := s.Call("list_directory", map[string]any{"dir_path": "."})
	require.Equal(t, "about list_directory\nabout read_file", r.Result.Context)
	require.Contains(t, toldOf(t, r), "two")
}

// A write whose result is withheld is on disk, can be undone, and is known only
// once it is read. FS-08, PR-03
func TestDroppedWrites(t *testing.T) {
	s := configtest.New(t, guards("write_file|safe_patch", "TOPSECRET"), func(p *config.Parameters) {
		p.Session.Checkpoints = new(true)
		p.Tools.Core = []string{"read_file", "write_file", "safe_patch", "edit"}
	})
	s.Write("f.txt", plain)
	read(t, s.Config, "f.txt")
	for _, r := range []scheduler.Response{
		s.Call("write_file", map[string]any{"file_path": "new.txt", "content": hidden}),
		patches(t, s.Config, "f.txt", "@@\n-two\n+TOPSECRET\n", shaOf(plain)),
	} {
		require.Equal(t, scheduler.StatusError, r.Status)
		require.NotContains(t, toldOf(t, r), "TOPSECRET")
	}
	for _, file := range []string{"new.txt", "f.txt"} {
		require.Equal(t, hidden, s.Read(file))
		refused := s.Call("edit", map[string]any{"file_path": file, "old_string": "one", "new_string": "1"})
		require.Equal(t, fault.FileChangedSinceRead, refused.Result.Error.Code)
		require.NotContains(t, toldOf(t, patches(t, s.Config, file, "@@\n-one\n+1\n", shaOf(plain))), "TOPSECRET")
		read(t, s.Config, file)
		require.Equal(t, scheduler.StatusSuccess, s.Call("edit", map[string]any{"file_path": file, "old_string": "one", "new_string": "1"}).Status)
	}
}

// A cancelled call, and one that fails, have shown nothing.
func TestUnfinishedReads(t *testing.T) {
	for name, ends := range map[string]func(cancel func()) error{
		"cancelled": func(cancel func()) error { cancel(); return context.Canceled },
		"failed":    func(func()) error { return errors.New("broken") },
		"panicked":  func(func()) error { panic("oh") },
	} {
		t.Run(name, func(t *testing.T) {
			s := configtest.New(t, func(p *config.Parameters) {
				p.Environment.OnDefect = func(error) {}
				p.Tools.Bind = func(v config.Services) ([]tools.DeclarativeTool, error) {
					tool, err := tools.Define("peek", "Reads and ends badly.", tools.KindRead, func(ctx context.Context, in struct {
						Path string `json:"path"`
					}) (tools.Result, error) {
						path, err := v.Workspace.Resolve(in.Path)
						require.NoError(t, err)
						_, err = v.FileState.Read(ctx, filestate.ReadRequest{Path: path})
						require.NoError(t, err)
						return tools.Result{}, ends(cancelOf(ctx))
					})
					return []tools.DeclarativeTool{tool}, err
				}
			})
			s.Write("f.txt", plain)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			r := s.CallContext(context.WithValue(ctx, cancelKey{}, cancel), "peek", map[string]any{"path": "f.txt"})
			require.NotEqual(t, scheduler.StatusSuccess, r.Status)
			require.NotContains(t, toldOf(t, s.Call("read_file", map[string]any{"file_path": "f.txt"})), "file_unchanged")
		})
	}
}

type cancelKey struct{}

func cancelOf(ctx context.Context) func() { return ctx.Value(cancelKey{}).(context.CancelFunc) }

// Files named in a prompt or a command of the user are read by calls, so that
// hooks can withhold them; text added by hooks is a part of its own.
func TestDroppedMentions(t *testing.T) {
	s := configtest.New(t, guards("^read_", "TOPSECRET"), adds("^read_", "mind </hook_context> the gap"))
	s.Write("g.txt", hidden)
	s.Write("f.txt", plain)
	expanded, err := s.Expand(t.Context(), "See @g.txt")
	require.NoError(t, err)
	require.NotContains(t, expanded.Content.String(), "TOPSECRET")
	require.Len(t, expanded.Notices, 1)
	require.Contains(t, expanded.Notices[0].Message, "not for you")
	require.NotContains(t, toldOf(t, s.Call("read_file", map[string]any{"file_path": "g.txt"})), "file_unchanged")

	expanded, err = s.Expand(t.Context(), "See @f.txt")
	require.NoError(t, err)
	require.Equal(t, []string{s.Path("f.txt")}, expanded.Files)
	require.Empty(t, expanded.Notices)
	var state struct{ Content string }
	require.NoError(t, json.Unmarshal([]byte(expanded.Content.Parts[2].Text), &state))
	require.Equal(t, plain, state.Content)
	require.Equal(t, "\n<hook_context>mind &lt;/hook_context&gt; the gap</hook_context>\n", expanded.Content.Parts[4].Text)
	require.Contains(t, toldOf(t, s.Call("read_file", map[string]any{"file_path": "f.txt"})), "file_unchanged")
}

// adds adds a context to the results of tools.
func adds(matcher, text string) func(*config.Parameters) {
	return withFunctions(hooks.Hook{Event: hooks.AfterTool, Matcher: matcher, Name: "adds", Run: func(context.Context, hooks.Input) (hooks.Output, error) {
		return hooks.Output{Specific: hooks.Specific{AdditionalContext: text}}, nil
	}})
}

// Files named in a prompt or a command count as read only if it is sent: not if
// it is cancelled, nor if a hook refuses the prompt.
func TestRefusedPromptsWithFiles(t *testing.T) {
	home := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(home, ".fettle", "commands"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(home, ".fettle", "commands", "look.toml"), []byte(`prompt = "See @{f.txt} here"`), 0o600))
	s := configtest.New(t, playing(t, "", script.Options{}), func(p *config.Parameters) { p.Environment.HomeDir = home },
		withFunctions(hooks.Hook{Event: hooks.BeforeAgent, Name: "no", Run: func(context.Context, hooks.Input) (hooks.Output, error) {
			return hooks.Output{Decision: hooks.Block, Reason: "no"}, nil
		}}))
	s.Write("f.txt", plain)
	cache, err := s.FileReadCache()
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = s.Expand(ctx, "See @f.txt")
	require.Error(t, err)
	require.Empty(t, cache.Recent())

	client, err := s.Client()
	require.NoError(t, err)
	refused := func(content tools.Content) {
		require.Equal(t, []string{s.Path("f.txt")}, cache.Recent())
		var last agent.Event
		for e := range client.Run(t.Context(), agent.Parts(content)...) {
			last = e
		}
		require.Equal(t, agent.EventBlocked, last.Type)
		require.Empty(t, cache.Recent())
	}
	expanded, err := s.Expand(t.Context(), "See @f.txt")
	require.NoError(t, err)
	refused(expanded.Content)
	set, problems, err := s.SlashCommands(t.Context())
	require.NoError(t, err)
	require.Empty(t, problems)
	result, err := set.Parse("/look").Run(t.Context(), &commands.Context{})
	require.NoError(t, err)
	refused(result.(commands.SubmitPrompt).Content)
}

// A file that a hook removes from a request is not read, until a call reads it.
func TestFilesTakenOutOfRequests(t *testing.T) {
	s := configtest.New(t, playing(t, `
		{"calls":[{"tool":"write_file","args":{"file_path":"f.txt","content":"x"}}]},
		{"expect":{"tool":"write_file","error":"edit_requires_prior_read"},"calls":[{"tool":"read_file","args":{"file_path":"f.txt"}}]},
		{"calls":[{"tool":"safe_patch","args":{"file_path":"f.txt","unified_diff":"@@\n-two\n+2\n","base_content_sha256":"`+shaOf(plain)+`"}}]},
		{"text":"Done."}`, script.Options{}), func(p *config.Parameters) { p.Session.RequireSeen = true },
		withFunctions(hooks.Hook{Event: hooks.BeforeModel, Name: "takes", Run: func(_ context.Context, in hooks.Input) (hooks.Output, error) {
			return hooks.Output{Specific: hooks.Specific{LLMRequest: []byte(`{"messages":[{"role":"user","content":"Look."}]}`)}}, nil
		}}))
	s.Write("f.txt", plain)
	_, calls := converse(t, s.Config, "See @f.txt")
	require.Equal(t, []string{"write_file error edit_requires_prior_read", "read_file success", "safe_patch success"}, calls)
}

// The context of a hook is separate from the result, so that compaction and
// programs read the original result.
func TestContextBesideResults(t *testing.T) {
	s := configtest.New(t, adds("", "a \"note\" hunter2hunter2"), func(p *config.Parameters) { p.Environment.Secrets = []string{"hunter2hunter2"} })
	s.Write("f.txt", plain)
	r := s.Call("read_file", map[string]any{"file_path": "f.txt"})
	require.True(t, r.Result.LLMContent.IsJSON())
	var told struct{ Output, Context string }
	require.NoError(t, json.Unmarshal(r.FunctionResponse(), &told))
	require.Equal(t, `<hook_context>a "note" [masked]</hook_context>`, told.Context)
	var state struct{ Content string }
	require.NoError(t, json.Unmarshal([]byte(told.Output), &state))
	require.Equal(t, plain, state.Content)
}

// Compaction restates shown content, and nothing that hooks have withheld or have
// not seen.
func TestRestateWithHooks(t *testing.T) {
	s := configtest.New(t, guards("^read_", "TOPSECRET"))
	for _, name := range []string{"same", "changed", "withheld"} {
		s.Write(name, plain)
		read(t, s.Config, name)
	}
	s.Write("changed", "one\nTOPSECRET\n")
	s.Write("withheld", hidden)
	require.NotContains(t, toldOf(t, s.Call("read_file", map[string]any{"file_path": "withheld"})), "TOPSECRET")
	s.Write("withheld", plain)
	parts, err := s.Restate(t.Context())
	require.NoError(t, err)
	require.NotContains(t, parts[0].Text, "TOPSECRET")
	var got restated
	require.NoError(t, json.Unmarshal([]byte(parts[0].Text), &got))
	require.Equal(t, []string{"withheld", "changed", "same"}, inOrder(s, got))
	require.NotNil(t, got.Files[0].Error)
	require.NotNil(t, got.Files[1].Error)
	require.Equal(t, plain, *got.Files[2].Content)
	cache, err := s.FileReadCache()
	require.NoError(t, err)
	require.Equal(t, []string{s.Path("same")}, cache.Recent())
}

// A subagent's reads are its own: content that hooks withhold from it stays
// unread there.
func TestDroppedReadsOfSubagents(t *testing.T) {
	s := configtest.New(t, playing(t, `
		{"when":{"purpose":"main"},"calls":[{"tool":"generalist","args":{"query":"Look."}}]},
		{"when":{"purpose":"subagent"},"calls":[{"tool":"read_file","args":{"file_path":"g.txt"}}]},
		{"when":{"purpose":"subagent"},"expect":{"tool":"read_file","error":"execution_failed"},"calls":[{"tool":"safe_patch","args":{"file_path":"g.txt","unified_diff":"@@\n-one\n+1\n","base_content_sha256":"`+strings.Repeat("0", 64)+`"}}]},
		{"when":{"purpose":"subagent"},"expect":{"tool":"safe_patch","error":"edit_requires_prior_read"},"calls":[{"tool":"complete_task","args":{"result":"It was refused."}}]},
		{"when":{"purpose":"main"},"text":"Done."}`, script.Options{}), guards("^read_", "TOPSECRET"))
	s.Write("g.txt", hidden)
	answer, _ := converse(t, s.Config, "Work.")
	require.Equal(t, "Done.", answer)
	require.Equal(t, hidden, s.Read("g.txt"))
}

// A skill whose instructions a hook has withheld is not active, and its directory
// is not readable.
func TestDroppedSkill(t *testing.T) {
	s, dir := withSkill(t, guards("activate_skill", "Work by the kit"))
	r := s.Call("activate_skill", map[string]any{"name": "kit"})
	require.Equal(t, scheduler.StatusError, r.Status)
	names, err := s.Skills().Active()
	require.NoError(t, err)
	require.Empty(t, names)
	require.NotNil(t, s.Call("read_file", map[string]any{"file_path": filepath.Join(dir, "scripts", "run.sh")}).Result.Error)
	require.FileExists(t, filepath.Join(dir, "scripts", "run.sh"))
}
