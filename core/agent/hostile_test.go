package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/agent"
	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/confirmation"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/tools"
)

type noteParams struct {
	Text string `json:"text"`
}

// realTools is a scheduler with a tool that reads and one that writes, which record their calls.
func realTools(t testing.TB, b *bus.MessageBus) (*scheduler.Scheduler, func() []string) {
	t.Helper()
	var mu sync.Mutex
	var ran []string
	registry := tools.NewRegistry(tools.RegistryOptions{})
	define := func(name string, kind tools.Kind, o ...tools.Option) {
		tool, err := tools.Define(name, "Notes a text.", kind, func(ctx context.Context, p noteParams) (tools.Result, error) {
			if p.Text == "slow" {
				select {
				case <-time.After(50 * time.Second):
				case <-ctx.Done():
					return tools.Result{}, ctx.Err()
				}
			}
			mu.Lock()
			defer mu.Unlock()
			ran = append(ran, name+" "+p.Text)
			if p.Text == "fail" {
				return tools.Fail(fault.New(fault.FileNotFound, "note", "There is no such file.", "Look for it.")), nil
			}
			return tools.Result{LLMContent: tools.Text("noted " + p.Text)}, nil
		}, o...)
		require.NoError(t, err)
		require.NoError(t, registry.Register(tool))
	}
	define("look", tools.KindRead, tools.WithParallel())
	define("change", tools.KindEdit)
	s := scheduler.New(scheduler.Options{Tools: registry, Bus: b, Policy: allowed{}})
	return s, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(ran)
	}
}

// allowed is a policy that asks about marked texts, and allows all others.
type allowed struct{}

func (allowed) Decide(c policy.Call) policy.Decision {
	if strings.Contains(string(c.Params), "ask") {
		return policy.Decision{Explanation: confirmation.Explanation{Decision: policy.AskUser, Reason: "The text is marked."}}
	}
	return policy.Decision{Explanation: confirmation.Explanation{Decision: policy.Allow}}
}
func (allowed) Paths(policy.Call) []string { return nil }
func (allowed) Prepare(*policy.Call)       {}
func (allowed) Remember(context.Context, policy.Call, policy.Scope, []string) ([]policy.Rule, error) {
	return nil, errors.New("nothing is remembered")
}
func (allowed) CanRemember(policy.Call, policy.Scope) []policy.Rule { return nil }

// ten returns ten calls that alternately read and write.
func ten() []model.FunctionCall {
	var calls []model.FunctionCall
	for i := range 10 {
		calls = append(calls, call(fmt.Sprint(i), []string{"look", "change"}[i%2], fmt.Sprintf(`{"text":"%d"}`, i)))
	}
	return calls
}

// hostileCase is a misbehaving part, and the expected end of a prompt.
type hostileCase struct {
	model  *fake
	set    func(o *agent.Options)
	want   agent.EventType
	reason fault.Reason
	text   string        // in the history
	ran    []string      // by tools
	took   time.Duration // at most
}

// hostile lists misbehaving models, steps, recorders and observers. In each case a prompt ends as
// expected, the history is valid, each call has one response, no goroutine is left, and the next
// prompt works.
func hostile() map[string]hostileCase {
	return map[string]hostileCase{
		"unknown tool": {
			model: inOrder(asks(call("1", "nope", "{}"))),
			want:  agent.EventDone, text: `"type":"tool_not_registered"`,
		},
		"broken JSON": {
			model: inOrder(asks(call("1", "look", `{"text":`)), asks(call("2", "look", `{"text":"repaired"}`))),
			want:  agent.EventDone, text: `valid JSON`, ran: []string{"look repaired"},
		},
		"arguments that do not fit": {
			model: inOrder(asks(call("1", "look", `{"texts":"a"}`), call("2", "look", `[]`), call("3", "look", "\xff\x00"))),
			want:  agent.EventDone, text: `"type":"invalid_tool_params"`,
		},
		"the same failing call forever": {
			model: &fake{answer: func(n int, _ *model.Request) stream { return asks(call(fmt.Sprint(n), "look", `{"text":"fail"}`)) }},
			want:  agent.EventLoop, reason: "consecutive_identical_tool_calls", text: "repeated", ran: slices.Repeat([]string{"look fail"}, 8),
		},
		"two calls in turn forever": {
			model: &fake{answer: func(n int, _ *model.Request) stream {
				return asks(call(fmt.Sprint(n), "look", fmt.Sprintf(`{"text":"%d"}`, n%2)))
			}},
			want: agent.EventLoop, reason: "consecutive_identical_tool_calls",
		},
		"ten tools at once": {
			model: inOrder(asks(ten()...)),
			want:  agent.EventDone, text: "noted 9",
			ran: []string{"look 0", "change 1", "look 2", "change 3", "look 4", "change 5", "look 6", "change 7", "look 8", "change 9"},
		},
		"five hundred at once": {
			model: inOrder(asks(slices.Repeat([]model.FunctionCall{call("same", "look", `{"text":"a"}`)}, 500)...)),
			want:  agent.EventDone, ran: slices.Repeat([]string{"look a"}, 200),
		},
		"never stops": {
			model: &fake{answer: func(n int, _ *model.Request) stream {
				return asks(call(fmt.Sprint(n), "look", fmt.Sprintf(`{"text":"%d"}`, n)))
			}},
			set:  func(o *agent.Options) { o.Limits.PromptTurns = 7 },
			want: agent.EventLimit, reason: "prompt_turns", text: "noted 6",
		},
		"never stops, by default": {
			model: &fake{answer: func(n int, _ *model.Request) stream {
				return asks(call(fmt.Sprint(n), "look", fmt.Sprintf(`{"text":"%d"}`, n)))
			}},
			want: agent.EventLimit, reason: "prompt_turns", text: "noted 99",
		},
		"repeats the same text forever": {
			model: &fake{answer: func(int, *model.Request) stream {
				return says(slices.Repeat([]string{"I will now look at the file and then I will change it. "}, 1000)...)
			}},
			want: agent.EventLoop, reason: "chanting_identical_sentences", text: "repeated the same text",
		},
		"returns nothing": {
			model: &fake{answer: func(int, *model.Request) stream { return stream{} }},
			want:  agent.EventInvalidStream, reason: "no_finish_reason", took: 10 * time.Second,
		},
		"returns no text": {
			model: &fake{answer: func(int, *model.Request) stream { return says(" \u200b<!-- nothing -->\n") }},
			want:  agent.EventInvalidStream, reason: "no_response_text", took: 10 * time.Second,
		},
		"returns nothing after calls": {
			model: inOrder(asks(call("1", "look", `{"text":"a"}`)), stream{}),
			want:  agent.EventDone, text: "noted a", ran: []string{"look a"},
		},
		"is blocked": {
			model: &fake{answer: func(int, *model.Request) stream {
				return stream{chunks: []model.Chunk{{Finish: model.FinishSafety}}}
			}},
			want: agent.EventInvalidStream, reason: "safety_blocked", took: 10 * time.Second,
		},
		"exceeds the context window": {
			model: &fake{answer: func(int, *model.Request) stream { return fails(model.ContextExceeded, 400) }},
			want:  agent.EventOverflow, reason: "tokens",
		},
		"exceeds our limit": {
			model: inOrder(),
			set: func(o *agent.Options) {
				o.Limits.Tokens = 100
				o.System = func(context.Context) (string, error) { return strings.Repeat("word ", 100), nil }
			},
			want: agent.EventOverflow, reason: "tokens",
		},
		"refuses": {
			model: &fake{answer: func(int, *model.Request) stream { return fails(model.Unauthenticated, 401) }},
			want:  agent.EventError, reason: fault.Reason(model.Unauthenticated),
		},
		"is overloaded forever": {
			model: &fake{answer: func(int, *model.Request) stream { return fails(model.RateLimited, 429) }},
			want:  agent.EventError, reason: fault.Reason(model.RateLimited), took: 320 * time.Second,
		},
		"breaks off forever, with a call": {
			model: &fake{answer: func(int, *model.Request) stream {
				s := asks(call("1", "change", `{"text":"never"}`))
				return stream{chunks: s.chunks[:2], err: errors.New("connection reset by peer")}
			}},
			want: agent.EventError, reason: fault.Reason(model.Connection), took: 10 * time.Second, // without running a call
		},
		"panics": {
			model: &fake{answer: func(int, *model.Request) stream { return stream{before: func() { panic("oh") }} }},
			want:  agent.EventError,
		},
		"panics in an answer": {
			model: &fake{answer: func(n int, _ *model.Request) stream {
				s := asks(call("1", "change", `{"text":"never"}`))
				return stream{chunks: s.chunks[:2], err: panics{}}
			}},
			want: agent.EventError,
		},
		"answers with foreign parts": {
			model: inOrder(stream{chunks: []model.Chunk{{Parts: []model.Part{{}, respPart("9"), {Text: "a", Call: &model.FunctionCall{}}}, Finish: model.FinishStop}}}),
			want:  agent.EventDone, text: `"name":"unnamed"`,
		},
		"uses the same ID for each call": {
			model: inOrder(asks(call("1", "look", `{"text":"a"}`), call("1", "look", `{"text":"b"}`)), asks(call("1", "look", `{"text":"c"}`))),
			want:  agent.EventDone, ran: []string{"look a", "look b", "look c"},
		},
		"a recording that does not match": {
			model: &fake{answer: func(int, *model.Request) stream {
				return stream{err: fault.New(fault.InvalidConfig, "replay", "The request is not in the recording.", "Record it again.")}
			}},
			want: agent.EventError, // without a retry
		},
		"a scheduler that forgets": {
			model: inOrder(asks(call("1", "look", `{}`), call("2", "look", `{}`))),
			set: func(o *agent.Options) {
				o.Scheduler = scheduleFunc(func(context.Context, []scheduler.Request) []scheduler.Response {
					return make([]scheduler.Response, 1)
				})
			},
			want: agent.EventDone, text: `"type":"unhandled_exception"`,
		},
		"a scheduler that panics": {
			model: inOrder(asks(call("1", "look", `{}`))),
			set:   func(o *agent.Options) { o.Scheduler = badScheduler{} },
			want:  agent.EventDone, text: `"type":"unhandled_exception"`,
		},
		"no scheduler": {
			model: inOrder(asks(call("1", "look", `{}`))),
			set:   func(o *agent.Options) { o.Scheduler = nil },
			want:  agent.EventDone, text: `"type":"tool_not_registered"`,
		},
		"a step before the prompt that panics": {
			set: func(o *agent.Options) {
				o.Steps.BeforePrompt = []agent.BeforePrompt{func(context.Context, []model.Part) (agent.PromptAdvice, error) { panic("oh") }}
			},
			want: agent.EventError,
		},
		"a step before a request that panics": {
			set: func(o *agent.Options) {
				o.Steps.BeforeRequest = []agent.BeforeRequest{func(context.Context, *model.Request) (agent.RequestAdvice, error) { panic("oh") }}
			},
			want: agent.EventError,
		},
		"a step before the second request that fails": {
			model: inOrder(asks(call("1", "change", `{"text":"a"}`))),
			set: func(o *agent.Options) {
				o.Steps.BeforeRequest = []agent.BeforeRequest{func(_ context.Context, r *model.Request) (agent.RequestAdvice, error) {
					if len(r.Contents) > 1 {
						return agent.RequestAdvice{}, errors.New("no")
					}
					return agent.RequestAdvice{}, nil
				}}
			},
			want: agent.EventError, text: "noted a", ran: []string{"change a"},
		},
		"a step on a chunk that panics": {
			model: inOrder(asks(call("1", "change", `{"text":"never"}`))),
			set: func(o *agent.Options) {
				o.Steps.AfterChunk = []agent.AfterChunk{func(context.Context, *model.Chunk) (string, error) { panic("oh") }}
			},
			want: agent.EventError,
		},
		"a step after the prompt that panics": {
			set: func(o *agent.Options) {
				o.Steps.AfterPrompt = []agent.AfterPrompt{func(context.Context, []model.Part, string, bool) (agent.PromptAdvice, error) { panic("oh") }}
			},
			want: agent.EventError,
		},
		"a step after the prompt that is never content": {
			set: func(o *agent.Options) {
				o.Steps.AfterPrompt = []agent.AfterPrompt{func(context.Context, []model.Part, string, bool) (agent.PromptAdvice, error) {
					return agent.PromptAdvice{Block: "Do it better."}, nil
				}}
			},
			want: agent.EventLimit, reason: "prompt_turns", text: "Do it better.",
		},
		"a system prompt that fails": {
			set: func(o *agent.Options) {
				o.System = func(context.Context) (string, error) { return "", errors.New("unreadable") }
			},
			want: agent.EventError,
		},
		"a list of tools that panics": {
			set:  func(o *agent.Options) { o.Tools = func() []model.Tool { panic("oh") } },
			want: agent.EventError,
		},
		"a source that panics": {
			set: func(o *agent.Options) {
				o.Source = func(context.Context, string) (model.Generator, error) { panic("oh") }
			},
			want: agent.EventError,
		},
		"a source that has nothing": {
			set: func(o *agent.Options) {
				o.Source = func(context.Context, string) (model.Generator, error) { return nil, nil }
			},
			want: agent.EventError,
		},
		"a recorder that fails": {
			model: inOrder(asks(call("1", "look", `{"text":"a"}`))),
			set:   func(o *agent.Options) { o.Recorder = &badRecorder{} },
			want:  agent.EventDone, ran: []string{"look a"},
		},
		"a recorder that panics": {
			model: inOrder(asks(call("1", "look", `{"text":"a"}`))),
			set:   func(o *agent.Options) { o.Recorder = &badRecorder{panics: true} },
			want:  agent.EventDone, ran: []string{"look a"},
		},
		"an observer that panics": {
			set:  func(o *agent.Options) { o.Observer = badObserver{panics: true} },
			want: agent.EventDone,
		},
		"an observer that returns nothing": {
			set:  func(o *agent.Options) { o.Observer = badObserver{} },
			want: agent.EventDone,
		},
		"a compactor that panics": {
			set:  func(o *agent.Options) { o.Compactor, o.Limits.CompactAt = badCompactor{}, 1e-9 },
			want: agent.EventDone,
		},
	}
}

// panics is an error that panics when it is formatted.
type panics struct{}

func (panics) Error() string   { return "panics" }
func (panics) Is(error) bool   { panic("oh") }
func (panics) As(any) bool     { panic("oh") }
func (panics) Unwrap() []error { panic("oh") }

type badScheduler struct{}

func (badScheduler) RunAll(context.Context, []scheduler.Request) []scheduler.Response { panic("oh") }

type badRecorder struct{ panics bool }

func (r *badRecorder) fail() error {
	if r.panics {
		panic("oh")
	}
	return errors.New("no space left")
}
func (r *badRecorder) Append(context.Context, agent.Entry) error      { return r.fail() }
func (r *badRecorder) Rewind(context.Context, int) error              { return r.fail() }
func (r *badRecorder) Replace(context.Context, []model.Content) error { return r.fail() }

type badObserver struct{ panics bool }

func (o badObserver) Prompt(context.Context, agent.PromptInfo) (context.Context, func(agent.PromptEnd)) {
	o.fail()
	return nil, nil
}
func (o badObserver) Request(context.Context, agent.RequestInfo) (context.Context, func(agent.RequestEnd)) {
	o.fail()
	return nil, nil
}
func (o badObserver) Compaction(context.Context, bool) (context.Context, func(agent.Compaction, error)) {
	o.fail()
	return nil, nil
}
func (o badObserver) fail() {
	if o.panics {
		panic("oh")
	}
}

type badCompactor struct{}

func (badCompactor) Compact(context.Context, agent.CompactRequest) (agent.Compaction, error) {
	panic("oh")
}

func TestHostile(t *testing.T) {
	for title, tt := range hostile() {
		t.Run(title, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := tt.model
				if g == nil {
					g = inOrder()
				}
				s, ran := realTools(t, nil)
				current, name := g, "fake:bad"
				c := newClient(t, g, func(o *agent.Options) {
					o.Scheduler, o.Model = s, func() string { return name }
					o.Source = func(context.Context, string) (model.Generator, error) { return current, nil }
					if tt.set != nil {
						tt.set(o)
					}
				})
				begun := time.Now()
				events := run(t.Context(), c, "Do it.")
				checkEvents(t, events)
				require.Equal(t, tt.want, last(events).Type, "%+v", last(events).Err)
				if tt.reason != "" {
					require.Equal(t, tt.reason, last(events).Err.Reason)
				}
				if last(events).Err != nil {
					require.NotEmpty(t, last(events).Err.Message)
				}
				require.LessOrEqual(t, time.Since(begun), tt.took)
				checkClient(t, c)
				history, err := json.Marshal(c.History())
				require.NoError(t, err)
				require.Contains(t, string(unescaped(history)), tt.text)
				if tt.ran != nil || strings.Contains(title, "breaks off") {
					require.ElementsMatch(t, tt.ran, ran())
				}
				current, name = inOrder(), "fake:good"
				next := run(t.Context(), c, "And now?")
				checkEvents(t, next)
				checkClient(t, c)
				if tt.set == nil {
					require.Equal(t, agent.EventDone, last(next).Type)
					require.Equal(t, "Done.", c.History()[len(c.History())-1].Text())
				}
			})
		})
	}
}

// unescaped removes the escapes of JSON within JSON.
func unescaped(b []byte) []byte { return []byte(strings.ReplaceAll(string(b), `\"`, `"`)) }
