// Package configtest provides tests with a complete session in a temporary
// directory: real files, real tools, and calls that run through policy and
// approval, so that an embedder's tests need no fakes.
package configtest

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/fettle-dev/fettle/core/bus"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/tools/tooltest"
)

// Session is an initialized Config over a temporary directory. Its calls require
// approval as in any session; every question is recorded, and answered with
// Answer. It ends with the test.
type Session struct {
	*config.Config
	T   testing.TB
	Dir string // the target directory, absolute, links resolved

	// Answer answers a confirmation; nil approves once. It may change files,
	// which simulates changes while the user decides. It may be called
	// concurrently.
	Answer func(q bus.ToolConfirmationRequest) bus.Outcome
	// Edit returns the content for the answer modify_with_editor.
	Edit func(q bus.ToolConfirmationRequest) string

	answering sync.WaitGroup
	mu        sync.Mutex
	asked     []bus.ToolConfirmationRequest
}

// New returns a Session. Each function of change may alter the parameters, which
// contain a home directory of the test's own and nothing of the environment.
func New(t testing.TB, change ...func(*config.Parameters)) *Session {
	t.Helper()
	s := &Session{T: t, Dir: realDir(t)}
	p := config.Parameters{
		TargetDir:   s.Dir,
		Environment: config.Environment{HomeDir: t.TempDir(), OnDefect: func(err error) { t.Errorf("defect in a tool: %v", err) }},
	}
	for _, f := range change {
		f(&p)
	}
	c, err := config.New(p)
	if err != nil {
		t.Fatalf("config.New: %v", err)
	}
	if err := c.Initialize(context.WithoutCancel(t.Context())); err != nil {
		t.Fatalf("Initialize: %v", err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
		s.answering.Wait()
	})
	s.Config = c
	bus.Subscribe(context.WithoutCancel(t.Context()), c.MessageBus(), s.hear)
	return s
}

func realDir(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// hear records a question and answers it, on a goroutine of its own because
// Answer may call tools that ask in turn.
func (s *Session) hear(_ context.Context, q bus.ToolConfirmationRequest) {
	s.mu.Lock()
	s.asked = append(s.asked, q)
	s.mu.Unlock()
	s.answering.Go(func() {
		answer := bus.ToolConfirmationResponse{CorrelationID: q.CorrelationID, Outcome: bus.Cancel}
		defer func() { _ = s.MessageBus().Publish(answer) }() // even if Answer ends the test; refused if the call has ended
		outcome := bus.ProceedOnce
		if s.Answer != nil {
			outcome = s.Answer(q)
		}
		answer.Outcome = outcome
		answer.Confirmed = answer.Outcome != bus.Cancel
		if answer.Outcome == bus.ModifyWithEditor && s.Edit != nil {
			content := s.Edit(q)
			answer.Payload.NewContent = &content
		}
	})
}

// Confirmations returns the questions that were asked so far.
func (s *Session) Confirmations() []bus.ToolConfirmationRequest {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]bus.ToolConfirmationRequest(nil), s.asked...)
}

// Path returns the absolute path of a name in the directory.
func (s *Session) Path(name string) string { return filepath.Join(s.Dir, name) }

// Write writes a file in the directory, without the session, and returns its
// path.
func (s *Session) Write(name, content string) string {
	s.T.Helper()
	path := s.Path(name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		s.T.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		s.T.Fatal(err)
	}
	return path
}

// Read returns a file's content on disk.
func (s *Session) Read(name string) string {
	s.T.Helper()
	data, err := os.ReadFile(s.Path(name))
	if err != nil {
		s.T.Fatal(err)
	}
	return string(data)
}

// Call runs one tool call, with args a value that marshals to a JSON object,
// through policy and approval.
func (s *Session) Call(tool string, args any) scheduler.Response {
	s.T.Helper()
	return s.CallContext(s.T.Context(), tool, args)
}

// CallContext is Call with a context.
func (s *Session) CallContext(ctx context.Context, tool string, args any) scheduler.Response {
	s.T.Helper()
	return Call(ctx, s.T, s.Config, tool, args)
}

// Call runs one tool call on any Config, for example a derived one. A result that
// does not match the tool's OutputSchema fails the test, unless a step after the
// call has replaced it.
func Call(ctx context.Context, t testing.TB, c *config.Config, tool string, args any) scheduler.Response {
	t.Helper()
	raw, err := json.Marshal(args)
	if err != nil {
		t.Fatalf("arguments of %s: %v", tool, err)
	}
	run, err := c.Scheduler()
	if err != nil {
		t.Fatalf("Scheduler: %v", err)
	}
	r := run.Run(ctx, scheduler.Request{Tool: tool, Args: raw})
	if registry, err := c.ToolRegistry(); err == nil && !r.Replaced {
		if found, err := registry.Lookup(tool); err == nil {
			tooltest.CheckResult(t, found.Spec(), r.Result)
		}
	}
	return r
}

// Decode decodes the JSON content of a response into a value of type R, refusing
// unknown keys.
func Decode[R any](t testing.TB, r scheduler.Response) R {
	t.Helper()
	var v R
	d := json.NewDecoder(strings.NewReader(r.Result.LLMContent.String()))
	d.DisallowUnknownFields()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("content of %s is not %T: %v\n%s", r.Tool, v, err, r.Result.LLMContent.String())
	}
	return v
}
