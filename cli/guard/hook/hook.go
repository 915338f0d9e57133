// Package hook answers the pre-tool hooks of other agents: one request in, one answer
// out, in the form that the client documents. It maps the client's tools to fettle's,
// and its answers only make the client stricter. It knows no rules; package decide does.
package hook

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/fettle-dev/fettle/cli/guard"
	"github.com/fettle-dev/fettle/cli/guard/decide"
	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/jsonkeys"
	"github.com/fettle-dev/fettle/core/policy"
)

// maxRequest is the maximum size of a request, in bytes.
const maxRequest = 32 << 20

// maxReason is the maximum length of a reason, in characters.
const maxReason = 1500

// options are the flags of the command.
type options struct {
	client, dir, layout, mode, timeout string
	policy                             []string
	grant, headless, noAsk             bool
}

// Command returns the command hook.
func Command() guard.Command {
	return guard.Command{
		Name: "hook",
		Usage: `hook --client claude|gemini|codex|cursor    answer a pre-tool hook on stdin
      --grant               allow calls that a rule allows, instead of leaving them to the client
      --dir DIR             the project's directory (default: the client's, else the current one)
      --policy PATH         policy file or directory instead of the user's; repeatable
      --layout fettle|gemini
      --approval-mode MODE  as for fettle (default: default)
      --no-ask              deny calls that require approval
      --headless            no approver is available
      --timeout DURATION    deny after this time (default: 5s)`,
		Run: func(ctx context.Context, s guard.Streams, args []string) int { return run(ctx, s, args, answer) },
	}
}

// run answers one request. Whatever fails, also a panic and the time limit, blocks the
// call: the exit code is 2, the reason is on stderr, and for a client that expects an
// object there too on stdout.
func run(ctx context.Context, s guard.Streams, args []string, answer func(context.Context, *options, *client, []byte) (any, error)) int {
	o := options{timeout: "5s"}
	rest, err := guard.ParseFlags(args,
		guard.Flag{Name: "client", Value: &o.client, Of: slices.Sorted(maps.Keys(clients()))},
		guard.Flag{Name: "dir", Value: &o.dir}, guard.Flag{Name: "layout", Value: &o.layout, Of: []string{"fettle", "gemini"}},
		guard.Flag{Name: "approval-mode", Value: &o.mode}, guard.Flag{Name: "timeout", Value: &o.timeout},
		guard.Flag{Name: "policy", Values: &o.policy},
		guard.Flag{Name: "grant", Set: &o.grant}, guard.Flag{Name: "headless", Set: &o.headless}, guard.Flag{Name: "no-ask", Set: &o.noAsk})
	c := clients()[o.client]
	limit, badTime := time.ParseDuration(o.timeout)
	switch {
	case err != nil:
	case len(rest) > 0:
		err = fmt.Errorf("unexpected argument %.40q", rest[0])
	case c == nil:
		err = errors.New("--client is missing: give claude, gemini, codex or cursor")
	case badTime != nil || limit <= 0:
		err = fmt.Errorf("--timeout %.40q is not a duration such as 5s", o.timeout)
	}
	if err != nil {
		return block(s, c, err)
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	late := fmt.Errorf("no decision within %s", o.timeout)
	type outcome struct {
		answer any
		err    error
	}
	done := make(chan outcome, 1) // a read of stdin cannot be cancelled; the process ends with it
	go func() {
		var out outcome
		defer func() {
			if r := recover(); r != nil {
				out = outcome{err: fmt.Errorf("internal error: %v", r)}
			}
			done <- out
		}()
		request, err := io.ReadAll(io.LimitReader(s.In, maxRequest+1))
		switch {
		case err != nil:
			out.err = fmt.Errorf("read the request: %w", err)
		case len(request) > maxRequest:
			out.err = fmt.Errorf("the request is longer than %d MiB", maxRequest>>20)
		default:
			out.answer, out.err = answer(ctx, &o, c, request)
		}
	}()
	select {
	case out := <-done:
		switch {
		case ctx.Err() != nil: // what the decision is based on may be incomplete
			return block(s, c, late)
		case out.err != nil:
			return block(s, c, out.err)
		case out.answer == nil:
			return guard.ExitDone
		}
		if err := write(s.Out, out.answer); err != nil {
			return block(s, nil, fmt.Errorf("write the answer: %w", err))
		}
		return guard.ExitDone
	case <-ctx.Done():
		return block(s, c, late)
	}
}

// discards reports whether the output of a stream is lost, as that of a closed stdout, for
// which the runtime opens the null device.
func discards(w io.Writer) bool {
	file, ok := w.(*os.File)
	if !ok {
		return false
	}
	own, err := file.Stat()
	null, noNull := os.Stat(os.DevNull)
	return err != nil || noNull == nil && os.SameFile(own, null)
}

// block reports an error in the client's blocking form.
func block(s guard.Streams, c *client, err error) int {
	text := err.Error()
	if f := fault.As(err); f != nil {
		text = f.Line()
	}
	text = escape.Clip("fettle-guard denies the call, because it cannot decide: "+escape.Line(text), maxReason)
	if c != nil && c.blocksByJSON {
		_ = write(s.Out, c.form("", policy.Deny, text)) // the exit code blocks too
	}
	_, _ = fmt.Fprintln(s.Err, text) // likewise
	return guard.ExitBlocked
}

// write writes an answer as one line of JSON.
func write(w io.Writer, answer any) error {
	if discards(w) {
		return errors.New("stdout is closed")
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(answer); err != nil {
		return err
	}
	_, err := w.Write(b.Bytes())
	return err
}

// request holds the fields of all clients' requests.
type request struct {
	Event     string          `json:"hook_event_name"`
	Tool      string          `json:"tool_name"`
	Input     json.RawMessage `json:"tool_input"`
	Cwd       string          `json:"cwd"`
	Mode      string          `json:"permission_mode"` // Claude Code, Codex
	Agent     string          `json:"agent_type"`      // of a subagent
	Workspace []string        `json:"workspace_roots"` // Cursor
	MCP       *struct {       // Gemini CLI
		Server string `json:"server_name"`
		Tool   string `json:"tool_name"`
	} `json:"mcp_context"`
	Command string `json:"command"`   // Cursor's beforeShellExecution
	File    string `json:"file_path"` // Cursor's beforeReadFile
}

// answer decides about a request and returns the answer; nil prints nothing.
func answer(ctx context.Context, o *options, c *client, text []byte) (any, error) {
	var r request
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, fmt.Errorf("the request is not the JSON of a hook: %w", err)
	}
	if err := jsonkeys.Check(text, 2); err != nil { // 2: also in its arguments
		return nil, fmt.Errorf("the request is unclear: %w", err)
	}
	kind, ok := c.events[r.Event]
	switch {
	case !ok:
		return nil, fmt.Errorf("the event %.40q is not one before a tool call", r.Event)
	case kind == after:
		return c.silence, nil
	}
	mode, err := modeOf(o.mode, r.Mode)
	if err != nil {
		return nil, err
	}
	dir := c.dir(o.dir, &r)
	calls, err := c.calls(&r, kind, dir)
	if err != nil {
		return nil, err
	}
	e, err := decide.Open(ctx, decide.Options{Dir: dir, Layout: o.layout, Policy: o.policy, Grants: o.grant})
	if err != nil {
		return nil, err
	}
	defer func() { _ = e.Close() }() // nothing is open in it
	var d policy.Decision
	for i, call := range calls {
		call.Mode, call.Headless, call.Subagent = mode, o.headless, r.Agent
		one, err := e.Decide(ctx, call)
		if err != nil {
			return nil, err
		}
		if i == 0 || policy.Stricter(d.Decision, one.Decision) != d.Decision {
			d = one
		}
	}
	return c.reply(o, kind, r.Event, &d), nil
}

// reply returns the answer for a decision.
func (c *client) reply(o *options, kind event, name string, d *policy.Decision) any {
	verdict, reason := d.Decision, reasonOf(d)
	if verdict == policy.AskUser && kind == approval {
		return c.silence // the client is asking already
	}
	if verdict == policy.AskUser && (o.noAsk || o.headless || c.asks[name] == no) {
		verdict, reason = policy.Deny, reason+" The call requires approval, for which this hook cannot ask."
	}
	if verdict == policy.Allow && (!o.grant || c.grants[name] == no) {
		return c.silence
	}
	return c.form(name, verdict, reason)
}

// reasonOf returns the reason of a decision for the user and the model, with the rule.
func reasonOf(d *policy.Decision) string {
	parts := []string{cmp.Or(d.Message, d.Reason)}
	if d.Source != "" && d.Source != policy.BuiltIn {
		place := d.Source
		if d.Line > 0 {
			place = fmt.Sprintf("%s:%d", place, d.Line)
		}
		parts = append(parts, "Rule: "+place+".")
	}
	if d.Decision != policy.Allow && d.Remedy != "" {
		parts = append(parts, d.Remedy)
	}
	return escape.Clip(escape.Line("fettle: "+strings.Join(parts, " ")), maxReason)
}

// modeOf returns the stricter of the mode of the command line and the client's. Of the
// client's modes only plan counts: no other mode of a client loosens the policy.
func modeOf(flag, clients string) (policy.ApprovalMode, error) {
	if flag == "" && clients != "plan" {
		return "", nil
	}
	mode, err := policy.ParseApprovalMode(flag)
	if err == nil && clients == "plan" && policy.ModePlan.Stricter(mode) {
		mode = policy.ModePlan
	}
	return mode, err
}

// dir returns the project's directory: that of the command line, of the client's
// variables, of its workspace, or the one in which it works.
func (c *client) dir(flag string, r *request) string {
	for _, name := range c.variables {
		flag = cmp.Or(flag, os.Getenv(name))
	}
	if flag == "" && len(r.Workspace) > 0 {
		flag = r.Workspace[0]
	}
	return cmp.Or(flag, r.Cwd)
}
