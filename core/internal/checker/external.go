package checker

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/fettle-dev/fettle/core/policy"
)

// protocolVersion is the version of the following messages.
const protocolVersion = "1.0.0"

// question is the input of a program on stdin.
type question struct {
	ProtocolVersion string         `json:"protocolVersion"`
	ToolCall        ToolCall       `json:"toolCall"`
	Context         situation      `json:"context"`
	Config          map[string]any `json:"config,omitempty"`
}

type situation struct {
	Environment *environment `json:"environment,omitempty"`
	History     *history     `json:"history,omitempty"`
}

type environment struct {
	CWD        string   `json:"cwd"`
	Workspaces []string `json:"workspaces"`
}

type history struct {
	Turns []Turn `json:"turns"`
}

// answer is the output of a program on stdout.
type answer struct {
	Decision policy.Verdict `json:"decision"`
	Reason   string         `json:"reason"`
	Error    string         `json:"error"`
}

// The parts of the context that a checker can require.
const (
	contextEnvironment = "environment"
	contextHistory     = "history"
)

// external runs a program.
func (r *Runner) external(ctx context.Context, ch policy.Checker, c policy.Call) (policy.Verdict, string, error) {
	path, ok := r.options.Programs[ch.Name]
	if !ok {
		return policy.Deny, "", errors.New("there is no program of that name")
	}
	if !filepath.IsAbs(path) {
		return policy.Deny, "", fmt.Errorf("the path %q of its program is not absolute", path)
	}
	input, err := r.question(ch, c)
	if err != nil {
		return policy.Deny, "", err
	}
	output, err := r.ask(ctx, path, input)
	if err != nil {
		return policy.Deny, "", err
	}
	return verdictOf(output)
}

// question encodes the call as JSON.
func (r *Runner) question(ch policy.Checker, c policy.Call) ([]byte, error) {
	dir, roots := r.dirs(c)
	q := question{
		ProtocolVersion: protocolVersion,
		ToolCall:        ToolCall{Name: c.Tool, Args: c.Params},
		Config:          ch.Config,
	}
	if len(c.Params) == 0 {
		q.ToolCall.Args = json.RawMessage("{}")
	}
	required := ch.RequiredContext
	if required == nil {
		required = []string{contextEnvironment}
		if r.options.History != nil {
			required = append(required, contextHistory)
		}
	}
	for _, part := range required {
		switch part {
		case contextEnvironment:
			q.Context.Environment = &environment{CWD: dir, Workspaces: append([]string{}, roots...)}
		case contextHistory:
			if r.options.History == nil {
				return nil, errors.New("it requires the conversation, which is not available")
			}
			q.Context.History = &history{Turns: append([]Turn{}, r.options.History()...)}
		default:
			return nil, fmt.Errorf("it requires %.40q, which is no part of the context", part)
		}
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(q); err != nil {
		return nil, fmt.Errorf("the call cannot be put as JSON: %w", err)
	}
	return b.Bytes(), nil
}

// verdictOf parses a program's answer.
func verdictOf(output []byte) (policy.Verdict, string, error) {
	var a answer
	d := json.NewDecoder(bytes.NewReader(output))
	if err := d.Decode(&a); err != nil {
		return policy.Deny, "", fmt.Errorf("its answer is no JSON object: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return policy.Deny, "", errors.New("something follows its answer")
	}
	if a.Error != "" {
		return policy.Deny, "", fmt.Errorf("it reported an error: %.300s", a.Error)
	}
	a.Reason = strings.TrimSpace(a.Reason)
	switch a.Decision {
	case policy.Allow:
		a.Reason = cmp.Or(a.Reason, "The checker has no objection.")
	case policy.Deny, policy.AskUser:
		if a.Reason == "" {
			return policy.Deny, "", fmt.Errorf("it answered %s without a reason", a.Decision)
		}
	default:
		return policy.Deny, "", fmt.Errorf("its decision %.40q is none of allow, deny, ask_user", a.Decision)
	}
	return a.Decision, a.Reason, nil
}

// maxOutput limits a program's answer, in bytes.
const maxOutput = 1 << 20

// maxComplaint limits the kept part of a program's stderr, in bytes.
const maxComplaint = 4 << 10

// ask runs a program with input on stdin and returns its stdout. When it returns,
// the program has ended, and on Unix also all its descendants in its session.
func (r *Runner) ask(ctx context.Context, path string, input []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, r.options.Timeout, fmt.Errorf("no answer within %v", r.options.Timeout))
	defer cancel()
	cmd := exec.CommandContext(ctx, path) //nolint:gosec // the person's own program
	cmd.Dir = r.options.Dir
	cmd.Env = r.environment()
	cmd.Stdin = bytes.NewReader(input)
	stdout, stderr := &output{limit: maxOutput}, &output{limit: maxComplaint, drops: true}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	cmd.WaitDelay = r.options.Grace
	isolate(cmd)
	cmd.Cancel = func() error { return terminate(cmd) }
	err := cmd.Run()
	killRest(cmd)
	if len(stderr.data) > 0 {
		r.options.Logger.DebugContext(ctx, "safety checker", "program", path, "stderr", string(stderr.data))
	}
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case stdout.full:
		return nil, fmt.Errorf("it wrote more than %d bytes", maxOutput)
	case err != nil && !errors.Is(err, exec.ErrWaitDelay): // that error: the program succeeded, and a descendant has not ended
		return nil, fmt.Errorf("its program failed: %w", err)
	}
	return stdout.data, nil
}

// environment returns the environment of a program.
func (r *Runner) environment() []string {
	env := []string{} // nil would mean all variables
	for _, name := range []string{"PATH", "HOME", "LANG", "TMPDIR"} {
		if value := r.options.Getenv(name); value != "" {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// output keeps its input up to a limit. Further input is an error, or dropped.
type output struct {
	limit int
	drops bool
	full  bool
	data  []byte
}

func (o *output) Write(p []byte) (int, error) {
	room := o.limit - len(o.data)
	if len(p) <= room {
		o.data = append(o.data, p...)
		return len(p), nil
	}
	o.full = true
	o.data = append(o.data, p[:room]...)
	if o.drops {
		return len(p), nil
	}
	return room, errors.New("too much output")
}
