package extensionstore

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/extensions"
	"github.com/fettle-dev/fettle/core/fault"
)

// Consent describes an extension to the user who approves its installation. Its texts
// are safe to display: terminal control characters are escaped.
type Consent struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Source  string `json:"source"`
	// Update: another version is installed, with other parts.
	Update bool `json:"update,omitempty"`
	// Lines describe the effects of the extension, one a line. Their number is bounded
	// for each kind, and a line states the number of omitted ones.
	Lines []string `json:"lines"`
	// Summary counts in one line the parts that run programs and read the environment;
	// "" if there are none.
	Summary string `json:"summary,omitempty"`

	// whole is the complete description for comparison, including parts that are not
	// shown. It may contain secrets.
	whole []string
	// skills: it is about skills, and Name is their number.
	skills bool
}

// Bounds of the display, so that no part is hidden by the number of others.
const (
	maxShown = 25  // of a kind
	maxHead  = 300 // characters kept at the start of a line, and
	maxTail  = 100 // at its end
)

// Text returns the whole text, in lines.
func (c Consent) Text() string {
	var b strings.Builder
	did := "Installing"
	if c.Update {
		did = "Updating"
	}
	if c.skills {
		fmt.Fprintf(&b, "Installing %s from %s.\n", c.Name, c.Source)
	} else {
		fmt.Fprintf(&b, "%s the extension %s %s from %s.\n", did, c.Name, c.Version, c.Source)
	}
	if len(c.Lines) == 0 {
		b.WriteString("It has no parts yet.\n")
	} else {
		b.WriteString("It brings:\n")
	}
	for _, line := range c.Lines {
		b.WriteString("  " + line + "\n")
	}
	b.WriteString("It is not reviewed: its programs run with your permissions, and its texts influence the model. Agree only if you trust its author.\n")
	if c.Summary != "" {
		b.WriteString(c.Summary + "\n")
	}
	return b.String()
}

// consentOf returns the consent for an extension. Extensions with the same parts have
// the same consent, in any location.
func (s *Store) consentOf(ctx context.Context, e extensions.Extension, from string) (Consent, error) {
	p, err := s.PartsOf(ctx, e)
	if err != nil {
		return Consent{}, err
	}
	c := Consent{Name: shown(e.Name), Version: shown(e.Version), Source: visible(from), Summary: p.summary(), whole: []string{from}}
	kinds := p.kinds()
	if broken := s.brokenRules(ctx, e); len(broken) > 0 {
		kinds = append([]kindOfPart{{"mistake in its rules", "mistakes in its rules", broken}}, kinds...)
	}
	for _, kind := range kinds {
		for i, line := range kind.lines {
			if i < maxShown {
				c.Lines = append(c.Lines, shown(line))
			}
		}
		if more := len(kind.lines) - maxShown; more > 0 {
			c.Lines = append(c.Lines, "and "+counted(more, "more "+kind.one, "more "+kind.many))
		}
		c.whole = append(c.whole, kind.lines...)
	}
	for _, server := range p.MCPServers {
		c.whole = append(c.whole, server.whole)
	}
	for _, hook := range p.Hooks {
		c.whole = append(c.whole, hook.Values...)
	}
	return c, nil
}

// brokenRules returns the problems of the extension's rules, a line each.
func (s *Store) brokenRules(ctx context.Context, e extensions.Extension) []string {
	if s.o.Rules == nil {
		return nil
	}
	var all []string
	for _, f := range s.o.Rules(ctx, e) {
		if f.Severity == fault.SeverityError {
			f.Path = filepath.ToSlash(relativeTo(e.Path, f.Path))
			all = append(all, "a mistake in its rules: "+f.String())
		}
	}
	return all
}

// same reports whether an approval of one consent covers the other.
func (c Consent) same(other Consent) bool { return slices.Equal(c.whole, other.whole) }

// kindOfPart lists the parts of a kind, a line each.
type kindOfPart struct {
	one, many string
	lines     []string
}

// kinds lists the parts of an extension. Within a kind, parts that run programs are
// first.
func (p Parts) kinds() []kindOfPart {
	var all []kindOfPart
	kind := func(one, many string, lines []string) { all = append(all, kindOfPart{one, many, lines}) }
	kind("MCP server", "MCP servers", lines(p.MCPServers, ServerPart.line))
	kind("hook", "hooks", lines(p.Hooks, HookPart.line))
	commands := slices.Clone(p.Commands)
	slices.SortStableFunc(commands, func(a, b CommandPart) int {
		return strings.Compare(strconv.FormatBool(b.Runs), strconv.FormatBool(a.Runs))
	})
	kind("command", "commands", lines(commands, CommandPart.line))
	if p.PlanDirectory != "" {
		kind("", "", []string{"plans go to " + p.PlanDirectory + ", where plan mode writes Markdown files without asking"})
	}
	kind("skill", "skills", lines(p.Skills, func(name string) string { return "skill " + name + ", instructions that the model may fetch" }))
	kind("agent", "agents", lines(p.Agents, func(name string) string { return "agent " + name }))
	kind("file of rules", "files of rules", lines(p.Policies, func(file string) string { return "rules in " + file + ", which may deny and ask" }))
	kind("context file", "context files", lines(p.ContextFiles, func(file string) string {
		return "context file " + file + ", sent to the model in each session"
	}))
	if len(p.ExcludedTools) > 0 {
		first := p.ExcludedTools[:min(len(p.ExcludedTools), maxShown)]
		kind("", "", []string{"excludes the tools " + strings.Join(first, ", ")})
		kind("excluded tool", "excluded tools", lines(p.ExcludedTools[len(first):], func(name string) string { return "excludes the tool " + name }))
	}
	kind("setting", "settings", lines(p.Settings, p.settingLine))
	kind("part that is left out", "parts that are left out", lines(p.Omitted, func(o extensions.Omitted) string { return "left out: " + omittedLine(o) }))
	if p.Themes > 0 {
		kind("", "", []string{fmt.Sprintf("themes: %d", p.Themes)})
	}
	return all
}

func lines[T any](parts []T, line func(T) string) []string {
	all := make([]string, len(parts))
	for i, part := range parts {
		all[i] = line(part)
	}
	return all
}

// line describes how a server is reached, and its environment and headers.
func (s ServerPart) line() string {
	line := "MCP server " + s.Name
	switch {
	case s.Command != "":
		line += runHere(s.Sandbox) + s.Command
	case s.URL != "":
		line += ", at " + s.URL
	}
	for _, way := range s.Else {
		line += ", or else " + way
	}
	if s.Dir != "" {
		line += ", in " + s.Dir
	}
	if len(s.Env) > 0 {
		line += " (with " + strings.Join(s.Env, ", ") + " in its environment)"
	}
	if len(s.Headers) > 0 {
		line += " (sent the headers " + strings.Join(s.Headers, ", ") + ")"
	}
	if s.OAuth {
		line += " (may have you sign in" + strings.Join(append([]string{""}, s.SignIn...), ", ") + ")"
	}
	return line
}

func (h HookPart) line() string {
	on, with := "", ""
	if h.Matcher != "" {
		on = " on " + escape.Quote(h.Matcher)
	}
	if len(h.Env) > 0 {
		with = " (with " + strings.Join(h.Env, ", ") + " in its environment)"
	}
	return "hook at " + h.Event + on + runHere(h.Sandbox) + h.Command + with
}

// runHere introduces the command of a program.
func runHere(sandbox bool) string {
	if sandbox {
		return ", a program run here in the sandbox: "
	}
	return ", a program run here unconfined: "
}

func (c CommandPart) line() string {
	if c.Runs {
		return "command " + c.Name + ", which has shell commands run"
	}
	return "command " + c.Name
}

func (p Parts) settingLine(s extensions.Setting) string {
	line := "setting " + s.Name + ", given to its programs as " + s.EnvVar
	if s.Sensitive {
		line += ", kept secret"
	}
	if p.environment[s.EnvVar] {
		line += ", else taken from your environment"
	}
	return line
}

// summary counts the parts that run programs, and the variables from the environment.
func (p Parts) summary() string {
	var all []string
	for _, sandbox := range []bool{false, true} {
		var programs []string
		count := func(n int, one, many string) {
			if n > 0 {
				programs = append(programs, counted(n, one, many))
			}
		}
		servers, hooks, commands := 0, 0, 0
		for _, s := range p.MCPServers {
			if s.Sandbox == sandbox && (s.Command != "" || len(s.Else) > 0) {
				servers++
			}
		}
		for _, h := range p.Hooks {
			if h.Sandbox == sandbox {
				hooks++
			}
		}
		for _, c := range p.Commands {
			if c.Runs && !sandbox { // policy decides about them when they run
				commands++
			}
		}
		count(servers, "MCP server", "MCP servers")
		count(hooks, "hook", "hooks")
		count(commands, "command", "commands")
		if text := strings.Join(programs, ", "); text != "" && sandbox {
			all = append(all, "In the sandbox it can run: "+text+".")
		} else if text != "" {
			all = append(all, "It can run programs as you: "+text+".")
		}
	}
	variables := 0
	for _, there := range p.environment {
		if there {
			variables++
		}
	}
	if variables > 0 {
		all = append(all, "It receives "+counted(variables, "variable", "variables")+" of your environment, unless you set other values.")
	}
	return strings.Join(all, " ")
}

// counted formats a number of items, as 8,950 commands.
func counted(n int, one, many string) string {
	digits := strconv.Itoa(n)
	for at := len(digits) - 3; at > 0; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	if n == 1 {
		return digits + " " + one
	}
	return digits + " " + many
}

// shown returns a text as [visible] does, shortened in the middle if it is very long.
func shown(s string) string {
	runes := []rune(visible(s))
	if len(runes) <= maxHead+maxTail {
		return string(runes)
	}
	return fmt.Sprintf("%s… (%s in all) …%s", string(runes[:maxHead]), counted(len([]rune(s)), "character", "characters"), string(runes[len(runes)-maxTail:]))
}

// visible escapes control characters, direction marks, and characters that could hide
// text or make one line look like two: line ends, repeated spaces, other space
// characters, and invisible letters.
func visible(s string) string {
	var b strings.Builder
	runes := []rune(s)
	for i := 0; i < len(runes); i++ {
		blanks := 0
		for i+blanks < len(runes) && runes[i+blanks] == ' ' {
			blanks++
		}
		switch r := runes[i]; {
		case blanks > 1:
			fmt.Fprintf(&b, "<%d blanks>", blanks)
			i += blanks - 1
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r != ' ' && unseen(r):
			fmt.Fprintf(&b, "<U+%04X>", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// unseen reports whether a character is invisible.
func unseen(r rune) bool {
	return escape.Hidden(r) || !unicode.IsGraphic(r) || unicode.Is(unicode.Zs, r) || r == unicode.ReplacementChar
}
