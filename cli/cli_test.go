package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/cli/internal/program"
	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/confirmation"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/policy/rulefile"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/tools"
)

// fakeSession answers each call by the name of its tool.
type fakeSession struct {
	run       func(context.Context, scheduler.Request) scheduler.Response
	notices   []string
	recovered int
	closed    int
	bus       *bus.MessageBus // nil: a new bus
}

// Config returns a Config that is never initialized.
func (*fakeSession) Config() *config.Config {
	c, err := config.New(config.Parameters{TargetDir: "."})
	if err != nil {
		panic(err)
	}
	return c
}

func (*fakeSession) ConnectServers(context.Context, time.Duration) []error { return nil }

func (*fakeSession) ConnectFor(context.Context, string) error { return nil }

func (*fakeSession) SettingsProblems() []fault.Problem { return nil }

func (*fakeSession) DiscoveryProblems() []error { return nil }

func (f *fakeSession) MessageBus() *bus.MessageBus {
	if f.bus == nil {
		f.bus = bus.New(bus.Options{})
	}
	return f.bus
}

func (f *fakeSession) Tools() []tools.DeclarativeTool   { return nil }
func (f *fakeSession) Recover(context.Context) []string { f.recovered++; return f.notices }
func (f *fakeSession) Close() error                     { f.closed++; return nil }

func (f *fakeSession) Lookup(name string) (tools.DeclarativeTool, error) {
	return nil, fault.New(fault.ToolNotRegistered, "test", "No tool "+name+".", "See fettle tools.")
}

func (f *fakeSession) Run(ctx context.Context, r scheduler.Request) scheduler.Response {
	return f.run(ctx, r)
}

// byName ends a call as the name of its tool says: ok, error, denied or cancelled.
func byName(_ context.Context, r scheduler.Request) scheduler.Response {
	resp := scheduler.Response{CallID: r.CallID, Tool: r.Tool, Params: r.Args,
		Decision: policy.Decision{Explanation: confirmation.Explanation{Decision: policy.Allow, Reason: "test"}}}
	switch r.Tool {
	case "ok":
		resp.Status = scheduler.StatusSuccess
		resp.Result.LLMContent, _ = tools.JSON(map[string]any{"args": r.Args, "less": "a<b"})
	case "denied":
		resp.Status = scheduler.StatusDenied
		resp.Result = tools.Fail(fault.New(fault.DeniedByUser, "test", "The user said no.", "Ask."))
	case "cancelled":
		resp.Status = scheduler.StatusCancelled
		resp.Result = tools.Fail(fault.New(fault.Cancelled, "test", "Cancelled.", ""))
	default:
		resp.Status = scheduler.StatusError
		resp.Decision = policy.Decision{}
		resp.Result = tools.Fail(fault.New(fault.ToolNotRegistered, "test", "There is no tool\nof that name.", "See fettle tools."))
	}
	return resp
}

// fettle runs a command line against a session and returns its output.
func fettle(t *testing.T, s *fakeSession, stdin io.Reader, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, err bytes.Buffer
	p := &program.Program{In: stdin, Out: &out, Err: &err, Open: func(context.Context, program.SessionOptions) (program.Session, error) { return s, nil }}
	code = execute(t.Context(), p, args)
	return code, out.String(), err.String()
}

// The exit code of a batch is the highest exit code of its calls: 130 > 3 > 1 > 0.
func TestBatchExitCode(t *testing.T) {
	for calls, want := range map[string]int{
		"":                    0,
		"ok ok":               0,
		"ok error ok":         1,
		"denied error ok":     3,
		"error denied ok":     3,
		"denied cancelled ok": 130,
		"ok {":                1,
		"denied {":            3,
	} {
		var in strings.Builder
		for _, name := range strings.Fields(calls) {
			if name == "{" {
				in.WriteString("{\n")
				continue
			}
			in.WriteString(`{"tool":"` + name + `"}` + "\n")
		}
		s := &fakeSession{run: byName}
		code, _, _ := fettle(t, s, strings.NewReader(in.String()), "call", "--batch")
		require.Equal(t, want, code, calls)
		require.Equal(t, 1, s.closed, "the session is closed")
	}
}

func TestBatchAnswersEachLine(t *testing.T) {
	in := strings.Join([]string{
		`{"tool":"ok","args":{"n":9007199254740993}}`,
		``,
		`not json`,
		`{"tool":"ok","args":{},"extra":1}`,
		`{"args":{}}`,
		`[]`,
		"{\"tool\":\"ok\",\"args\":{\"s\":\"\xff\"}}",
		`{"tool":"ok"} {"tool":"ok"}`,
		`{"tool":"nosuch"}`,
		`{"tool":"ok"}`, // no line end
	}, "\n")
	code, stdout, stderr := fettle(t, &fakeSession{run: byName}, strings.NewReader(in), "call", "--batch")
	require.Equal(t, 1, code)
	type answer struct {
		Status   scheduler.Status `json:"status"`
		Error    *fault.Error     `json:"error"`
		Decision *policy.Decision `json:"decision"`
	}
	var got []answer
	for line := range strings.Lines(stdout) {
		var a answer
		require.NoError(t, json.Unmarshal([]byte(line), &a))
		got = append(got, a)
	}
	require.Len(t, got, 9)
	require.Contains(t, stdout, "9007199254740993", "numbers pass through exactly")
	require.Contains(t, stdout, "a<b", "without HTML escapes")
	for i, a := range got {
		switch i {
		case 0, 8:
			require.Equal(t, scheduler.StatusSuccess, a.Status)
			require.Nil(t, a.Error)
		case 7:
			require.Equal(t, fault.ToolNotRegistered, a.Error.Code)
			require.Nil(t, a.Decision, "the call never came to a decision")
		default:
			require.Equal(t, scheduler.StatusError, a.Status, i)
			require.Equal(t, fault.InvalidToolParams, a.Error.Code, i)
			require.NotEmpty(t, a.Error.Remedy)
		}
	}
	require.Equal(t, 7, strings.Count(stderr, "\n"), "one line for each error:\n%s", stderr)
}

// endless is input without a line end.
type endless struct{}

func (endless) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = 'x'
	}
	return len(b), nil
}

// Input that exceeds the limit of a tool is not buffered; a batch continues after
// such a line.
func TestInputIsLimited(t *testing.T) {
	code, _, stderr := fettle(t, &fakeSession{run: byName}, endless{}, "call", "ok", "-")
	require.Equal(t, 2, code)
	require.Contains(t, stderr, "longer than 64 MiB")

	long := io.LimitReader(endless{}, tools.MaxJSONBytes+5000)
	code, stdout, stderr := fettle(t, &fakeSession{run: byName}, io.MultiReader(long, strings.NewReader("\n{\"tool\":\"ok\"}\n")), "call", "--batch")
	require.Equal(t, 1, code)
	require.Equal(t, 2, strings.Count(stdout, "\n"))
	require.Contains(t, stdout, `"status":"success"`)
	require.Contains(t, stderr, "line 1: This line is not a call: it is longer than 64 MiB.")

	for text, says := range map[string]string{
		`[]`: "it is an array.", `7`: "it is a number.", `{"tool":{}}`: `"tool" cannot be an object.`, `{"tool":true}`: `"tool" cannot be a bool.`,
		`{"tool":"ok","tool":"no"}`: `the key "tool" occurs twice in one object.`, `{"tool":"ok","Tool":"no"}`: `the keys "tool" and "Tool" differ only in case.`,
	} {
		_, _, stderr = fettle(t, &fakeSession{run: byName}, strings.NewReader(text+"\n"), "call", "--batch")
		require.Contains(t, stderr, "line 1: This line is not a call: "+says)
	}

}

// Each answer is printed before the next line is read.
func TestBatchStreams(t *testing.T) {
	in, feed := io.Pipe()
	answers, out := io.Pipe()
	p := &program.Program{In: in, Out: out, Err: io.Discard, Open: func(context.Context, program.SessionOptions) (program.Session, error) {
		return &fakeSession{run: byName}, nil
	}}
	done := make(chan int)
	go func() { done <- execute(t.Context(), p, []string{"call", "--batch"}) }()
	decoder := json.NewDecoder(answers)
	for range 3 {
		_, err := io.WriteString(feed, `{"tool":"ok"}`+"\n")
		require.NoError(t, err)
		var a map[string]any
		require.NoError(t, decoder.Decode(&a)) // would block forever if the result waited for more input
	}
	require.NoError(t, feed.Close())
	require.Zero(t, <-done)
}

// Ctrl-C while the program waits for a line, and while a call runs.
func TestInterrupt(t *testing.T) {
	t.Run("waiting for input", func(t *testing.T) {
		for _, args := range [][]string{{"call", "--batch"}, {"call", "ok", "-"}} {
			in, feed := io.Pipe()
			ctx, cancel := context.WithCancel(t.Context())
			p := &program.Program{In: in, Out: io.Discard, Err: io.Discard, Open: func(context.Context, program.SessionOptions) (program.Session, error) {
				return &fakeSession{run: byName}, nil
			}}
			done := make(chan int)
			go func() { done <- execute(ctx, p, args) }()
			cancel()
			require.Equal(t, 130, <-done, args)
			require.NoError(t, feed.Close())
		}
	})
	t.Run("in a call", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var out bytes.Buffer
		s := &fakeSession{run: func(ctx context.Context, r scheduler.Request) scheduler.Response {
			cancel()
			<-ctx.Done()
			return byName(ctx, scheduler.Request{Tool: "cancelled"})
		}}
		p := &program.Program{In: strings.NewReader("{\"tool\":\"x\"}\n{\"tool\":\"ok\"}\n"), Out: &out, Err: io.Discard,
			Open: func(context.Context, program.SessionOptions) (program.Session, error) { return s, nil }}
		require.Equal(t, 130, execute(ctx, p, []string{"call", "--batch"}))
		require.Equal(t, 1, strings.Count(out.String(), "\n"), "the rest of the batch is not run")
	})
}

func TestUsage(t *testing.T) {
	for _, line := range []string{
		"toolz", "--nope", "call", "call ok {} more", "call --batch ok", "call ok {", "call ok -", "call ok {}{}",
		"tools a b", "completion tcsh", "version x", "--approval-mode sometimes tools", "--layout vi tools", "--core-tools a(b tools",
	} {
		code, stdout, stderr := fettle(t, &fakeSession{run: byName}, strings.NewReader(""), strings.Fields(line)...)
		require.Equal(t, 2, code, line)
		require.Empty(t, stdout, line)
		require.Equal(t, 1, strings.Count(stderr, "\n"), "one line on stderr for %s: %s", line, stderr)
	}
	_, _, stderr := fettle(t, nil, nil, "toolz")
	require.Contains(t, stderr, "Did you mean fettle tools?")
}

func TestOpenFails(t *testing.T) {
	var stderr bytes.Buffer
	p := &program.Program{In: strings.NewReader(""), Out: io.Discard, Err: &stderr, Open: func(context.Context, program.SessionOptions) (program.Session, error) {
		return nil, fault.New(fault.InvalidConfig, "test", "There is no such directory.", "Make it.")
	}}
	require.Equal(t, 4, execute(t.Context(), p, []string{"tools"}))
	require.Equal(t, "fettle: There is no such directory. Make it.\n", stderr.String())
}

// FS-64: leftovers of a killed run are recovered before calls, and never by a
// read-only command.
func TestOnlyCallsRecover(t *testing.T) {
	for line, want := range map[string]int{
		"call ok": 1, "call --batch": 1, "tools": 0, "tools --json": 0, "__complete call ": 0, "completion bash": 0, "version": 0,
	} {
		s := &fakeSession{run: byName, notices: []string{"a.go was half rewritten."}}
		_, _, stderr := fettle(t, s, strings.NewReader(""), strings.Split(line, " ")...)
		require.Equal(t, want, s.recovered, line)
		require.Equal(t, want, strings.Count(stderr, "fettle: a.go was half rewritten.\n"), line)
	}
}

func (f *fakeSession) Subject(context.Context, scheduler.Request, scheduler.Situation) (policy.Call, error) {
	return policy.Call{}, nil
}

func (f *fakeSession) Explain(_ context.Context, r scheduler.Request, _ scheduler.Situation) (policy.Decision, error) {
	if r.Tool == "error" {
		return policy.Decision{}, fault.New(fault.InvalidToolParams, "test", "No.", "")
	}
	return policy.Decision{Explanation: confirmation.Explanation{Decision: policy.AskUser, Reason: "test", Parts: []confirmation.Part{}}}, nil
}

func (f *fakeSession) Decide(policy.Call) policy.Decision {
	return policy.Decision{Explanation: confirmation.Explanation{Decision: policy.AskUser, Reason: "test"}}
}

func (f *fakeSession) PolicyRules() []policy.Rule { return nil }

func (f *fakeSession) PolicyFiles() []rulefile.File { return nil }

func (f *fakeSession) PolicyProblems() []fault.Problem { return nil }
