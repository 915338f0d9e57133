package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/tools"
)

// fakeSession answers each call by its tool's name.
type fakeSession struct {
	run       func(context.Context, scheduler.Request) scheduler.Response
	notices   []string
	recovered int
	closed    int
	bus       *bus.MessageBus // nil: one of its own
}

// Config is one that is never initialized.
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

// byName ends a call as its tool's name says: ok, error, denied, cancelled.
func byName(_ context.Context, r scheduler.Request) scheduler.Response {
	resp := scheduler.Response{CallID: r.CallID, Tool: r.Tool, Params: r.Args,
		Decision: policy.Decision{Decision: policy.Allow, Reason: "test"}}
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

// fettle runs a command line against a session and returns what it printed.
func fettle(t *testing.T, s *fakeSession, stdin io.Reader, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, err bytes.Buffer
	p := &program{in: stdin, out: &out, err: &err, open: func(context.Context, sessionOptions) (session, error) { return s, nil }}
	code = p.run(t.Context(), args)
	return code, out.String(), err.String()
}

// The exit code of a batch is the highest of its calls', 130 > 3 > 1 > 0.
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

// What is too long for a tool is not kept in memory first; a batch goes on
// behind such a line.
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
	} {
		_, _, stderr = fettle(t, &fakeSession{run: byName}, strings.NewReader(text+"\n"), "call", "--batch")
		require.Contains(t, stderr, "line 1: This line is not a call: "+says)
	}

	line, err := readLine(bufio.NewReaderSize(strings.NewReader(strings.Repeat("x", 100)+"\nnext\n"), 16), 40)
	require.NoError(t, err)
	require.Len(t, line, 41)
}

// Each answer is printed before the next line is read.
func TestBatchStreams(t *testing.T) {
	in, feed := io.Pipe()
	answers, out := io.Pipe()
	p := &program{in: in, out: out, err: io.Discard, open: func(context.Context, sessionOptions) (session, error) {
		return &fakeSession{run: byName}, nil
	}}
	done := make(chan int)
	go func() { done <- p.run(t.Context(), []string{"call", "--batch"}) }()
	decoder := json.NewDecoder(answers)
	for range 3 {
		_, err := io.WriteString(feed, `{"tool":"ok"}`+"\n")
		require.NoError(t, err)
		var a map[string]any
		require.NoError(t, decoder.Decode(&a)) // would wait for ever if the answer waited for more input
	}
	require.NoError(t, feed.Close())
	require.Zero(t, <-done)
}

// Ctrl-C while a line is awaited, and while a call runs.
func TestInterrupt(t *testing.T) {
	t.Run("waiting for input", func(t *testing.T) {
		for _, args := range [][]string{{"call", "--batch"}, {"call", "ok", "-"}} {
			in, feed := io.Pipe()
			ctx, cancel := context.WithCancel(t.Context())
			p := &program{in: in, out: io.Discard, err: io.Discard, open: func(context.Context, sessionOptions) (session, error) {
				return &fakeSession{run: byName}, nil
			}}
			done := make(chan int)
			go func() { done <- p.run(ctx, args) }()
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
		p := &program{in: strings.NewReader("{\"tool\":\"x\"}\n{\"tool\":\"ok\"}\n"), out: &out, err: io.Discard,
			open: func(context.Context, sessionOptions) (session, error) { return s, nil }}
		require.Equal(t, 130, p.run(ctx, []string{"call", "--batch"}))
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
	p := &program{in: strings.NewReader(""), out: io.Discard, err: &stderr, open: func(context.Context, sessionOptions) (session, error) {
		return nil, fault.New(fault.InvalidConfig, "test", "There is no such folder.", "Make it.")
	}}
	require.Equal(t, 4, p.run(t.Context(), []string{"tools"}))
	require.Equal(t, "fettle: There is no such folder. Make it.\n", stderr.String())
}

func TestSentence(t *testing.T) {
	for in, want := range map[string]string{"": "", " a b ": "A b.", "Is it?": "Is it?", "élan": "Élan.", "/w/a": "/w/a."} {
		require.Equal(t, want, sentence(in))
	}
}

func TestNameList(t *testing.T) {
	for in, want := range map[string][]string{
		"":                         nil,
		"read_file":                {"read_file"},
		"read_file, edit ,":        {"read_file", "edit"},
		"run(git log,git diff),ls": {"run(git log,git diff)", "ls"},
		"run(a(b,c),d),e":          {"run(a(b,c),d)", "e"},
	} {
		var got []string
		require.NoError(t, (&nameList{names: &got}).Set(in), in)
		require.Equal(t, want, got, in)
	}
	for _, in := range []string{"a(b", "a)b", "a)(b"} {
		var got []string
		require.Error(t, (&nameList{names: &got}).Set(in), in)
	}
}
