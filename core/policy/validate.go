package policy

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/confirmation"
	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/policy/shell"
)

// Effective returns the rule's rank among all rules: tier + priority/1000, and
// 3.95 for an approval of the session. The highest takes precedence.
func (r Rule) Effective() float64 { return float64(r.rank()) / 1000 }

// rank returns Effective in thousandths.
func (r Rule) rank() int {
	if r.Session {
		return int(TierWorkspace)*1000 + alwaysAllowPriority
	}
	return int(r.Tier)*1000 + r.Priority
}

// tierName returns the tier as reported in a [Decision].
func (r Rule) tierName() string {
	if r.Session {
		return "session"
	}
	return r.Tier.String()
}

// label returns the rule's name in a decision.
func (r Rule) label() string {
	if r.Name != "" {
		return r.Name
	}
	return r.String()
}

// String returns the rule in short form, for example "deny run_shell_command(git
// push)", with all its conditions. Long ones are shortened.
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

// pairs returns annotations as key=value, sorted by key.
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

// short returns a shortened text for a short form.
func short(s string) string { return escape.Clip(s, 120) }

// Validate returns a *fault.Error of code invalid_config for an invalid rule. It
// checks names, decision, priority, modes, tier, patterns that are not valid RE2
// or that other engines cannot handle, and conditions on commands that are
// combined with another tool than run_shell_command or with each other.
func (r Rule) Validate() error {
	_, err := compileRule(r)
	return err
}

// Validate validates the checker, like [Rule.Validate]. Its priority may be any
// that is not negative.
func (c Checker) Validate() error {
	_, err := compileChecker(c)
	return err
}

// invalid returns the error for a mistake in a rule.
func invalid(rule Rule, format string, args ...any) error {
	where := "The rule " + rule.label()
	if rule.Source != "" {
		where += " of " + place(rule.Source, rule.Line)
	}
	return fault.New(fault.InvalidConfig, "policy.rule", where+" cannot be used: "+fmt.Sprintf(format, args...)+".",
		"Correct the rule or remove it.")
}

// place formats a line of a source.
func place(source string, line int) string {
	if line > 0 {
		return fmt.Sprintf("%s:%d", source, line)
	}
	return source
}

// effects lists the effects that a tool may declare.
var effects = []string{"read_files", "write_files", "run_process", "network", "ask_person"}

// checkNames validates names, decision, priority, tier and modes of a rule.
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
		return invalid(r, "%.40q is not an MCP server; use a server's name, or * for all", r.Server)
	}
	for _, effect := range r.Effects {
		if !slices.Contains(effects, effect) {
			return invalid(r, "%.40q is not an effect; use %s", effect, strings.Join(effects, ", "))
		}
	}
	switch r.Decision {
	case Allow, Deny, AskUser:
	default:
		return invalid(r, "%.40q is not a decision; use one of allow, deny, ask_user", r.Decision)
	}
	if r.Restricts && r.Decision != Deny {
		return invalid(r, "a restriction denies, and does not %s", r.Decision)
	}
	if r.Priority < 0 || r.Priority > 999 {
		return invalid(r, "the priority is %d, which is not between 0 and 999", r.Priority)
	}
	if !r.Session && (r.Tier < TierDefault || r.Tier > TierAdmin) {
		return invalid(r, "%d is not a tier", int(r.Tier))
	}
	for _, m := range r.Modes {
		if _, err := ParseApprovalMode(string(m)); err != nil || m == "" {
			return invalid(r, "%.40q is not an approval mode; use %s", m, modeNames(Modes()))
		}
	}
	return nil
}

// checkCommand checks that conditions on commands are alone and for the shell
// tool.
func checkCommand(r Rule) error {
	given := 0
	for _, has := range []bool{len(r.CommandPrefix) > 0, r.CommandRegex != "", r.ArgsPattern != ""} {
		if has {
			given++
		}
	}
	if given > 1 {
		return invalid(r, "commandPrefix, commandRegex and argsPattern are mutually exclusive")
	}
	if r.OtherCommands && (len(r.CommandPrefix) == 0 || r.Decision == Allow) {
		return invalid(r, "OtherCommands requires a commandPrefix and a decision other than allow")
	}
	if len(r.CommandPrefix) == 0 && r.CommandRegex == "" {
		return nil
	}
	if r.Server != "" || slices.ContainsFunc(r.Tools, func(t string) bool { return t != shellTool && t != shellAlias }) {
		return invalid(r, "commandPrefix and commandRegex require the tool %s", shellTool)
	}
	return nil
}

// canBeConfined lists the tools whose calls a rule may distinguish by
// confinement. For write_file these are the files that a command line writes.
var canBeConfined = []string{shellTool, shellAlias, backgroundInput, writeFile}

// CanBeConfined reports whether [Rule].Confined is valid for a tool of that name.
func CanBeConfined(tool string) bool { return slices.Contains(canBeConfined, tool) }

// checkConfined checks that the condition is used with tools that may be
// confined. With others it would never be met, or always, whatever its author
// intended.
func checkConfined(r Rule) error {
	if r.Confined == nil {
		return nil
	}
	if r.Server != "" || slices.ContainsFunc(r.Tools, func(t string) bool { return !CanBeConfined(t) }) {
		return invalid(r, "confined requires one of the tools %s", strings.Join(canBeConfined, ", "))
	}
	return nil
}

// checkRun checks that run occurs only in rules that allow commands, from a source
// that may let them run unconfined.
func checkRun(r Rule) error {
	switch {
	case r.Run == "":
		return nil
	case r.Run != confirmation.RunConfined && r.Run != confirmation.RunUnconfined:
		return invalid(r, "%.40q is not a value of run; use confined or unconfined", r.Run)
	case r.Decision != Allow:
		return invalid(r, "run goes with the decision allow alone")
	case r.Server != "" || slices.ContainsFunc(r.Tools, func(t string) bool { return t != shellTool && t != shellAlias }):
		return invalid(r, "run goes with the tool %s alone", shellTool)
	case r.Confined != nil && *r.Confined != (r.Run == confirmation.RunConfined):
		return invalid(r, "confined and run contradict each other")
	case r.Run == confirmation.RunUnconfined && r.ofProject():
		return invalid(r, "only rules of the user and of the administrator may let commands run unconfined")
	}
	return nil
}

// prefixes parses the rule's command prefixes into words.
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
