package custom

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/internal/program"
	"github.com/fettle-dev/fettle/cli/internal/userfiles"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/hooks"
	"github.com/fettle-dev/fettle/core/hooks/hookresult"
)

func hooksTestCommand(p *program.Program, g *program.Flags) *cobra.Command {
	var asJSON bool
	var tool, input string
	cmd := &cobra.Command{
		Use:   "test EVENT",
		Short: "Run the hooks of an event with sample input and print their effect",
		Long: `Runs the hooks that a session would run at an event, and prints the result of each
hook, its parsed output, and the combined effect. Nothing else happens: no tool is
called, no model is used, and no hook is approved. --input sets members of the hook
input, which replace those of the sample.`,
		Example: `  fettle hooks test BeforeTool --tool write_file
  fettle hooks test BeforeTool --tool run_shell_command --input '{"tool_input": {"command": "rm x"}}'
  fettle hooks test SessionStart --input '{"source": "resume"}'`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return errNoEvent("")
			}
			if !slices.Contains(hooks.Events(), hooks.Event(args[0])) {
				return errNoEvent(args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			in := sampleInput(hooks.Event(args[0]), tool)
			if input != "" {
				data, err := program.Arguments(cmd.Context(), p, input)
				if err == nil {
					err = overSample(&in, data)
				}
				if err != nil {
					return err
				}
			}
			return userfiles.WithHooks(cmd.Context(), p, g, func(c *config.Config) error { return tryHooks(cmd.Context(), p, c, in, asJSON) })
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) (names []cobra.Completion, _ cobra.ShellCompDirective) {
			if len(args) == 0 {
				for _, e := range hooks.Events() {
					names = append(names, string(e))
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
	}
	cmd.Flags().StringVar(&tool, "tool", "run_shell_command", "`name` of the called tool, for BeforeTool and AfterTool")
	cmd.Flags().StringVar(&input, "input", "", "`JSON` object that overrides the sample; - reads it from stdin")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// overSample merges given members into a sample; its event cannot be changed.
func overSample(in *hooks.Input, data json.RawMessage) error {
	event := in.Event
	if text := strings.TrimSpace(string(data)); !strings.HasPrefix(text, "{") {
		return program.UsageError("--input is not a JSON object.", `Example: --input '{"tool_input": {"command": "ls"}}'.`)
	}
	if err := json.Unmarshal(data, in); err != nil {
		return program.UsageError("--input has a member of the wrong type: "+err.Error()+".", "docs/hooks.md lists the members.")
	}
	in.Event = event
	return nil
}

// tryHooks runs the hooks and prints their results.
func tryHooks(ctx context.Context, p *program.Program, c *config.Config, in hooks.Input, asJSON bool) error {
	heard := program.ListenHooks(ctx, c.MessageBus())
	effect, err := c.Hooks().Try(ctx, in)
	if err != nil {
		return err
	}
	heard.Report(ctx, p.PrintNotice, p.PrintNotice) // reports the hooks that do not run
	if ctx.Err() != nil {
		return program.Interrupted()
	}
	trial := trialOf(in.Event, effect)
	if asJSON {
		return program.PrintJSON(p.Out, trial)
	}
	var b strings.Builder
	if len(trial.Hooks) == 0 {
		fmt.Fprintf(&b, "No hook runs at %s for this input.\n", in.Event)
	}
	for _, h := range trial.Hooks {
		fmt.Fprintf(&b, "%s: %s in %s\n", escape.Clip(display.Line(h.Hook), display.ListingWidth), endOf(h), time.Duration(h.Took)*time.Millisecond)
		trialFact(&b, "from", h.Place)
		trialFact(&b, "stdout", escape.Clip(display.Line(h.Stdout), display.ListingWidth))
		trialFact(&b, "stderr", escape.Clip(display.Line(h.Stderr), display.ListingWidth))
		trialFact(&b, "output", compactJSON(h.Output))
		for _, w := range h.Warnings {
			trialFact(&b, "warning", display.Line(w))
		}
	}
	fmt.Fprintf(&b, "effect: %s\n", compactJSON(trial.Want))
	_, err = io.WriteString(p.Out, b.String())
	return err
}

func trialFact(b *strings.Builder, name, text string) {
	if text != "" && text != "{}" {
		fmt.Fprintf(b, "  %-8s %s\n", name+":", text)
	}
}

// endOf describes the end of a hook.
func endOf(h hookTrialOf) string {
	switch {
	case h.TimedOut:
		return "timed out"
	case h.Signal != "":
		return "ended by " + h.Signal
	}
	return fmt.Sprintf("exit code %d", h.Exit)
}

// compactJSON returns a value as JSON on one line.
func compactJSON(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return "" // plain values can be encoded
	}
	return display.Line(string(text))
}

// trialOf returns the results of hooks and their effect.
func trialOf(e hooks.Event, effect hookresult.Effect) hookTrial {
	t := hookTrial{Event: e, Hooks: []hookTrialOf{}, Want: hookTrialEffect{
		Stop: effect.Stop, StopReason: effect.StopReason, Decision: effect.Decision, Reason: effect.Reason, By: effect.By, Context: effect.AdditionalContext,
	}}
	for _, m := range effect.Messages {
		t.Want.Messages = append(t.Want.Messages, m.Text)
	}
	s := hooks.Specific{
		ToolInput: effect.ToolInput, TailToolCall: effect.TailToolCall, ClearContext: effect.ClearContext,
		LLMRequest: effect.LLMRequest, LLMResponse: effect.LLMResponse, ToolConfig: effect.ToolConfig,
	}
	if compactJSON(s) != "{}" {
		t.Want.Specific = &s
	}
	for _, ran := range effect.Ran {
		t.Hooks = append(t.Hooks, hookTrialOf{
			Hook: ran.Hook.Label(), Place: ran.Hook.Place(), Exit: ran.Exit, Signal: ran.Signal, TimedOut: ran.TimedOut,
			Took: ran.Duration.Milliseconds(), Stdout: ran.Stdout, Stderr: ran.Stderr, Output: ran.Output, Warnings: ran.Warnings,
		})
	}
	return t
}
