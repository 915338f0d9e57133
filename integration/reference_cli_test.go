package integration_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/fettle-dev/fettle/cli"
)

// commandReference returns the page of all commands and flags, generated from the
// program's command tree.
func commandReference(t *testing.T) string {
	b := referencePage("Commands", "For users of the command line: every command of `fettle` with its flags and exit codes, as `--help` prints them. One minute a lookup.\n\n"+
		"[cli.md](../cli.md) is the guide.")
	root := cli.CommandTree()
	b.WriteString("\n## Exit codes\n\n| code | meaning |\n|---|---|\n")
	for _, row := range exitCodes(t) {
		fmt.Fprintf(b, "| %s | %s |\n", row[0], row[1])
	}
	b.WriteString("\n## Flags of every command\n")
	writeFlags(b, root.PersistentFlags())
	for _, c := range allCommands(root) {
		writeCommand(b, c)
	}
	return b.String()
}

// allCommands returns a command and all visible commands below it.
func allCommands(c *cobra.Command) []*cobra.Command {
	all := []*cobra.Command{c}
	for _, sub := range c.Commands() {
		if !sub.Hidden && sub.Name() != "help" {
			all = append(all, allCommands(sub)...)
		}
	}
	return all
}

func writeCommand(b *strings.Builder, c *cobra.Command) {
	fmt.Fprintf(b, "\n## %s\n\n%s.\n", c.CommandPath(), strings.TrimSuffix(c.Short, "."))
	if c.Runnable() {
		fmt.Fprintf(b, "\nUsage: `%s`\n", c.UseLine())
	}
	if len(c.Aliases) > 0 {
		fmt.Fprintf(b, "\nAlso: `%s`\n", strings.Join(c.Aliases, "`, `"))
	}
	if long := strings.TrimSpace(c.Long); long != "" {
		fmt.Fprintf(b, "\n    %s\n", strings.ReplaceAll(strings.ReplaceAll(long, "\n", "\n    "), "\n    \n", "\n\n"))
	}
	if example := strings.TrimRight(c.Example, "\n"); example != "" {
		fmt.Fprintf(b, "\nExamples:\n\n    %s\n", strings.TrimSpace(strings.ReplaceAll(example, "\n", "\n  ")))
	}
	var names []string
	for _, sub := range c.Commands() {
		if !sub.Hidden && sub.Name() != "help" {
			names = append(names, "["+sub.Name()+"](#"+strings.ReplaceAll(sub.CommandPath(), " ", "-")+")")
		}
	}
	if len(names) > 0 {
		fmt.Fprintf(b, "\nCommands: %s\n", strings.Join(names, ", "))
	}
	own := pflag.NewFlagSet("", pflag.ContinueOnError)
	c.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
		if f.Name != "help" {
			own.AddFlag(f)
		}
	})
	if c.HasParent() {
		c.PersistentFlags().VisitAll(func(f *pflag.Flag) { own.AddFlag(f) })
	}
	writeFlags(b, own)
}

func writeFlags(b *strings.Builder, flags *pflag.FlagSet) {
	if !flags.HasAvailableFlags() {
		return
	}
	b.WriteString("\n| flag | takes | default | effect |\n|---|---|---|---|\n")
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		takes, usage := pflag.UnquoteUsage(f)
		name := "`--" + f.Name + "`"
		if f.Shorthand != "" {
			name = "`-" + f.Shorthand + "`, " + name
		}
		byDefault := f.DefValue
		if slices.Contains([]string{"false", "[]", "0", "0s"}, byDefault) {
			byDefault = ""
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s |\n", name, inCell(takes), marked(byDefault), inCell(usage))
	})
}

// exitCodes returns the table in docs/cli.md, which lists exactly the exit codes of
// the program, as README.md does.
func exitCodes(t *testing.T) [][2]string {
	program := textOf(t, "cli/internal/program/exit.go")
	_, block, found := strings.Cut(program, "ExitDone ")
	require.True(t, found)
	block, _, _ = strings.Cut(block, ")")
	var codes []string
	for _, m := range regexp.MustCompile(`= (\d+)`).FindAllStringSubmatch(block, -1) {
		codes = append(codes, m[1])
	}
	require.Greater(t, len(codes), 5)
	rows := regexp.MustCompile(`(?m)^\| (\d+) \| (.*) \|$`)
	for _, page := range []string{"README.md", "docs/cli.md"} {
		var listed []string
		for _, m := range rows.FindAllStringSubmatch(textOf(t, page), -1) {
			listed = append(listed, m[1])
		}
		require.Equal(t, codes, listed, page)
	}
	var all [][2]string
	for _, m := range rows.FindAllStringSubmatch(textOf(t, "docs/cli.md"), -1) {
		all = append(all, [2]string{m[1], m[2]})
	}
	return all
}

// Commands and flags of fettle in the text of pages exist.
func TestReferenceOfCommandsInText(t *testing.T) {
	t.Parallel()
	root := cli.CommandTree()
	span := regexp.MustCompile("`fettle ([^`]*)`")
	found := 0
	for _, page := range markdownPages(t) {
		text := textOf(t, page)
		for _, m := range span.FindAllStringSubmatch(text, -1) {
			found++
			if err := names(root, strings.Fields(m[1])); err != nil {
				t.Errorf("%s: `fettle %s`: %v", page, m[1], err)
			}
		}
	}
	require.Greater(t, found, 100)
}

// names checks the commands and flags in words; words in capitals, in brackets or
// after a flag are values.
func names(root *cobra.Command, words []string) error {
	c := root
	known := func(name string, shorthand bool) bool {
		for p := c; p != nil; p = p.Parent() {
			for _, set := range []*pflag.FlagSet{p.Flags(), p.PersistentFlags()} {
				if shorthand && set.ShorthandLookup(name) != nil || !shorthand && set.Lookup(name) != nil {
					return true
				}
			}
		}
		return name == "help" || name == "h"
	}
	for _, word := range words {
		word = strings.Trim(word, "[],…")
		name, _, _ := strings.Cut(word, "=")
		switch {
		case strings.HasPrefix(word, "--"):
			if name = strings.TrimPrefix(name, "--"); name != "" && !known(name, false) {
				return fmt.Errorf("unknown flag --%s", name)
			}
		case strings.HasPrefix(word, "-") && len(word) == 2:
			if !known(word[1:], true) {
				return fmt.Errorf("unknown flag %s", word)
			}
		case regexp.MustCompile(`^[a-z][a-z0-9-]*$`).MatchString(word):
			i := slices.IndexFunc(c.Commands(), func(sub *cobra.Command) bool { return sub.Name() == word || sub.HasAlias(word) })
			if i < 0 && c == root && !strings.HasPrefix(words[0], "-") {
				return fmt.Errorf("unknown command %s", word)
			}
			if i >= 0 {
				c = c.Commands()[i]
			}
		}
	}
	return nil
}
