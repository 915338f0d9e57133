package subagent

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

//go:embed prompts/codebase_investigator.md
var investigatorPrompt string

//go:embed prompts/generalist.md
var generalistPrompt string

// The names of the built-in agents.
const (
	CodebaseInvestigator = "codebase_investigator"
	Generalist           = "generalist"
)

// BuiltIn returns the built-in agents: one investigates a code base without changing it, and one
// has all the tools of its caller. They are shared and must not be changed.
func BuiltIn() []Definition { return slices.Clip(builtIn()) }

var builtIn = sync.OnceValue(func() []Definition {
	return []Definition{
		{
			Name: CodebaseInvestigator, DisplayName: "Codebase Investigator",
			Description: "Investigates how a code base works, without changing anything: where a behaviour is implemented, the places that a change would touch, " +
				"the cause of a bug. It reads many files so that you need not, and reports a summary, the steps it took, and the places that matter with " +
				"their symbols. Use it before work that spans several files or whose place you do not know yet; do not use it to read a file whose path you know.",
			Prompt:   investigatorPrompt,
			Tools:    []string{"list_directory", "read_file", "glob", "search_file_content"},
			MaxTurns: 50, MaxTime: 10 * time.Minute,
			Output: &Output{
				Name: "report", Description: "Your findings, in the form of the schema.", Schema: json.RawMessage(reportSchema),
			},
			ProcessOutput: reportText,
			Source:        Source{Scope: ScopeBuiltIn},
		},
		{
			Name: Generalist, DisplayName: "Generalist",
			Description: "Does a whole piece of work on its own, with all the tools that you have, and reports the outcome. Use it for work that takes many " +
				"steps or produces much output and of which only the outcome matters to you, e.g. renaming something everywhere, or running and fixing the tests of " +
				"one package. It does not see this conversation: put everything that it must know into the query.",
			Prompt:   generalistPrompt,
			MaxTurns: 50, MaxTime: 20 * time.Minute,
			Source: Source{Scope: ScopeBuiltIn},
		},
	}
})

// report is the report of the investigator.
type report struct {
	SummaryOfFindings string
	ExplorationTrace  []string
	RelevantLocations []struct {
		FilePath   string
		Reasoning  string
		KeySymbols []string
	}
}

const reportSchema = `{
	"type": "object",
	"properties": {
		"SummaryOfFindings": {"type": "string", "minLength": 1, "description": "The answer to the query: how it works, the cause, the necessary changes, and the questions that you could not answer."},
		"ExplorationTrace": {"type": "array", "items": {"type": "string"}, "description": "The steps that led there, in order, one line each."},
		"RelevantLocations": {"type": "array", "description": "The places that matter, most important first.", "items": {
			"type": "object",
			"properties": {
				"FilePath": {"type": "string", "description": "Path of the file."},
				"Reasoning": {"type": "string", "description": "Why it matters."},
				"KeySymbols": {"type": "array", "items": {"type": "string"}, "description": "Functions, types and variables to look at."}
			},
			"required": ["FilePath", "Reasoning", "KeySymbols"],
			"additionalProperties": false
		}}
	},
	"required": ["SummaryOfFindings", "ExplorationTrace", "RelevantLocations"],
	"additionalProperties": false
}`

// reportText renders a report as text, which is shorter than its JSON.
func reportText(raw json.RawMessage) (string, error) {
	var r report
	if err := json.Unmarshal(raw, &r); err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# Summary of findings\n\n%s\n", strings.TrimSpace(r.SummaryOfFindings))
	if len(r.RelevantLocations) > 0 {
		b.WriteString("\n# Relevant locations\n\n")
		for _, l := range r.RelevantLocations {
			fmt.Fprintf(&b, "- %s: %s", l.FilePath, strings.TrimSpace(l.Reasoning))
			if len(l.KeySymbols) > 0 {
				fmt.Fprintf(&b, " [%s]", strings.Join(l.KeySymbols, ", "))
			}
			b.WriteByte('\n')
		}
	}
	if len(r.ExplorationTrace) > 0 {
		b.WriteString("\n# Exploration\n\n")
		for i, step := range r.ExplorationTrace {
			fmt.Fprintf(&b, "%d. %s\n", i+1, strings.TrimSpace(step))
		}
	}
	return b.String(), nil
}
