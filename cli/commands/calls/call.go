// Package calls implements the commands that run tools without a model and describe
// them: call, tools and demo.
package calls

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/cli/internal/program"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/scheduler"
	"github.com/fettle-dev/fettle/core/tools"
)

// CallCommand returns the fettle call command.
func CallCommand(p *program.Program, g *program.Flags) *cobra.Command {
	var batch bool
	cmd := &cobra.Command{
		Use:   "call TOOL [JSON|-]",
		Short: "Call one tool, or with --batch a session of calls",
		Long: `Runs one tool call through the scheduler and prints its result as one JSON
object. The arguments are JSON; "-" reads them from stdin; the default is {}.

With --batch each line of stdin is a call, {"tool": NAME, "args": {…}}. The calls run
in one session, in order, and each is answered by one line.

A call that needs approval is shown on the terminal. Without a terminal it is
denied, and the denial names the flag that would allow it.`,
		Example: `  fettle call read_file '{"file_path":"go.mod"}'
  fettle call list_directory '{"dir_path":"."}'
  fettle --approval-mode auto_edit call --batch < calls.jsonl`,
		Args: func(_ *cobra.Command, args []string) error { return program.CallArguments(args, batch) },
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			o := program.SessionOptions{Flags: g, SignIn: p.SignIn()}
			if batch {
				o.Watch = true
				return withCalls(ctx, p, o, true, func(s program.Session) error {
					defer program.ReportHooks(ctx, p, s)()
					return callBatch(ctx, p, s)
				})
			}
			params := json.RawMessage("{}")
			if len(args) == 2 {
				var err error
				if params, err = program.Arguments(ctx, p, args[1]); err != nil {
					return err
				}
			}
			stdinUsed := len(args) == 2 && args[1] == "-"
			return withCalls(ctx, p, o, stdinUsed, func(s program.Session) error {
				defer program.ReportHooks(ctx, p, s)()
				r := connectAndRun(ctx, s, scheduler.Request{CallID: "1", Tool: args[0], Args: params})
				showPreview(p, r)
				a := answerOf(r)
				if err := program.PrintJSON(p.Out, a); err != nil {
					return err
				}
				printNotices(p, a)
				if a.Error != nil {
					p.PrintError(a.Error)
				}
				return a.exit()
			})
		},
		ValidArgsFunction: program.CompleteTools(p, g),
	}
	cmd.Flags().BoolVar(&batch, "batch", false, "run the calls on stdin, one per line")
	return cmd
}

// connectAndRun runs a call after connecting the MCP servers that it needs. A tool
// that is missing because its server failed is answered with the server's error.
func connectAndRun(ctx context.Context, s program.Session, r scheduler.Request) scheduler.Response {
	if missing := fault.As(s.ConnectFor(ctx, r.Tool)); missing != nil {
		return scheduler.Response{CallID: r.CallID, Tool: r.Tool, Status: scheduler.StatusError, Result: tools.Fail(missing)}
	}
	return s.Run(ctx, r)
}

// batchLine is one call of a batch.
type batchLine struct {
	Tool string          `json:"tool"`
	Args json.RawMessage `json:"args"`
}

// callBatch answers the calls on stdin line by line. Blank lines are skipped; an
// invalid line is answered with an error and the session continues.
func callBatch(ctx context.Context, p *program.Program, s program.Session) error {
	return program.EachLine(ctx, p, func(line int, text []byte) (program.ExitCode, error) {
		a := batchAnswer(ctx, p, s, line, text)
		if err := program.PrintJSON(p.Out, a); err != nil {
			return program.ExitToolError, err
		}
		printNotices(p, a)
		program.ReportFailure(p, line, a.Error)
		return a.code(), nil
	})
}

func batchAnswer(ctx context.Context, p *program.Program, s program.Session, line int, text []byte) answer {
	var call batchLine
	if err := decodeCall(text, &call); err != nil {
		return answer{Tool: call.Tool, Status: scheduler.StatusError, Error: program.AsFault(err)}
	}
	r := connectAndRun(ctx, s, scheduler.Request{CallID: fmt.Sprint(line), Tool: call.Tool, Args: call.Args})
	showPreview(p, r)
	return answerOf(r)
}

// decodeCall decodes a line of a batch strictly.
func decodeCall(text []byte, call *batchLine) error {
	if err := program.DecodeLine(text, call); err != nil {
		return err
	}
	if call.Tool == "" {
		return program.InvalidCall(errors.New(`it has no "tool"`))
	}
	if call.Args == nil {
		call.Args = json.RawMessage("{}")
	}
	return nil
}

// answer is the JSON output for a call.
type answer struct {
	Tool     string           `json:"tool"`
	Status   scheduler.Status `json:"status"`
	Result   any              `json:"result,omitempty"`  // the JSON of the tool, otherwise its text, otherwise its parts
	Context  string           `json:"context,omitempty"` // context that hooks add for the model
	Display  *tools.Display   `json:"display,omitempty"` // for the user
	Error    *fault.Error     `json:"error,omitempty"`
	Decision *policy.Decision `json:"decision,omitempty"` // absent if the call failed before the policy was evaluated
	Notices  []string         `json:"notices,omitempty"`  // other events, such as an approval that could not be stored
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

// printNotices prints the notices of a call, one per line.
func printNotices(p *program.Program, a answer) {
	for _, notice := range a.Notices {
		p.PrintError(errors.New(notice))
	}
}

// code returns the exit code for a call. More severe results have higher codes, so
// the highest one is the code of a batch.
func (a answer) code() program.ExitCode {
	switch a.Status {
	case scheduler.StatusSuccess:
		return program.ExitDone
	case scheduler.StatusDenied:
		return program.ExitDenied
	case scheduler.StatusCancelled:
		return program.ExitInterrupted
	default:
		return program.ExitToolError
	}
}

// exit returns the exit code as an error that has been reported.
func (a answer) exit() error {
	if c := a.code(); c != program.ExitDone {
		return &program.ExitError{Code: c}
	}
	return nil
}
