package extensions

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// Consent is what a person agrees to who installs an extension. Its texts are safe
// to show: whatever a terminal would obey in them is spelled out.
type Consent struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Source  string `json:"source"`
	// Update says that another version of it is there, which brings something else.
	Update bool `json:"update,omitempty"`
	// Lines say what the extension will be able to do, one thing a line.
	Lines []string `json:"lines"`
}

// Text returns all of it, in lines.
func (c Consent) Text() string {
	var b strings.Builder
	did := "Installing"
	if c.Update {
		did = "Updating"
	}
	fmt.Fprintf(&b, "%s the extension %s %s from %s.\n", did, c.Name, c.Version, c.Source)
	if len(c.Lines) == 0 {
		b.WriteString("It brings nothing yet.\n")
	} else {
		b.WriteString("It brings:\n")
	}
	for _, line := range c.Lines {
		b.WriteString("  " + line + "\n")
	}
	b.WriteString("Nobody has checked what it does: its programs run as you do, and its texts steer the model. Agree only if you trust its author.\n")
	return b.String()
}

// consentOf says what an extension will be able to do. The lines are equal for two
// extensions that bring the same, wherever they lie.
func consentOf(ctx context.Context, e Extension, from string) (Consent, error) {
	p, err := PartsOf(ctx, e)
	if err != nil {
		return Consent{}, err
	}
	c := Consent{Name: visible(e.Name), Version: visible(e.Version), Source: visible(from)}
	say := func(format string, args ...any) { c.Lines = append(c.Lines, visible(fmt.Sprintf(format, args...))) }
	for _, s := range p.MCPServers {
		with := ""
		if len(s.Env) > 0 {
			with = " (with " + strings.Join(s.Env, ", ") + " in its environment)"
		}
		if s.Command != "" {
			say("MCP server %s, a program run here: %s%s", s.Name, s.Command, with)
		}
		if s.URL != "" {
			say("MCP server %s, at %s%s", s.Name, s.URL, with)
		}
		if s.Command == "" && s.URL == "" {
			say("MCP server %s", s.Name)
		}
	}
	for _, h := range p.Hooks {
		on := ""
		if h.Matcher != "" {
			on = " on " + strconv.Quote(h.Matcher)
		}
		say("hook at %s%s, a program run here: %s", h.Event, on, h.Command)
	}
	for _, command := range p.Commands {
		runs := ""
		if command.Runs {
			runs = ", which has shell commands run"
		}
		say("command %s%s", command.Name, runs)
	}
	for _, name := range p.Skills {
		say("skill %s, instructions that the model may fetch", name)
	}
	for _, name := range p.Agents {
		say("agent %s", name)
	}
	for _, file := range p.Policies {
		say("rules in %s, which may deny and ask", file)
	}
	for _, file := range p.ContextFiles {
		say("context file %s, told to the model in each session", file)
	}
	if len(p.ExcludedTools) > 0 {
		say("takes away the tools %s", strings.Join(p.ExcludedTools, ", "))
	}
	for _, s := range p.Settings {
		kind := ""
		if s.Sensitive {
			kind = ", kept secret"
		}
		say("setting %s, given to its programs as %s%s", s.Name, s.EnvVar, kind)
	}
	if p.Themes > 0 {
		say("themes: %d", p.Themes)
	}
	return c, nil
}

// visible spells out what a terminal would obey: control characters, line feeds
// too, and the marks that turn the direction of writing.
func visible(s string) string {
	obeyed := func(r rune) bool {
		return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == unicode.ReplacementChar
	}
	if !strings.ContainsFunc(s, obeyed) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case obeyed(r):
			fmt.Fprintf(&b, "<U+%04X>", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
