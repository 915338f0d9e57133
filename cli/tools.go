package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/core/tools"
)

// toolListing is a tool in JSON.
type toolListing struct {
	Name        string          `json:"name"`
	DisplayName string          `json:"displayName"`
	Aliases     []string        `json:"aliases,omitempty"`
	Kind        tools.Kind      `json:"kind"`
	Mutates     bool            `json:"mutates"`
	Effects     []tools.Effect  `json:"effects,omitempty"`
	GovernedBy  []string        `json:"governedBy,omitempty"`
	Parallel    bool            `json:"parallel,omitempty"`
	Streams     bool            `json:"streamsOutput,omitempty"`
	Markdown    bool            `json:"outputIsMarkdown,omitempty"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"schema"`
}

func listingOf(spec tools.Spec) toolListing {
	return toolListing{
		Name: spec.Name, DisplayName: spec.Display(), Aliases: spec.Aliases,
		Kind: spec.Kind, Mutates: spec.Mutates(), Effects: spec.Effects,
		GovernedBy: spec.GovernedBy, Parallel: spec.Parallel, Streams: spec.StreamsOutput, Markdown: spec.OutputIsMarkdown,
		Description: spec.Description, Schema: spec.Schema,
	}
}

func (p *program) toolsCommand(g *globalFlags) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "tools [NAME]",
		Short: "List the registered tools, or show one with its schema and protocol",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.withSession(cmd.Context(), sessionOptions{flags: g, getenv: os.Getenv}, func(s session) error {
				if len(args) == 0 {
					return p.listTools(s.Tools(), asJSON)
				}
				t, err := s.Lookup(args[0])
				if err != nil {
					return err
				}
				return p.showTool(t.Spec(), asJSON)
			})
		},
		ValidArgsFunction: p.completeTools(g),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (p *program) listTools(all []tools.DeclarativeTool, asJSON bool) error {
	if asJSON {
		list := make([]toolListing, 0, len(all))
		for _, t := range all {
			list = append(list, listingOf(t.Spec()))
		}
		return printJSON(p.out, list)
	}
	w := tabwriter.NewWriter(p.out, 0, 8, 2, ' ', 0)
	for _, t := range all {
		spec := t.Spec()
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\n", spec.Name, spec.Kind, clip(firstSentence(spec.Description), listingWidth)) // Flush reports the error
	}
	return w.Flush()
}

func (p *program) showTool(spec tools.Spec, asJSON bool) error {
	if asJSON {
		return printJSON(p.out, listingOf(spec))
	}
	text, err := toolText(spec, columnsIfTerminal(p.out), wantsColour(p.out))
	if err != nil {
		return err
	}
	_, err = io.WriteString(p.out, text)
	return err
}

// toolText is all that a tool says of itself. Long lines are broken at so many
// columns.
func toolText(spec tools.Spec, columns int, colour bool) (string, error) {
	parameters, err := parametersIn(spec.Schema)
	if err != nil {
		return "", err
	}
	var schema bytes.Buffer
	if err := json.Indent(&schema, spec.Schema, "", "  "); err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString(paint(styleBold, oneLine(spec.Name), colour) + "\n")
	for _, f := range factsOf(spec) {
		fmt.Fprintf(&b, "  %-15s  %s\n", f.name+":", oneLine(f.text))
	}
	b.WriteString("\n" + wrap(printable(strings.TrimSpace(spec.Description)), "", columns) + "\nParameters:")
	if len(parameters) == 0 {
		b.WriteString(" none\n")
	}
	for i, parameter := range parameters {
		if i == 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "  %s  %s\n", paint(styleBold, oneLine(parameter.name), colour), oneLine(parameter.facts()))
		if parameter.description != "" {
			b.WriteString(wrap(printable(parameter.description), "      ", columns))
		}
	}
	b.WriteString("\nAs JSON schema:\n" + printable(schema.String()) + "\n")
	return b.String(), nil
}

// columnsIfTerminal is columnsOf for a terminal; lines for a program are not
// broken.
func columnsIfTerminal(stream any) int {
	if isTerminal(stream) {
		return columnsOf(stream)
	}
	return math.MaxInt
}

// firstSentence returns the first sentence of a description, on one line.
func firstSentence(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if i := strings.Index(s, ". "); i >= 0 {
		s = s[:i+1]
	}
	return printable(s)
}

// listingWidth is how many characters of a description a listing shows.
const listingWidth = 100

// clip shortens s to n characters, the last of which then says so.
func clip(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}

// completeTools completes the first argument with the names of tools.
func (p *program) completeTools(g *globalFlags) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		var names []cobra.Completion
		if len(args) == 0 {
			_ = p.withSession(cmd.Context(), sessionOptions{flags: g, getenv: os.Getenv}, func(s session) error { // no session, no suggestions
				for _, t := range s.Tools() {
					spec := t.Spec()
					names = append(names, cobra.CompletionWithDesc(spec.Name, firstSentence(spec.Description)))
				}
				return nil
			})
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}
