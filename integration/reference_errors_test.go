package integration_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// errorReference returns the page of codes and reasons, generated from the comments
// of their constants. Each code describes the error and its remedy; each reason
// narrows a code.
func errorReference(t *testing.T) string {
	b := referencePage("Error codes", "For users, authors of scripts and embedders: every error code and reason, with the usual remedy. One minute a lookup.\n\n"+
		"Every error has a code. It is the `type` of the error in results for the model, in `fettle call`, in `fettle -p -o json`, over MCP and on the\n"+
		"bus. For a Go program it is `fault.Error.Code`. `message` is the description of this error, `remedy` the next step, and `reason` distinguishes\n"+
		"cases of one code. Codes and reasons are added, never renamed.\n\n"+
		"[headless.md](../headless.md#types-of-errors) lists the errors that end a run, with their exit codes.")
	own := parsePackage(t, "core/fault")
	group := ""
	for _, c := range own.ofType("Code") {
		if c.about != group {
			group = c.about
			title, _, _ := strings.Cut(strings.TrimSuffix(group, "."), ".")
			fmt.Fprintf(b, "\n## %s\n\n| code | error | usual remedy |\n|---|---|---|\n", title)
		}
		happened, remedy, found := strings.Cut(c.doc, "Remedy: ")
		require.True(t, found && happened != "" && remedy != "", "core/fault: the comment of %s must describe the error, and after \"Remedy:\" the next step", c.name)
		fmt.Fprintf(b, "| `%s` | %s | %s |\n", c.value, inCell(happened), inCell(upper(remedy)))
	}

	b.WriteString("\n## Reasons\n\n| reason | of code | meaning |\n|---|---|---|\n")
	for _, dir := range packagesBelow(t, "core") {
		typ := "fault.Reason"
		if dir == "core/fault" {
			typ = "Reason"
		}
		for _, c := range reasonsOf(t, dir, typ) {
			require.NotEmpty(t, c.doc, "%s: the reason %s has no comment", dir, c.name)
			of := map[string]string{"core/model": "`model_error`", "core/agent/subagent": "`agent_execution_error`"}[dir]
			if m := regexp.MustCompile(`(?:of|with) code (\w+)`).FindStringSubmatch(c.about); m != nil {
				of = "`" + m[1] + "`"
			}
			if c.value == "unauthorized" {
				of = "`tool_not_registered`"
			}
			require.True(t, of != "" || dir == "core/fault", "%s: the comment above the group of %s must name its code", dir, c.name)
			says := strings.TrimPrefix(strings.TrimSuffix(c.doc, "."), c.name+" is the reason of ")
			fmt.Fprintf(b, "| `%s` | %s | %s |\n", c.value, of, inCell(says))
		}
	}
	return b.String()
}

// reasonsOf returns the reasons of a package: its constants, and the classes that it
// converts to reasons.
func reasonsOf(t *testing.T, dir, typ string) []constant {
	s := parsePackage(t, dir)
	found := s.ofType(typ)
	switch dir {
	case "core/model":
		found = append(found, slices.DeleteFunc(s.ofType("ErrorKind"), func(c constant) bool { return c.value == "cancelled" })...)
	case "core/agent/subagent": // as failure in outcome.go creates them
		for _, c := range s.ofType("Reason") {
			switch c.value {
			case "GOAL":
				continue
			case "ERROR_NO_COMPLETE_TASK_CALL":
				c.value = "no_complete_task_call"
			}
			c.value = strings.ToLower(c.value)
			found = append(found, c)
		}
	}
	return found
}

// upper capitalizes a remedy, unless it begins with a command.
func upper(s string) string {
	if strings.HasPrefix(s, "fettle ") {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// A reason is a constant with a comment, so that the page can list it.
func TestReasonsAreConstants(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{"core", "cli"} {
		for _, dir := range packagesBelow(t, dir) {
			for name, text := range filesOf(t, dir) {
				require.NotContains(t, text, `.Because("`, name)
			}
		}
	}
}
