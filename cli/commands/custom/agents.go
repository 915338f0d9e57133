package custom

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/internal/program"
	"github.com/fettle-dev/fettle/core/agent/subagent"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/fault"
)

// agentListing is the JSON output for a subagent.
type agentListing struct {
	Name        string          `json:"name"`
	DisplayName string          `json:"displayName"`
	Description string          `json:"description"`
	Kind        subagent.Kind   `json:"kind"`
	Scope       subagent.Scope  `json:"scope"`
	Path        string          `json:"path,omitempty"`
	Line        int             `json:"line,omitempty"`
	Extension   string          `json:"extension,omitempty"`
	Model       string          `json:"model,omitempty"` // absent: the caller's
	Tools       []string        `json:"tools"`           // null: all of the caller's
	MaxTurns    int             `json:"maxTurns,omitempty"`
	MaxTime     string          `json:"maxTime,omitempty"`
	CardURL     string          `json:"agentCardUrl,omitempty"`
	Input       json.RawMessage `json:"input,omitempty"`
	Prompt      string          `json:"prompt,omitempty"`
}

func agentListingOf(d *subagent.Definition) agentListing {
	l := agentListing{
		Name: d.Name, DisplayName: d.Display(), Description: d.Description, Kind: subagent.KindLocal, Scope: d.Source.Scope, Path: d.Source.Path,
		Line: d.Source.Line, Extension: d.Source.Extension, Model: d.Model, Tools: d.Tools, Input: d.Input, Prompt: d.Prompt,
	}
	if d.IsRemote() {
		l.Kind, l.CardURL = subagent.KindRemote, d.Remote.CardURL
		return l
	}
	l.MaxTurns, l.MaxTime = subagent.DefaultMaxTurns, subagent.DefaultMaxTime.String()
	if d.MaxTurns > 0 {
		l.MaxTurns = d.MaxTurns
	}
	if d.MaxTime > 0 {
		l.MaxTime = d.MaxTime.String()
	}
	return l
}

// AgentsCommand returns the fettle agents command.
func AgentsCommand(p *program.Program, g *program.Flags) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "agents",
		Short: "List and show the subagents that a model may call",
		Args:  program.KnownSubcommand,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.SuggestionsMinimumDistance = 2
	cmd.AddCommand(agentsListCommand(p, g), agentsShowCommand(p, g))
	return cmd
}

func agentsListCommand(p *program.Program, g *program.Flags) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the subagents and the problems in their definitions",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withAgents(cmd.Context(), p, g, func(all []*subagent.Definition) error {
				list := make([]agentListing, len(all))
				width := 0
				for i, d := range all {
					list[i] = agentListingOf(d)
					width = max(width, len(d.Name))
				}
				if asJSON {
					return program.PrintJSON(p.Out, list)
				}
				var b strings.Builder
				for _, l := range list {
					fmt.Fprintf(&b, "%-*s  %-6s  %-9s  %s\n", width, display.Printable(l.Name), l.Kind, l.Scope, escape.Clip(display.FirstSentence(l.Description), display.ListingWidth))
				}
				_, err := io.WriteString(p.Out, b.String())
				return err
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func agentsShowCommand(p *program.Program, g *program.Flags) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show NAME",
		Short: "Show a subagent",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return program.UsageError("Exactly one agent name is required.", "fettle agents list lists them.")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return withAgents(cmd.Context(), p, g, func(all []*subagent.Definition) error {
				at := slices.IndexFunc(all, func(d *subagent.Definition) bool { return d.Name == args[0] })
				if at < 0 {
					return fault.New(fault.InvalidToolParams, "cli.agents", fmt.Sprintf("Unknown agent %q.", args[0]), "fettle agents list lists them.")
				}
				l := agentListingOf(all[at])
				if asJSON {
					return program.PrintJSON(p.Out, l)
				}
				return showAgent(p, l)
			})
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) (names []cobra.Completion, _ cobra.ShellCompDirective) {
			if len(args) == 0 {
				_ = withAgents(cmd.Context(), p, g, func(all []*subagent.Definition) error { // no agents, no suggestions
					for _, d := range all {
						names = append(names, cobra.CompletionWithDesc(d.Name, display.FirstSentence(d.Description)))
					}
					return nil
				})
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// withAgents calls use with the subagents, and reports problems in definitions.
func withAgents(ctx context.Context, p *program.Program, g *program.Flags, use func([]*subagent.Definition) error) error {
	o := program.SessionOptions{Flags: g, Adjust: func(to *config.Parameters) { *to = p.Providers.Parameters(*to) }}
	return p.WithSession(ctx, o, func(s program.Session) error {
		for _, notice := range program.AgentNotices(s.Config()) {
			p.PrintError(errors.New(notice))
		}
		if notice, err := untrustedAgents(ctx, s.Config()); err != nil {
			return err
		} else if notice != nil {
			p.PrintError(notice)
		}
		all, err := s.Config().Agents().List()
		if err != nil {
			return err
		}
		return use(all)
	})
}

// untrustedAgents returns a notice if the agents of the project are ignored because
// its directory is not trusted, otherwise nil. The error is that of ctx.
func untrustedAgents(ctx context.Context, c *config.Config) (notice *fault.Error, err error) {
	dir := filepath.Join(c.TargetDir(), c.Layout().Dir, "agents")
	if c.Trust().IsTrusted() || isHomes(dir, c.Layout().Dir) {
		return nil, nil
	}
	defs, problems, err := subagent.Load(ctx, subagent.LoadOptions{Dirs: []subagent.Dir{{Path: dir, Scope: subagent.ScopeProject}}})
	if err != nil || len(defs)+len(problems) == 0 {
		return nil, err
	}
	return fault.New(fault.UntrustedFolder, "cli.agents", "The agents in "+dir+" are ignored because the directory of the project is not trusted.",
		"Review them, then run fettle trust."), nil
}

// showAgent prints a subagent as text.
func showAgent(p *program.Program, l agentListing) error {
	var b strings.Builder
	b.WriteString(display.Paint(display.StyleBold, display.Line(l.Name), display.WantsColour(p.Out)) + "\n")
	fact := func(name, text string) {
		if text != "" {
			fmt.Fprintf(&b, "  %-11s  %s\n", name+":", display.Line(text))
		}
	}
	place := string(l.Scope)
	if l.Path != "" {
		place = fmt.Sprintf("%s, %s:%d", place, l.Path, l.Line)
	}
	fact("shown as", l.DisplayName)
	fact("kind", string(l.Kind))
	fact("from", place)
	fact("extension", l.Extension)
	fact("card", l.CardURL)
	if l.Kind == subagent.KindLocal {
		fact("model", l.Model)
		tools := "all of the caller's"
		if l.Tools != nil {
			tools = cmp.Or(strings.Join(l.Tools, ", "), "none")
		}
		fact("tools", tools)
		fact("limits", fmt.Sprintf("%d requests, %s", l.MaxTurns, l.MaxTime))
	}
	columns := display.ProseColumns(p.Out, math.MaxInt)
	b.WriteString("\n" + display.Wrap(display.Printable(strings.TrimSpace(l.Description)), "", columns))
	if l.Prompt != "" {
		b.WriteString("\nSystem prompt:\n" + display.Wrap(display.Printable(strings.TrimSpace(l.Prompt)), "", columns))
	}
	_, err := io.WriteString(p.Out, b.String())
	return err
}
