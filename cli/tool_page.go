package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/tools"
)

// fact is one thing that a tool's Spec says.
type fact struct{ name, text string }

// factsOf lists what people should know of a tool beside its description and
// parameters.
func factsOf(s tools.Spec) []fact {
	facts := []fact{{"display name", s.Display()}}
	add := func(name string, values []string, after string) {
		if len(values) > 0 {
			facts = append(facts, fact{name, strings.Join(values, ", ") + after})
		}
	}
	add("also called", s.Aliases, "")
	facts = append(facts, fact{"kind", string(s.Kind)}, fact{"without a rule", unruled(s)})
	facts = append(facts, existenceOf(s.Name)...)
	effects := make([]string, len(s.Effects))
	for i, e := range s.Effects {
		effects[i] = string(e)
	}
	add("effects", effects, "")
	add("governed by", s.GovernedBy, ": what denies or asks about that holds for this tool too")
	facts = append(facts, fact{"side by side", sideBySide(s)})
	if s.StreamsOutput {
		facts = append(facts, fact{"live output", "shown while the call runs"})
	}
	if s.OutputIsMarkdown {
		facts = append(facts, fact{"display", "Markdown"})
	}
	return facts
}

// existenceOf says when there is the tool, and when a model is told of it, where
// that is not always so.
func existenceOf(name string) (facts []fact) {
	if when := tools.RegisteredWhen(name); when != "" {
		facts = append(facts, fact{"registered", when})
	}
	if when := tools.DeclaredWhen(name); when != "" {
		facts = append(facts, fact{"declared", when})
	}
	return facts
}

// unruled says what happens to a call that no rule speaks of (AR-25, AR-27).
func unruled(s tools.Spec) string {
	free := []tools.Kind{tools.KindRead, tools.KindSearch, tools.KindThink, tools.KindCommunicate}
	switch {
	case s.Mutates():
		return "asked about; not run in plan mode"
	case slices.Contains(free, s.Kind):
		return "allowed"
	}
	return "asked about"
}

func sideBySide(s tools.Spec) string {
	if s.Parallel {
		return "calls may run at once"
	}
	return "one call at a time"
}

// ToolPage returns the page of a tool for docs/tools, in Markdown: all that its
// Spec says. The error is that of a schema that is no JSON.
func ToolPage(s tools.Spec) (string, error) {
	parameters, err := parametersIn(s.Schema)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n%s\n\n%s\n\n| | |\n|---|---|\n", s.Name, generated, asIs(strings.TrimSpace(s.Description)))
	for _, f := range factsOf(s) {
		fmt.Fprintf(&b, "| %s | %s |\n", f.name, cell(f.text))
	}
	b.WriteString("\n## Parameters\n\n")
	if len(parameters) == 0 {
		b.WriteString("None.\n")
		return b.String(), nil
	}
	b.WriteString("| parameter | type | required | default | description |\n|---|---|---|---|---|\n")
	for _, p := range parameters {
		required := ""
		if p.required {
			required = "yes"
		}
		kind := strings.Join(append([]string{p.kind}, p.bounds...), ", ")
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", p.name, cell(kind), required, cell(p.defaultsTo), cell(p.description))
	}
	return b.String(), nil
}

// ToolIndex returns the page that lists the pages of tools, in Markdown.
func ToolIndex(all []tools.Spec) string {
	var b strings.Builder
	b.WriteString("# Tools\n\n" + generated + "\n\nThe built-in tools, a page for each. `fettle tools` lists those that are registered, and `fettle tools NAME` prints one.\n\n" +
		"| tool | kind | what it does | if not always, when it is there |\n|---|---|---|---|\n")
	for _, s := range all {
		var there []string
		for _, f := range existenceOf(s.Name) {
			there = append(there, f.name+" "+f.text)
		}
		fmt.Fprintf(&b, "| [%s](%s.md) | %s | %s | %s |\n", s.Name, s.Name, s.Kind, cell(firstSentence(s.Description)), cell(strings.Join(there, "; ")))
	}
	return b.String()
}

const generated = "<!-- Written by a test from what the tool says of itself: go test ./integration -run TestToolPages -update -->"

// cell returns text that fits into the cell of a table in Markdown.
func cell(s string) string {
	return strings.ReplaceAll(asIs(strings.Join(strings.Fields(s), " ")), "|", `\|`)
}

// asIs keeps Markdown from taking the signs of globs and placeholders as markup.
func asIs(s string) string { return strings.NewReplacer("*", `\*`, "<", `\<`).Replace(s) }
