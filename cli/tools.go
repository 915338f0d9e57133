package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/core/escape"
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
	Bytes       int             `json:"declarationBytes"` // that a model is sent of it
}

func listingOf(spec tools.Spec) toolListing {
	return toolListing{
		Name: spec.Name, DisplayName: spec.Display(), Aliases: spec.Aliases,
		Kind: spec.Kind, Mutates: spec.Mutates(), Effects: spec.Effects,
		GovernedBy: spec.GovernedBy, Parallel: spec.Parallel, Streams: spec.StreamsOutput, Markdown: spec.OutputIsMarkdown,
		Description: spec.Description, Schema: spec.Schema, Bytes: spec.Declaration().Bytes(),
	}
}

func (p *program) toolsCommand(g *globalFlags) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "tools [NAME]",
		Short: "List the registered tools, or show one with its schema and protocol",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.withSession(cmd.Context(), sessionOptions{flags: g, signIn: p.signIn()}, func(s session) error {
				p.tellProblems(s)
				if len(args) == 0 {
					for _, missing := range s.ConnectServers(cmd.Context(), serversForPrompt) {
						p.complain(missing)
					}
					return p.listTools(s.Tools(), asJSON)
				}
				if err := s.ConnectFor(cmd.Context(), args[0]); err != nil {
					return err
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
	width := 0
	for _, t := range all {
		width = max(width, len(t.Spec().Name))
	}
	var b strings.Builder
	for _, t := range all {
		spec := t.Spec()
		head := fmt.Sprintf("%-*s  %-*s  ", width, spec.Name, kindWidth, spec.Kind)
		room := listingWidth
		if columns, ok := columnsOf(p.out); ok {
			room = max(columns-len(head), 1)
		}
		b.WriteString(head + escape.Clip(firstSentence(spec.Description), room) + "\n")
	}
	_, err := io.WriteString(p.out, b.String())
	return err
}

func (p *program) showTool(spec tools.Spec, asJSON bool) error {
	if asJSON {
		return printJSON(p.out, listingOf(spec))
	}
	text, err := toolText(spec, proseColumns(p.out, math.MaxInt), wantsColour(p.out))
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

// firstSentence returns the first sentence of a description, on one line.
func firstSentence(s string) string {
	s = escape.OneLine(s)
	if i := strings.Index(s, ". "); i >= 0 {
		s = s[:i+1]
	}
	return printable(s)
}

const (
	// listingWidth is how many characters of a description a listing shows where
	// no terminal has less room, or more.
	listingWidth = 100
	// kindWidth is the length of the longest kind.
	kindWidth = len(tools.KindCommunicate)
)

// completeTools completes the first argument with the names of tools.
func (p *program) completeTools(g *globalFlags) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		var names []cobra.Completion
		if len(args) == 0 {
			_ = p.withSession(cmd.Context(), sessionOptions{flags: g}, func(s session) error { // no session, no suggestions
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
