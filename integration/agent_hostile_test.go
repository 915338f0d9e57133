package integration_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/agent/subagent"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/config/configtest"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model"
)

const untouched = "one\ntwo\n"

// misbehaving returns a session with one file whose model misbehaves for the first
// prompt and behaves well for the next.
func misbehaving(t *testing.T, bad func(r *model.Request) (*model.Response, error), change ...func(*config.Parameters)) *configtest.Session {
	t.Helper()
	answer := func(_ context.Context, r *model.Request) (*model.Response, error) {
		for _, turn := range r.Contents {
			if strings.Contains(turn.Text(), "Are you well?") {
				return says("I am well."), nil
			}
		}
		return bad(r)
	}
	s := configtest.New(t, append([]func(*config.Parameters){func(p *config.Parameters) {
		p.Conversation.Models, p.Conversation.Retry = model.Always(acting{answer}), soon
	}}, change...)...)
	s.Write("f.txt", untouched)
	return s
}

// requireWell checks that the next prompt works and that the file is unchanged.
func requireWell(t *testing.T, s *configtest.Session) {
	t.Helper()
	next := prompt(t, s.Config, "Are you well?")
	require.Equal(t, agent.EventDone, next.last.Type, "%v", next.last.Err)
	require.Equal(t, "I am well.", next.text)
	require.Equal(t, untouched, s.Read("f.txt"))
}

// AR-30: however a model misbehaves, its prompt ends with a reported reason. The history stays
// valid, files are unchanged, and the next prompt works.
func TestHostileModels(t *testing.T) {
	t.Parallel()
	always := func(r *model.Response) func(*model.Request) (*model.Response, error) {
		return func(*model.Request) (*model.Response, error) { return r, nil }
	}
	once := func(r *model.Response) func(*model.Request) (*model.Response, error) {
		return func(q *model.Request) (*model.Response, error) {
			if len(answeredLast(q)) > 0 {
				return says("I see."), nil
			}
			return r, nil
		}
	}
	patch := map[string]string{"file_path": "f.txt", "unified_diff": "@@\n-one\n+ONE\n", "base_content_sha256": strings.Repeat("0", 64)}
	n := 0
	for name, tt := range map[string]struct {
		bad   func(*model.Request) (*model.Response, error)
		p     func(*config.Parameters)
		end   agent.EventType
		code  fault.Code
		calls []string // of the first turn
	}{
		"unknown tool": {bad: once(calling("delete_everything", map[string]string{"path": "f.txt"})), end: agent.EventDone, calls: []string{"delete_everything error tool_not_registered"}},
		"broken JSON":  {bad: once(calling("write_file", json.RawMessage(`{"file_path": "f.txt", "content": "`))), end: agent.EventDone, calls: []string{"write_file error invalid_tool_params"}},
		"no object":    {bad: once(calling("write_file", json.RawMessage(`[1, 2]`))), end: agent.EventDone, calls: []string{"write_file error invalid_tool_params"}},
		"failing call for ever": {
			bad: always(calling("safe_patch", patch)), end: agent.EventLoop, code: fault.LoopDetected, calls: []string{"safe_patch error edit_requires_prior_read"},
		},
		"ten calls at once": {
			bad: once(calling("read_file", map[string]string{"file_path": "f.txt"}, "nothing", struct{}{}, "glob", map[string]string{"pattern": "*"}, "safe_patch", patch,
				"read_file", map[string]string{"file_path": "../f"}, "read_file", struct{}{}, "list_directory", map[string]string{"dir_path": "."}, "read_file", map[string]string{"file_path": "f.txt"},
				"search_file_content", map[string]string{"pattern": "one"}, "write_file", json.RawMessage(`{`))),
			end: agent.EventDone,
			calls: []string{"read_file success", "nothing error tool_not_registered", "glob success", "safe_patch error file_changed_since_read", "read_file error path_not_in_workspace",
				"read_file error invalid_tool_params", "list_directory success", "read_file success", "search_file_content success", "write_file error invalid_tool_params"},
		},
		"never stops": {
			bad: func(*model.Request) (*model.Response, error) {
				n++
				return calling("glob", map[string]string{"pattern": fmt.Sprintf("*%d", n)}), nil
			},
			p: func(p *config.Parameters) { p.Conversation.Limits.PromptTurns = 7 }, end: agent.EventLimit, code: fault.LimitReached,
		},
		"never stops talking": {
			bad: func(*model.Request) (*model.Response, error) {
				return says(strings.Repeat("I am thinking about it. ", 10_000)), nil
			},
			end: agent.EventLoop, code: fault.LoopDetected,
		},
		"nothing":       {bad: always(&model.Response{Finish: model.FinishStop}), end: agent.EventInvalidStream, code: fault.InvalidStream},
		"not even that": {bad: always(&model.Response{}), end: agent.EventInvalidStream, code: fault.InvalidStream},
		"only thoughts": {
			bad: always(&model.Response{Content: model.Content{Role: model.RoleModel, Parts: []model.Part{{Text: "hm", Thought: true}}}, Finish: model.FinishStop}),
			end: agent.EventInvalidStream, code: fault.InvalidStream,
		},
		"nameless calls": {
			bad: once(&model.Response{Content: model.Content{Role: model.RoleModel, Parts: []model.Part{{Call: &model.FunctionCall{}}, {Call: &model.FunctionCall{}}}}, Finish: model.FinishStop}),
			end: agent.EventDone,
		},
		"one ID for all": {
			bad: once(&model.Response{Content: model.Content{Role: model.RoleModel, Parts: []model.Part{
				{Call: &model.FunctionCall{ID: "x", Name: "glob", Args: json.RawMessage(`{"pattern":"*"}`)}}, {Call: &model.FunctionCall{ID: "x", Name: "glob", Args: json.RawMessage(`{"pattern":"*.txt"}`)}},
			}}, Finish: model.FinishStop}),
			end: agent.EventDone, calls: []string{"glob success", "glob success"},
		},
		"answers its own calls": {
			bad: always(&model.Response{Content: model.Content{Role: model.RoleModel, Parts: []model.Part{
				model.TextPart("So."), {Response: &model.FunctionResponse{ID: "x", Name: "glob", Response: json.RawMessage(`{}`)}},
			}}, Finish: model.FinishStop}),
			end: agent.EventDone,
		},
		"panics": {bad: func(*model.Request) (*model.Response, error) { panic("no") }, end: agent.EventError, code: fault.UnhandledException},
	} {
		t.Run(name, func(t *testing.T) {
			s := misbehaving(t, tt.bad, func(p *config.Parameters) {
				if tt.p != nil {
					tt.p(p)
				}
			})
			bad := prompt(t, s.Config, "Do something.")
			require.Equal(t, tt.end, bad.last.Type, "%v", bad.last.Err)
			if tt.code != "" {
				require.Equal(t, tt.code, bad.last.Err.Code)
				require.NotEmpty(t, bad.last.Err.Message)
			}
			require.GreaterOrEqual(t, len(bad.calls), len(tt.calls))
			require.Equal(t, tt.calls, append([]string(nil), bad.calls[:len(tt.calls)]...))
			requireWell(t, s)
		})
	}
}

// A conversation that exceeds the provider's limit is compacted and sent again; one
// that cannot be compacted ends with an overflow.
func TestContextExceeded(t *testing.T) {
	t.Parallel()
	tooLong := &model.Error{Provider: "test", Kind: model.ContextExceeded, Status: 400, Message: "too long"}
	refused, compacted := false, 0
	s := misbehaving(t, func(r *model.Request) (*model.Response, error) {
		words := r.Contents[len(r.Contents)-1].Text()
		switch {
		case r.Purpose == model.PurposeCompact:
			compacted++
			return says("They talked."), nil
		case strings.Contains(words, "Refuse.") && !refused:
			refused = true
			return nil, tooLong
		}
		return says(strings.Repeat("word ", 100)), nil
	}, func(p *config.Parameters) { p.Conversation.NoLoopDetection = true })
	for range 3 {
		prompt(t, s.Config, "Talk.")
	}
	p := prompt(t, s.Config, "Refuse.")
	require.Equal(t, agent.EventDone, p.last.Type, "%v", p.last.Err)
	require.Equal(t, 1, compacted)
	require.Equal(t, 1, p.count(agent.EventCompaction))
	requireWell(t, s)

	s = misbehaving(t, func(*model.Request) (*model.Response, error) { return nil, tooLong })
	p = prompt(t, s.Config, "Refuse.")
	require.Equal(t, agent.EventOverflow, p.last.Type)
	require.EqualValues(t, "tokens", p.last.Err.Reason)
	requireWell(t, s)

	s = misbehaving(t, func(*model.Request) (*model.Response, error) { return says("x"), nil },
		func(p *config.Parameters) { p.Conversation.Limits.Tokens = 20_000 })
	p = prompt(t, s.Config, strings.Repeat("long ", 40_000))
	require.Equal(t, agent.EventOverflow, p.last.Type, "our own estimate is enough")
	requireWell(t, s)
}

// EX-12: an agent that never reports ends at its limit, or when it stops, and its
// caller receives the reason; work that it leaves open has no effect.
func TestAgentThatNeverCompletes(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		answer func(n int) *model.Response
		want   string
	}{
		"goes on for ever": {func(n int) *model.Response {
			return calling("glob", map[string]string{"pattern": fmt.Sprintf("*%d", n)})
		}, "MAX_TURNS"},
		"stops":            {func(int) *model.Response { return says("I would rather not.") }, "ERROR_NO_COMPLETE_TASK_CALL"},
		"says nothing":     {func(int) *model.Response { return &model.Response{Finish: model.FinishStop} }, "ERROR"},
		"reports nonsense": {func(int) *model.Response { return calling("complete_task", map[string]int{"other": 1}) }, "MAX_TURNS"},
	} {
		t.Run(name, func(t *testing.T) {
			n := 0
			s := misbehaving(t, func(r *model.Request) (*model.Response, error) {
				switch {
				case r.Purpose == model.PurposeSubagent:
					n++
					require.Less(t, n, 100)
					return tt.answer(n), nil
				case len(answeredLast(r)) > 0:
					return says("I see."), nil
				}
				return calling("helper", map[string]string{"query": "Help."}), nil
			}, func(p *config.Parameters) {
				p.Agents.Definitions = []subagent.Definition{{Name: "helper", Description: "Helps.", Prompt: "You help.", MaxTurns: 4}}
				p.Conversation.NoLoopDetection = true
			})
			p := prompt(t, s.Config, "Get help.")
			require.Equal(t, agent.EventDone, p.last.Type, "%v", p.last.Err)
			require.Equal(t, []string{"helper error agent_execution_error"}, p.calls)
			client, err := s.Client()
			require.NoError(t, err)
			require.Contains(t, mustJSON(client.History()[2]), "Termination reason: "+tt.want)
			requireWell(t, s)
		})
	}
}

// A provider that answers 429, then 500, then success is retried, through each wire
// format; the key is in no event.
func TestProviderThatRecovers(t *testing.T) {
	t.Parallel()
	for _, format := range wireFormats {
		t.Run(format.name, func(t *testing.T) {
			fail := func(w http.ResponseWriter, status int, kind string) {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(status)
				key := strings.TrimSpace(format.env("")[strings.ToUpper(format.name)+"_API_KEY"])
				_, _ = io.WriteString(w, format.fail(status, kind, "not now, "+key))
			}
			server := serveModel(t, format, func(n int, _ wireRequest, w http.ResponseWriter) *wireReply {
				switch n {
				case 0:
					fail(w, http.StatusTooManyRequests, "RESOURCE_EXHAUSTED")
				case 1:
					fail(w, http.StatusInternalServerError, "INTERNAL")
				default:
					return &wireReply{text: "I am well."}
				}
				return nil
			})
			s := configtest.New(t, server.talkingTo)
			s.Write("f.txt", untouched)
			p := prompt(t, s.Config, "Do something.")
			require.Equal(t, agent.EventDone, p.last.Type, "%v", p.last.Err)
			require.Equal(t, "I am well.", p.text)
			require.Equal(t, 2, p.count(agent.EventRetry))
			require.NotContains(t, mustJSON(p.events), format.name+"-key-0123456789")
			require.Len(t, server.requests(), 3)
			requireWell(t, s)
		})
	}
}

// A stream that is cut at any byte (with FETTLE_FULL=1 at each byte) is retried; its
// calls run once and only when complete, and its text is reported once.
func TestStreamCutAtEachByte(t *testing.T) {
	t.Parallel()
	for _, format := range wireFormats {
		t.Run(format.name, func(t *testing.T) {
			whole := format.speak(wireReply{thought: "hm", text: "I write.", calls: []wireCall{{"call_1", "write_file", `{"file_path":"new.txt","content":"new\n"}`}}})
			cut, attempts := 0, 0
			server := serveModel(t, format, func(_ int, h wireRequest, w http.ResponseWriter) *wireReply {
				if len(h.last().answers) > 0 || strings.Contains(h.last().text, "well?") {
					return &wireReply{text: "I am well."}
				}
				w.Header().Set("Content-Type", "text/event-stream")
				if attempts++; attempts > 1 {
					_, _ = io.WriteString(w, whole)
					return nil
				}
				_, _ = io.WriteString(w, whole[:cut])
				w.(http.Flusher).Flush()
				panic(http.ErrAbortHandler)
			})
			s := configtest.New(t, server.talkingTo)
			s.Write("f.txt", untouched)
			step := 97 // and each of the last bytes
			if os.Getenv("FETTLE_FULL") == "1" {
				step = 1
			}
			for ; cut < len(whole); cut += min(step, max(1, len(whole)-20-cut)) {
				attempts = 0
				require.NoError(t, os.RemoveAll(s.Path("new.txt")))
				_, err := s.StartNewSession("", 0)
				require.NoError(t, err)
				_, err = s.Converse(config.Opening{})
				require.NoError(t, err)
				p := prompt(t, s.Config, "Write it.")
				require.Equal(t, agent.EventDone, p.last.Type, "cut at byte %d of %d: %v", cut, len(whole), p.last.Err)
				require.Equal(t, []string{"write_file success"}, p.calls, "cut at byte %d: %q", cut, whole[:cut])
				require.Equal(t, "new\n", s.Read("new.txt"))
				require.Equal(t, attempts-1, p.count(agent.EventRetry))
			}
			requireWell(t, s)
		})
	}
}
