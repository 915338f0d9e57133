package policy

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/policy/shell"
)

// Effective returns the rule's place among all rules: tier + priority/1000,
// and 3.95 for an approval of the session. The highest wins.
func (r Rule) Effective() float64 { return float64(r.rank()) / 1000 }

// rank is Effective in thousandths.
func (r Rule) rank() int {
	if r.Session {
		return int(TierWorkspace)*1000 + AlwaysAllowPriority
	}
	return int(r.Tier)*1000 + r.Priority
}

// tierName is the tier as a [Decision] tells it.
func (r Rule) tierName() string {
	if r.Session {
		return "session"
	}
	return r.Tier.String()
}

// label is what a decision calls the rule.
func (r Rule) label() string {
	if r.Name != "" {
		return r.Name
	}
	return r.String()
}

// String returns the rule in short form, as "deny run_shell_command(git push)",
// with all its conditions. Long ones are cut.
func (r Rule) String() string {
	var b strings.Builder
	b.WriteString(string(r.Decision))
	b.WriteByte(' ')
	if r.Server != "" {
		b.WriteString(short(r.Server))
		b.WriteByte('/')
	}
	b.WriteString(few(r.Tools, "|"))
	switch {
	case r.OtherCommands:
		b.WriteString("(other than " + few(r.CommandPrefix, ", ") + ")")
	case len(r.CommandPrefix) > 0:
		b.WriteString("(" + few(r.CommandPrefix, ", ") + ")")
	case r.CommandRegex != "":
		b.WriteString("(/" + short(r.CommandRegex) + "/)")
	case r.ArgsPattern != "":
		b.WriteString("(/" + short(r.ArgsPattern) + "/)")
	}
	for _, condition := range conditions {
		if condition.given(&r) {
			b.WriteString(condition.short(&r))
		}
	}
	return b.String()
}

// pairs lists annotations as key=value, by key.
func pairs(annotations map[string]any) []string {
	var all []string
	for _, key := range slices.Sorted(maps.Keys(annotations)) {
		all = append(all, fmt.Sprintf("%s=%v", key, annotations[key]))
	}
	return all
}

func modeNames(modes []ApprovalMode) string {
	names := make([]string, len(modes))
	for i, m := range modes {
		names[i] = m.String()
	}
	return strings.Join(names, ", ")
}

// few joins the first of some texts for a short form.
func few(all []string, separator string) string {
	const most = 4
	shown := make([]string, 0, most)
	for i, s := range all {
		if i == most-1 && len(all) > most {
			return strings.Join(append(shown, "…"), separator)
		}
		shown = append(shown, short(s))
	}
	return strings.Join(shown, separator)
}

// short is a text for a short form, cut.
func short(s string) string { return escape.Clip(s, 120) }

// Validate reports what makes the rule unusable, as a *fault.Error of code
// invalid_config: names, decision, priority, modes, tier, patterns that no
// RE2 can be made of or that other engines choke on, and conditions on
// commands that go with another tool than run_shell_command or with each
// other (AR-26).
func (r Rule) Validate() error {
	_, err := compileRule(r)
	return err
}

// Validate reports what makes the checker unusable, like [Rule.Validate]. Its
// priority may be any that is not negative.
func (c Checker) Validate() error {
	_, err := compileChecker(c)
	return err
}

// invalid is a mistake in a rule.
func invalid(rule Rule, format string, args ...any) error {
	where := "The rule " + rule.label()
	if rule.Source != "" {
		where += " of " + place(rule.Source, rule.Line)
	}
	return fault.New(fault.InvalidConfig, "policy.rule", where+" cannot be used: "+fmt.Sprintf(format, args...)+".",
		"Correct the rule or remove it.")
}

// place names a line of a source.
func place(source string, line int) string {
	if line > 0 {
		return fmt.Sprintf("%s:%d", source, line)
	}
	return source
}

// effects are what a tool may declare that it does.
var effects = []string{"read_files", "write_files", "run_process", "network", "ask_person"}

// checkNames checks names, decision, priority, tier and modes of a rule.
func checkNames(r Rule) error {
	if len(r.Tools) == 0 {
		return invalid(r, "it names no tool; * stands for all")
	}
	for _, tool := range r.Tools {
		if strings.TrimSpace(tool) == "" {
			return invalid(r, "the name of a tool is empty; * stands for all")
		}
	}
	if strings.Contains(r.Server, "*") && r.Server != "*" {
		return invalid(r, "%.40q is no MCP server; give a server's name, or * for all", r.Server)
	}
	for _, effect := range r.Effects {
		if !slices.Contains(effects, effect) {
			return invalid(r, "%.40q is no effect; use %s", effect, strings.Join(effects, ", "))
		}
	}
	switch r.Decision {
	case Allow, Deny, AskUser:
	default:
		return invalid(r, "%.40q is no decision; use one of allow, deny, ask_user", r.Decision)
	}
	if r.Restricts && r.Decision != Deny {
		return invalid(r, "a restriction denies, and does not %s", r.Decision)
	}
	if r.Priority < 0 || r.Priority > 999 {
		return invalid(r, "the priority is %d, which does not lie between 0 and 999", r.Priority)
	}
	if !r.Session && (r.Tier < TierDefault || r.Tier > TierAdmin) {
		return invalid(r, "%d is no tier", int(r.Tier))
	}
	for _, m := range r.Modes {
		if _, err := ParseApprovalMode(string(m)); err != nil || m == "" {
			return invalid(r, "%.40q is no approval mode; use default, autoEdit, yolo, plan", m)
		}
	}
	return nil
}

// checkCommand checks that conditions on commands stand alone and with the
// shell tool.
func checkCommand(r Rule) error {
	given := 0
	for _, has := range []bool{len(r.CommandPrefix) > 0, r.CommandRegex != "", r.ArgsPattern != ""} {
		if has {
			given++
		}
	}
	if given > 1 {
		return invalid(r, "commandPrefix, commandRegex and argsPattern exclude each other")
	}
	if r.OtherCommands && (len(r.CommandPrefix) == 0 || r.Decision == Allow) {
		return invalid(r, "other commands than those of a commandPrefix can be denied or asked about, and nothing else")
	}
	if len(r.CommandPrefix) == 0 && r.CommandRegex == "" {
		return nil
	}
	if r.Server != "" || slices.ContainsFunc(r.Tools, func(t string) bool { return t != shellTool && t != shellAlias }) {
		return invalid(r, "commandPrefix and commandRegex go with the tool %s alone", shellTool)
	}
	return nil
}

// canBeConfined are the tools whose calls a rule may tell apart by what
// confines them. Of write_file these are the files that a command line writes.
var canBeConfined = []string{shellTool, shellAlias, "write_background_input", writeFile}

// CanBeConfined reports whether [Rule].Confined goes with a tool of that name.
func CanBeConfined(tool string) bool { return slices.Contains(canBeConfined, tool) }

// checkConfined checks that the condition goes with tools that may be confined.
// With others it would never hold, or always, whatever its author meant.
func checkConfined(r Rule) error {
	if r.Confined == nil {
		return nil
	}
	if r.Server != "" || slices.ContainsFunc(r.Tools, func(t string) bool { return !CanBeConfined(t) }) {
		return invalid(r, "confined goes with the tools %s alone", strings.Join(canBeConfined, ", "))
	}
	return nil
}

// prefixes reads the rule's command prefixes as words.
func prefixes(r Rule) ([][]string, error) {
	var all [][]string
	for _, p := range r.CommandPrefix {
		words, err := shell.Prefix(p)
		if err != nil {
			return nil, invalid(r, "the commandPrefix %.80q is none: %v", p, err)
		}
		if len(words) == 0 {
			return nil, invalid(r, "a commandPrefix is empty")
		}
		all = append(all, words)
	}
	return all, nil
}
