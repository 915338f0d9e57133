// Package custom has the commands of what users add to sessions as files: hooks, skills
// and subagents.
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
)

// HooksCommand is fettle hooks.
func HooksCommand(p *program.Program, g *program.Flags) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "hooks",
		Short: "List, try, approve and disable the programs that run at a session's events",
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
		Short: "List the hooks in the order in which they run, and which do not",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return userfiles.WithHooks(cmd.Context(), p, g, func(c *config.Config) error { return listHooks(cmd.Context(), p, c, asJSON) })
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func listHooks(ctx context.Context, p *program.Program, c *config.Config, asJSON bool) error {
	all, err := c.Hooks(ctx)
	if err != nil {
		return err
	}
	list := make([]userfiles.Hook, len(all))
	for i, h := range all {
		list[i] = userfiles.HookOf(h)
	}
	if set, err := c.Settings(); err == nil && !set.HooksConfig.Enabled {
		p.Say("No hook runs, as hooksConfig.enabled is false. fettle config show hooksConfig.enabled --origin tells where.")
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
		if l.State == config.HookUnmatched {
			fmt.Fprintf(&b, "           %s\n", display.Line(l.Note))
		}
		if text := l.Vouched(); text != "" {
			fmt.Fprintf(&b, "           vouched for: %s\n", display.Line(text))
		}
	}
	_, err = io.WriteString(p.Out, b.String())
	return err
}

func hooksTrustCommand(p *program.Program, g *program.Flags) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "trust",
		Short: "Approve of the project's hooks as they are now",
		Long: `Records the hooks of the project, with the files of the project that their
commands run, as ones that you have looked at. They run where the directory is
trusted, until one of them changes. Which files those are is told, and where a
command may run others, too.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return userfiles.WithHooks(cmd.Context(), p, g, func(c *config.Config) error {
				names, err := c.ApproveHooks(cmd.Context())
				if err != nil {
					return program.ConfigFailure(err)
				}
				if !c.TrustedFolder() {
					p.Complain(fault.New(fault.UntrustedFolder, "cli.hooks", "They do not run, as the directory is not trusted.", "Run fettle trust."))
				}
				userfiles.TellVouched(cmd.Context(), p, c)
				if asJSON {
					return program.PrintJSON(p.Out, map[string]any{"approved": append([]string{}, names...)})
				}
				said := "The project has no hooks."
				if len(names) > 0 {
					said = "Approved: " + strings.Join(names, ", ") + "."
				}
				_, err = fmt.Fprintln(p.Out, display.Line(said))
				return err
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// hooksSwitchCommand is enable or disable.
func hooksSwitchCommand(p *program.Program, g *program.Flags, enable bool) *cobra.Command {
	var asJSON bool
	use, short := "disable NAME", "Keep a hook from running, by its name or command"
	if enable {
		use, short = "enable NAME", "Let a hook run again that you have disabled"
	}
	cmd := &cobra.Command{
		Use:   use,
		Short: short,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 || strings.TrimSpace(args[0]) == "" {
				return program.UsageError("Name one hook.", "fettle hooks list lists them.")
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

// hookTrial is what hooks test prints as JSON.
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

// errNoEvent is what a missing or unknown event is answered with.
func errNoEvent(given string) error {
	names := make([]string, 0, len(hooks.Events()))
	for _, e := range hooks.Events() {
		names = append(names, string(e))
	}
	if given == "" {
		return program.UsageError("Name one event.", "It is one of "+strings.Join(names, ", ")+".")
	}
	return program.UsageError(fmt.Sprintf("There is no event %q.", given), "It is one of "+strings.Join(names, ", ")+".")
}
