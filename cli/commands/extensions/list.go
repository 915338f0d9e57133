package extensions

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fettle-dev/fettle/cli/display"
	"github.com/fettle-dev/fettle/cli/internal/program"
	"github.com/fettle-dev/fettle/core/extensions"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/extensionstore"
)

// extensionListing is the JSON output for an extension. An invalid one has only a
// name, a path and problems.
type extensionListing struct {
	extensions.Extension
	Source   string               `json:"source,omitempty"`
	Brings   extensionstore.Parts `json:"brings"`
	Problems []extensionProblem   `json:"problems"`
}

func extensionsListCommand(p *program.Program, g *program.Flags) *cobra.Command {
	var asJSON bool
	format := ""
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the extensions, their contents and their problems",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withExtensions(cmd.Context(), p, g, func(store *extensionstore.Store) error {
				return listExtensions(cmd.Context(), p, store, asJSON || format == "json")
			})
		},
	}
	cmd.Flags().VarP(program.NewChoice(&format, "text", "json"), "output-format", "o", "output format: text|json")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// missingValue is the kind of problems about settings without a value, which the list shows.
const missingValue fault.ProblemKind = "missing_value"

func listExtensions(ctx context.Context, p *program.Program, store *extensionstore.Store, asJSON bool) error {
	found, problems, err := store.Load(ctx)
	if err != nil {
		return err
	}
	list := []extensionListing{}
	for _, e := range found {
		brings, err := store.PartsOf(ctx, e)
		if err != nil {
			return err
		}
		l := extensionListing{Extension: e, Brings: brings, Problems: []extensionProblem{}}
		if e.Install != nil {
			l.Source = e.Install.Source
		}
		list = append(list, l)
	}
	for _, problem := range problems {
		if problem.Severity != fault.SeverityNotice && problem.Kind != missingValue {
			p.PrintError(errors.New(problem.String()))
		}
		list = withProblem(list, problem)
	}
	if asJSON {
		return program.PrintJSON(p.Out, list)
	}
	return printExtensions(p.Out, list)
}

// withProblem adds a problem to its extension, also to one that could not be loaded.
func withProblem(list []extensionListing, problem fault.Problem) []extensionListing {
	if problem.Extension == "" && !problem.IsError() {
		return list
	}
	for i := range list {
		if l := &list[i]; l.Name == problem.Extension && (l.Path == problem.Path || !problem.IsError()) {
			l.Problems = append(l.Problems, extensionProblemOf(problem))
			return list
		}
	}
	lost := extensions.Extension{Name: problem.Extension, Path: problem.Path, Inactive: problem.Message}
	return append(list, extensionListing{Extension: lost, Problems: []extensionProblem{extensionProblemOf(problem)}})
}

// printExtensions prints extensions as text.
func printExtensions(w io.Writer, list []extensionListing) error {
	var b strings.Builder
	for _, l := range list {
		if l.ID == "" { // invalid; the problem has been printed
			continue
		}
		state := "active"
		if !l.Active {
			state = "not active: " + display.Line(l.Inactive)
		}
		fmt.Fprintf(&b, "%s %s (%s)\n", display.Paint(display.StyleBold, display.Line(l.Name), display.WantsColour(w)), display.Line(l.Version), state)
		fact := func(name string, values ...string) {
			if text := strings.Join(values, ", "); text != "" {
				fmt.Fprintf(&b, "  %-14s %s\n", name+":", display.Line(text))
			}
		}
		fact("about", l.Description)
		from := l.Source
		if l.Install != nil && l.Install.Ref != "" {
			from += " at " + l.Install.Ref
		}
		if l.Install != nil {
			from += " (" + string(l.Install.Type) + ")"
		}
		fact("source", from)
		fact("path", l.Path)
		for _, part := range brought(l.Brings) {
			fact(part.name, part.values...)
		}
		for _, o := range l.Brings.Omitted {
			fact("left out", omittedText(o))
		}
		for _, s := range l.Settings {
			fact("setting", s.EnvVar+" "+valueIn(l.Extension, s))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// omittedText describes a part of an extension that is not used.
func omittedText(o extensions.Omitted) string {
	at := o.Part
	if o.Line > 0 {
		at = fmt.Sprintf("%s:%d", at, o.Line)
	}
	return at + ": " + o.Reason
}

// valueIn returns the value of a setting, *** if it is sensitive.
func valueIn(e extensions.Extension, s extensions.Setting) string {
	for _, r := range e.ResolvedSettings {
		if r.EnvVar == s.EnvVar {
			return fmt.Sprintf("= %s (%s)", r.Value, r.Scope)
		}
	}
	return "has no value"
}

// broughtPart is one kind of content of an extension.
type broughtPart struct {
	name   string
	values []string
}

// brought lists the contents of an extension except its settings.
func brought(b extensionstore.Parts) []broughtPart {
	var servers, hooks, commands []string
	for _, s := range b.MCPServers {
		servers = append(servers, s.Name)
	}
	for _, h := range b.Hooks {
		hooks = append(hooks, h.Event)
	}
	for _, c := range b.Commands {
		commands = append(commands, c.Name)
	}
	var plans []string
	if b.PlanDirectory != "" {
		plans = []string{b.PlanDirectory}
	}
	return []broughtPart{
		{"MCP servers", servers}, {"hooks", hooks}, {"commands", commands}, {"skills", b.Skills}, {"agents", b.Agents},
		{"policies", b.Policies}, {"context files", b.ContextFiles}, {"takes away", b.ExcludedTools}, {"plans", plans},
	}
}
