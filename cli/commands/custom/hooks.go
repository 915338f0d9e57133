// Package custom implements the commands for user-defined extensions of a session:
// hooks, skills and subagents.
package custom

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/internal/program"
	"github.com/fettle-dev/fettle/cli/internal/userfiles"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/hooks"
	"github.com/fettle-dev/fettle/core/hooks/hookresult"
)

// HooksCommand returns the fettle hooks command.
func HooksCommand(p *program.Program, g *program.Flags) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "hooks",
		Short: "List, test, approve and disable hooks",
		Args:  program.KnownSubcommand,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.SuggestionsMinimumDistance = 2
	cmd.AddCommand(hooksListCommand(p, g), hooksTestCommand(p, g), hooksTrustCommand(p, g), hooksSwitchCommand(p, g, true), hooksSwitchCommand(p, g, false))
	return cmd
}

func hooksListCommand(p *program.Program, g *program.Flags) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the hooks in the order of execution, with their state",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return userfiles.WithHooks(cmd.Context(), p, g, func(c *config.Config) error { return listHooks(cmd.Context(), p, c, asJSON) })
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func listHooks(ctx context.Context, p *program.Program, c *config.Config, asJSON bool) error {
	all, err := c.Hooks().List(ctx)
	if err != nil {
		return err
	}
	list := make([]userfiles.Hook, len(all))
	for i, h := range all {
		list[i] = userfiles.HookOf(h)
	}
	if set, err := c.Settings().Current(); err == nil && !set.HooksConfig.Enabled {
		p.PrintNotice("All hooks are disabled: hooksConfig.enabled is false. fettle config show hooksConfig.enabled --origin shows the file.")
	}
	if asJSON {
		return program.PrintJSON(p.Out, list)
	}
	var b strings.Builder
	for _, l := range list {
		matcher := ""
		if l.Matcher != "" {
			matcher = " (" + l.Matcher + ")"
		}
		place := string(l.Source)
		if l.Extension != "" {
			place += " " + l.Extension
		}
		if l.Path != "" {
			place = fmt.Sprintf("%s, %s:%d", place, l.Path, l.Line)
		}
		fmt.Fprintf(&b, "%-9s  %s%s: %s\n           from %s\n", l.State, l.Event, display.Line(matcher), escape.Clip(display.Line(cmp.Or(l.Name, l.Command)), display.ListingWidth), display.Line(place))
		if l.State == hookresult.Unmatched {
			fmt.Fprintf(&b, "           %s\n", display.Line(l.Note))
		}
		if text := l.Coverage(); text != "" {
			fmt.Fprintf(&b, "           approval covers: %s\n", display.Line(text))
		}
	}
	_, err = io.WriteString(p.Out, b.String())
	return err
}

func hooksTrustCommand(p *program.Program, g *program.Flags) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "trust",
		Short: "Approve the current hooks of the project",
		Long: `Approves the hooks of the project together with the project files that their
commands run. They run in a trusted directory until one of them or of these files
changes. The command prints these files, and which hooks may run other files.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return userfiles.WithHooks(cmd.Context(), p, g, func(c *config.Config) error {
				names, err := c.Hooks().Approve(cmd.Context())
				if err != nil {
					return program.ConfigFailure(err)
				}
				if !c.Trust().IsTrusted() {
					p.PrintError(fault.New(fault.UntrustedFolder, "cli.hooks", "The hooks do not run because the directory is not trusted.", "Run fettle trust."))
				}
				userfiles.ReportCoverage(cmd.Context(), p, c)
				if asJSON {
					return program.PrintJSON(p.Out, map[string]any{"approved": append([]string{}, names...)})
				}
				message := "The project has no hooks."
				if len(names) > 0 {
					message = "Approved: " + strings.Join(names, ", ") + "."
				}
				_, err = fmt.Fprintln(p.Out, display.Line(message))
				return err
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// hooksSwitchCommand returns enable or disable.
func hooksSwitchCommand(p *program.Program, g *program.Flags, enable bool) *cobra.Command {
	var asJSON bool
	use, short := "disable NAME", "Disable a hook by its name or command"
	if enable {
		use, short = "enable NAME", "Enable a hook that you have disabled"
	}
	cmd := &cobra.Command{
		Use:   use,
		Short: short,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 || strings.TrimSpace(args[0]) == "" {
				return program.UsageError("Exactly one hook name is required.", "fettle hooks list lists them.")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return userfiles.SwitchHook(cmd.Context(), p, g, args[0], enable, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// hookTrial is the JSON output of hooks test.
type hookTrial struct {
	Event hooks.Event     `json:"event"`
	Hooks []hookTrialOf   `json:"hooks"`
	Want  hookTrialEffect `json:"effect"`
}

type hookTrialOf struct {
	Hook     string       `json:"hook"`
	Place    string       `json:"place,omitempty"`
	Exit     int          `json:"exit"`
	Signal   string       `json:"signal,omitempty"`
	TimedOut bool         `json:"timedOut,omitempty"`
	Took     int64        `json:"duration"` // milliseconds
	Stdout   string       `json:"stdout,omitempty"`
	Stderr   string       `json:"stderr,omitempty"`
	Output   hooks.Output `json:"output"`
	Warnings []string     `json:"warnings,omitempty"`
}

type hookTrialEffect struct {
	Stop       bool            `json:"stop,omitempty"`
	StopReason string          `json:"stopReason,omitempty"`
	Decision   hooks.Decision  `json:"decision,omitempty"`
	Reason     string          `json:"reason,omitempty"`
	By         string          `json:"by,omitempty"`
	Messages   []string        `json:"systemMessages,omitempty"`
	Context    string          `json:"additionalContext,omitempty"`
	Specific   *hooks.Specific `json:"hookSpecificOutput,omitempty"`
}

// errNoEvent returns the error for a missing or unknown event.
func errNoEvent(given string) error {
	names := make([]string, 0, len(hooks.Events()))
	for _, e := range hooks.Events() {
		names = append(names, string(e))
	}
	if given == "" {
		return program.UsageError("Exactly one event is required.", "Events: "+strings.Join(names, ", ")+".")
	}
	return program.UsageError(fmt.Sprintf("Unknown event %q.", given), "Events: "+strings.Join(names, ", ")+".")
}
