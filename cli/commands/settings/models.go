package settings

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/internal/program"
	"github.com/fettle-dev/fettle/core/config"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/model"
)

// modelNames is the JSON form of fettle models PROVIDER.
type modelNames struct {
	Provider string   `json:"provider"`
	Models   []string `json:"models"`
}

// ModelsCommand returns fettle models.
func ModelsCommand(p *program.Program, g *program.Flags) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "models [PROVIDER]",
		Short: "List the model providers, or the models of one",
		Long: `Lists the model providers, the variables of their keys and addresses, and whether
these are set here. With a provider, asks its server for its models, and prints
their names for --model.`,
		Example: `  fettle models
  fettle models ollama
  OPENROUTER_API_KEY=… fettle models openrouter --json`,
		Args: cobra.MaximumNArgs(1),
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return p.Providers.Names(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 && !slices.Contains(p.Providers.Names(), args[0]) {
				return program.UsageError(fmt.Sprintf("Unknown model provider %q.", args[0]), "Use one of "+strings.Join(p.Providers.Names(), ", ")+".")
			}
			var variables config.Variables
			adjust := func(to *config.Parameters) {
				to.Conversation.Providers = func(v config.Variables) model.Source { variables = v; return nil }
			}
			return p.WithSession(cmd.Context(), program.SessionOptions{Flags: g, Adjust: adjust}, func(program.Session) error {
				if len(args) == 1 {
					return printModelNames(cmd.Context(), p, variables, args[0], asJSON)
				}
				return printProviders(p, variables, asJSON)
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func printProviders(p *program.Program, v config.Variables, asJSON bool) error {
	l := program.ListModels(p.Providers, v)
	if asJSON {
		return program.PrintJSON(p.Out, l)
	}
	w := tabwriter.NewWriter(p.Out, 0, 8, 2, ' ', 0)
	fmt.Fprintln(w, "MODEL\tREADY\tKEY\tADDRESS")
	for _, i := range l.Providers {
		name, ready := i.Name+":NAME", "no"
		if i.Default != "" {
			name = i.Name + ":" + i.Default
		}
		if i.Ready {
			ready = "yes"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", name, ready, strings.Join(slices.Concat(i.Keys, i.Others), " "), i.Address)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if l.Auto != "" {
		fmt.Fprintf(p.Out, "\nWithout --model: %s\n", l.Auto)
	}
	fmt.Fprintln(p.Out, "Short names:")
	for _, short := range slices.Sorted(maps.Keys(l.Aliases)) {
		fmt.Fprintf(p.Out, "  %-10s  %s\n", short, l.Aliases[short])
	}
	return nil
}

func printModelNames(ctx context.Context, p *program.Program, v config.Variables, provider string, asJSON bool) error {
	names, err := p.Providers.ModelNames(ctx, v, provider)
	err = p.Providers.Models(v).Origin(provider).In(err)
	if fault.CodeOf(err) == fault.InvalidConfig {
		return &program.ExitError{Code: program.ExitConfig, Err: err}
	}
	if err != nil {
		return err
	}
	if asJSON {
		return program.PrintJSON(p.Out, modelNames{provider, append([]string{}, names...)})
	}
	for _, name := range names {
		fmt.Fprintln(p.Out, display.Line(provider+":"+name))
	}
	return nil
}
