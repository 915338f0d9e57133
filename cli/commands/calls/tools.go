package calls

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/internal/program"
	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/tools"
)

// toolListing is the JSON output for a tool.
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
	Bytes       int             `json:"declarationBytes"` // size of its declaration for a model
}

func listingOf(spec tools.Spec) toolListing {
	return toolListing{
		Name: spec.Name, DisplayName: spec.Display(), Aliases: spec.Aliases,
		Kind: spec.Kind, Mutates: spec.Mutates(), Effects: spec.Effects,
		GovernedBy: spec.GovernedBy, Parallel: spec.Parallel, Streams: spec.StreamsOutput, Markdown: spec.OutputIsMarkdown,
		Description: spec.Description, Schema: spec.Schema, Bytes: spec.Declaration().Bytes(),
	}
}

// ListCommand returns the fettle tools command.
func ListCommand(p *program.Program, g *program.Flags) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "tools [NAME]",
		Short: "List the registered tools, or show one with its schema",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.WithSession(cmd.Context(), program.SessionOptions{Flags: g, SignIn: p.SignIn()}, func(s program.Session) error {
				p.ReportProblems(s)
				if len(args) == 0 {
					for _, missing := range s.ConnectServers(cmd.Context(), program.ServersForPrompt) {
						p.PrintError(missing)
					}
					return listTools(p, s.Tools(), asJSON)
				}
				if err := s.ConnectFor(cmd.Context(), args[0]); err != nil {
					return err
				}
				t, err := s.Lookup(args[0])
				if err != nil {
					return err
				}
				return showTool(p, t.Spec(), asJSON)
			})
		},
		ValidArgsFunction: program.CompleteTools(p, g),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func listTools(p *program.Program, all []tools.DeclarativeTool, asJSON bool) error {
	if asJSON {
		list := make([]toolListing, 0, len(all))
		for _, t := range all {
			list = append(list, listingOf(t.Spec()))
		}
		return program.PrintJSON(p.Out, list)
	}
	width := 0
	for _, t := range all {
		width = max(width, len(t.Spec().Name))
	}
	var b strings.Builder
	for _, t := range all {
		spec := t.Spec()
		head := fmt.Sprintf("%-*s  %-*s  ", width, spec.Name, kindWidth, spec.Kind)
		room := display.ListingWidth
		if columns, ok := display.ColumnsOf(p.Out); ok {
			room = max(columns-len(head), 1)
		}
		b.WriteString(head + escape.Clip(display.FirstSentence(spec.Description), room) + "\n")
	}
	_, err := io.WriteString(p.Out, b.String())
	return err
}

func showTool(p *program.Program, spec tools.Spec, asJSON bool) error {
	if asJSON {
		return program.PrintJSON(p.Out, listingOf(spec))
	}
	text, err := toolText(spec, display.ProseColumns(p.Out, math.MaxInt), display.WantsColour(p.Out))
	if err != nil {
		return err
	}
	_, err = io.WriteString(p.Out, text)
	return err
}

// toolText formats the complete description of a tool. Long lines are wrapped.
func toolText(spec tools.Spec, columns int, colour bool) (string, error) {
	parameters, err := ParametersIn(spec.Schema)
	if err != nil {
		return "", err
	}
	var schema bytes.Buffer
	if err := json.Indent(&schema, spec.Schema, "", "  "); err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString(display.Paint(display.StyleBold, display.Line(spec.Name), colour) + "\n")
	for _, f := range FactsOf(spec) {
		fmt.Fprintf(&b, "  %-15s  %s\n", f.Name+":", display.Line(f.Text))
	}
	b.WriteString("\n" + display.Wrap(display.Printable(strings.TrimSpace(spec.Description)), "", columns) + "\nParameters:")
	if len(parameters) == 0 {
		b.WriteString(" none\n")
	}
	for i, parameter := range parameters {
		if i == 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "  %s  %s\n", display.Paint(display.StyleBold, display.Line(parameter.Name), colour), display.Line(parameter.facts()))
		if parameter.Description != "" {
			b.WriteString(display.Wrap(display.Printable(parameter.Description), "      ", columns))
		}
	}
	b.WriteString("\nAs JSON schema:\n" + display.Printable(schema.String()) + "\n")
	return b.String(), nil
}

// kindWidth is the length of the longest kind.
const kindWidth = len(tools.KindCommunicate)
