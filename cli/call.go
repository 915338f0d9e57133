package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/tools"
)

func (p *program) callCommand(g *globalFlags) *cobra.Command {
	var batch bool
	cmd := &cobra.Command{
		Use:   "call TOOL [JSON|-]",
		Short: "Call one tool, or with --batch a session of calls",
		Long: `Calls one tool through the whole pipeline and prints its answer as one JSON
object. The arguments are JSON; "-" reads them from stdin; left out they are {}.

With --batch each line of stdin is a call, {"tool": NAME, "args": {…}}. They run
in one session, in order, and each is answered by one line.

A call that needs approval is shown on the terminal. Without a terminal it is
refused, and the refusal names the flag that would allow it.`,
		Example: `  fettle call read_file '{"file_path":"go.mod"}'
  fettle call list_directory '{"dir_path":"."}'
  fettle --approval-mode auto_edit call --batch < calls.jsonl`,
		Args: func(_ *cobra.Command, args []string) error { return callArguments(args, batch) },
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			o := sessionOptions{flags: g, signIn: p.signIn()}
			if batch {
				o.watch = true
				return p.withCalls(ctx, o, true, func(s session) error {
					defer p.hear(ctx, s)()
					return p.callBatch(ctx, s)
				})
			}
			params := json.RawMessage("{}")
			if len(args) == 2 {
				var err error
				if params, err = p.arguments(ctx, args[1]); err != nil {
					return err
				}
			}
			stdinTaken := len(args) == 2 && args[1] == "-"
			return p.withCalls(ctx, o, stdinTaken, func(s session) error {
				defer p.hear(ctx, s)()
				r := connectAndRun(ctx, s, scheduler.Request{CallID: "1", Tool: args[0], Args: params})
				p.showPreview(r)
				a := answerOf(r)
				if err := printJSON(p.out, a); err != nil {
					return err
				}
				p.tellNotices(a)
				if a.Error != nil {
					p.complain(a.Error)
				}
				return a.exit()
			})
		},
		ValidArgsFunction: p.completeTools(g),
	}
	cmd.Flags().BoolVar(&batch, "batch", false, "run the calls that stdin lists, one a line")
	return cmd
}

// connectAndRun runs a call, with the MCP servers that it needs. A tool that is not
// there since its server is not is answered with what is wrong with that.
func connectAndRun(ctx context.Context, s session, r scheduler.Request) scheduler.Response {
	if missing := fault.As(s.ConnectFor(ctx, r.Tool)); missing != nil {
		return scheduler.Response{CallID: r.CallID, Tool: r.Tool, Status: scheduler.StatusError, Result: tools.Fail(missing)}
	}
	return s.Run(ctx, r)
}

// arguments returns the JSON of a call: the argument itself, or stdin for "-".
func (p *program) arguments(ctx context.Context, arg string) (json.RawMessage, error) {
	data := []byte(arg)
	if arg == "-" {
		var err error
		if data, err = awaitRead(ctx, func() ([]byte, error) { return io.ReadAll(io.LimitReader(p.in, tools.MaxJSONBytes+1)) }); err != nil {
			return nil, err
		}
		if len(data) > tools.MaxJSONBytes {
			return nil, usageError(fmt.Sprintf("The arguments on stdin are longer than %d MiB.", tools.MaxJSONBytes>>20), "Split the work into several calls.")
		}
	}
	if err := checkJSON(data); err != nil {
		return nil, usageError("The arguments are not JSON: "+err.Error()+".", `Send one JSON object, as {"file_path": "go.mod"}.`)
	}
	return data, nil
}

// checkJSON reports why data is not exactly one JSON text.
func checkJSON(data []byte) error {
	if !utf8.Valid(data) {
		return errors.New("they are not valid UTF-8")
	}
	if len(bytes.TrimSpace(data)) == 0 {
		return errors.New("they are empty")
	}
	var v json.RawMessage
	return json.Unmarshal(data, &v)
}

// awaitRead runs a read that no context can stop and returns early when ctx
// ends; the read is then abandoned, as the process is about to end.
func awaitRead(ctx context.Context, read func() ([]byte, error)) ([]byte, error) {
	type outcome struct {
		data []byte
		err  error
	}
	done := make(chan outcome, 1)
	go func() {
		data, err := read()
		done <- outcome{data, err}
	}()
	select {
	case o := <-done:
		return o.data, o.err
	case <-ctx.Done():
		return nil, interrupted()
	}
}

// batchLine is one call of a batch.
type batchLine struct {
	Tool string          `json:"tool"`
	Args json.RawMessage `json:"args"`
}

// callBatch answers the calls on stdin line by line. Blank lines are skipped;
// a line that is no call is answered with an error and the session goes on.
func (p *program) callBatch(ctx context.Context, s session) error {
	return p.eachLine(ctx, func(line int, text []byte) (exitCode, error) {
		a := p.batchAnswer(ctx, s, line, text)
		if err := printJSON(p.out, a); err != nil {
			return exitToolError, err
		}
		p.tellNotices(a)
		p.tellFailure(line, a.Error)
		return a.code(), nil
	})
}

func (p *program) batchAnswer(ctx context.Context, s session, line int, text []byte) answer {
	var call batchLine
	if err := decodeCall(text, &call); err != nil {
		return answer{Tool: call.Tool, Status: scheduler.StatusError, Error: asFault(err)}
	}
	r := connectAndRun(ctx, s, scheduler.Request{CallID: fmt.Sprint(line), Tool: call.Tool, Args: call.Args})
	p.showPreview(r)
	return answerOf(r)
}

// decodeCall reads a line of a batch strictly.
func decodeCall(text []byte, call *batchLine) error {
	if err := decodeLine(text, call); err != nil {
		return err
	}
	if call.Tool == "" {
		return notACall(errors.New(`it has no "tool"`))
	}
	if call.Args == nil {
		call.Args = json.RawMessage("{}")
	}
	return nil
}

// answer is what a call prints.
type answer struct {
	Tool     string           `json:"tool"`
	Status   scheduler.Status `json:"status"`
	Result   any              `json:"result,omitempty"`  // the tool's JSON, else its text, else its parts
	Context  string           `json:"context,omitempty"` // what hooks add for a model
	Display  *tools.Display   `json:"display,omitempty"` // for people
	Error    *fault.Error     `json:"error,omitempty"`
	Decision *policy.Decision `json:"decision,omitempty"` // absent where the call never got that far
	Notices  []string         `json:"notices,omitempty"`  // what else happened, as an approval that could not be remembered
}

func answerOf(r scheduler.Response) answer {
	a := answer{Tool: r.Tool, Status: r.Status, Context: r.Result.Context, Error: r.Result.Error, Display: &r.Result.ReturnDisplay, Notices: r.Notices}
	switch content := r.Result.LLMContent; {
	case content.IsJSON():
		a.Result = json.RawMessage(content.String())
	case len(content.Parts) > 0:
		a.Result = content
	}
	if r.Decision.Decision != "" {
		a.Decision = &r.Decision
	}
	return a
}

// tellNotices prints what a person should know of a call, one line each.
func (p *program) tellNotices(a answer) {
	for _, notice := range a.Notices {
		p.complain(errors.New(notice))
	}
}

// code is the exit code that a call stands for. Codes grow with their weight,
// so the highest is a batch's.
func (a answer) code() exitCode {
	switch a.Status {
	case scheduler.StatusSuccess:
		return exitDone
	case scheduler.StatusDenied:
		return exitDenied
	case scheduler.StatusCancelled:
		return exitInterrupted
	default:
		return exitToolError
	}
}

// exit is code as an error that has been reported.
func (a answer) exit() error {
	if c := a.code(); c != exitDone {
		return &exitError{code: c}
	}
	return nil
}
