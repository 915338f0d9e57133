package rulefile

import (
	"fmt"
	"slices"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/internal/position"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/policy/shell"
)

// What a mistake does to a rule.
const (
	allowLost = "The rule is left out; the others hold."
	ruleLost  = "The rule asks instead, about whatever it may be meant for; the others hold."
)

// rule reads one [[rule]].
func (r *reader) rule(t *position.Table) {
	lost := ruleLost
	if e := t.Find("decision"); e != nil && e.Value == string(policy.Allow) {
		lost = allowLost
	}
	f := r.fields(t, "", lost)
	rule := f.rule()
	f.nested(rule)
	f.unknownKeys(&rule)
	if !f.spoil {
		f.lastCheck(rule.Validate())
	}
	if f.spoil {
		r.standIn(rule)
		return
	}
	r.accept(rule)
}

// rule reads the keys of a rule. What cannot be read is zero.
func (f *fields) rule() policy.Rule {
	f.need("decision", "priority")
	rule := f.conditions()
	rule.Name = f.line("name")
	rule.Decision = f.verdict("decision")
	rule.Priority = f.priority()
	rule.Subagent = f.line("subagent")
	rule.Interactive = f.flag("interactive")
	rule.Effects = f.effects()
	if b := f.flag("allowRedirection", "allow_redirection"); b != nil {
		rule.AllowRedirection = *b
	}
	rule.DenyMessage = f.text("denyMessage", "deny_message")
	return rule
}

// highest is the highest priority of a rule, and that of one in whose place
// another stands.
const highest = 999

func (f *fields) priority() int {
	n, ok := f.integer("priority")
	switch {
	case !ok:
		return highest
	case n < 0 || n > highest:
		f.fail(f.get("priority").Line, "priority", KindSchema,
			fmt.Sprintf("It is %d, and must be an integer from 0 to %d.", n, highest), "")
		return highest
	}
	return int(n)
}

// verdict reads what a rule decides.
func (f *fields) verdict(keys ...string) policy.Verdict {
	return policy.Verdict(f.choice([]string{string(policy.Allow), string(policy.Deny), string(policy.AskUser)}, keys...))
}

// conditions reads the conditions that rules and checkers have in common.
func (f *fields) conditions() policy.Rule {
	rule := policy.Rule{Tier: f.r.options.Tier, Source: f.r.source, Line: f.t.Line + f.r.skipped}
	rule.Server = f.line("mcpName")
	rule.Tools = f.toolNames(rule.Server)
	if rule.Server == "" && f.t.Find("mcpName") != nil {
		rule.Tools = nil // they are another server's
	}
	rule.Modes = f.modes()
	rule.Annotations = f.annotations()
	rule.Confined = f.confined(rule)
	f.patterns(&rule)
	return rule
}

// toolNames reads the names of tools, of which one must be there unless a
// server is named, all of whose tools are meant then.
func (f *fields) toolNames(server string) []string {
	e := f.get("toolName")
	if e == nil {
		if server != "" {
			return []string{"*"}
		}
		if f.t.Find("mcpName") == nil {
			remedy := "Name the tool, or write toolName = \"*\" for all."
			for _, other := range f.t.Members {
				if nearestKey(other.Key, []string{"toolName"}) != "" {
					remedy = "Write toolName instead of " + clip(other.Key) + "."
				}
			}
			f.fail(f.t.Line, "toolName", KindSchema, "The key is missing.", remedy)
		}
		return nil
	}
	names := f.texts(true, false, "toolName")
	if server != "" {
		return names
	}
	for _, name := range names {
		if doubt := f.r.names.doubt(name); doubt != "" {
			f.warn(e.Line, "toolName", KindToolName, doubt, "")
		}
	}
	return names
}

// modes reads approval modes. None and an empty array mean all.
func (f *fields) modes() []policy.ApprovalMode {
	e := f.get("modes")
	var modes []policy.ApprovalMode
	for _, text := range f.texts(false, true, "modes") {
		mode, err := policy.ParseApprovalMode(text)
		if err != nil {
			f.badChoice(e.Line, "modes", text, []string{"default", "autoEdit", "yolo", "plan"})
			return nil
		}
		if !slices.Contains(modes, mode) {
			modes = append(modes, mode)
		}
	}
	return modes
}

func (f *fields) effects() []string {
	known := []string{"read_files", "write_files", "run_process", "network", "ask_person"}
	e := f.get("effects")
	effects := f.texts(false, false, "effects")
	for _, effect := range effects {
		if !slices.Contains(known, effect) {
			f.badChoice(e.Line, "effects", effect, known)
			return nil
		}
	}
	return effects
}

func (f *fields) annotations() map[string]any {
	e := f.get("toolAnnotations")
	annotations := f.settings("toolAnnotations")
	if e != nil && annotations != nil && len(annotations) == 0 {
		f.fail(e.Line, e.Key, KindSchema, "The table is empty.", "Remove it, or name an annotation.")
	}
	return annotations
}

// patterns reads what is compared with the arguments. Of the keys for it a
// rule has one, and those about command lines fit the shell tool alone.
func (f *fields) patterns(rule *policy.Rule) {
	rule.ArgsPattern = f.pattern("argsPattern")
	rule.CommandRegex = f.pattern("commandRegex")
	rule.CommandPrefix = f.prefixes()
	var given []*position.Member
	for _, key := range []string{"argsPattern", "commandPrefix", "commandRegex"} {
		if e := f.t.Find(key); e != nil {
			given = append(given, e)
		}
	}
	if len(given) > 1 {
		last := slices.MaxFunc(given, func(a, b *position.Member) int { return a.Line - b.Line })
		f.fail(last.Line, last.Key, KindRule, "A rule has one of argsPattern, commandPrefix and commandRegex.",
			"Write a rule for each.")
		rule.ArgsPattern, rule.CommandRegex, rule.CommandPrefix = "", "", nil
	}
	for _, e := range given {
		if e.Key == "argsPattern" || len(rule.Tools) == 0 || onlyShell(rule.Tools) && rule.Server == "" {
			continue
		}
		f.fail(e.Line, e.Key, KindRule, "It is about command lines, and the rule names other tools than run_shell_command.",
			`Write toolName = "run_shell_command", and another rule for other tools.`)
		rule.CommandRegex, rule.CommandPrefix = "", nil
	}
}

// confined reads whether a rule is about confined commands or about others. It
// goes with the tools that may be confined.
func (f *fields) confined(rule policy.Rule) *bool {
	given := f.flag("confined")
	if given == nil || len(rule.Tools) == 0 {
		return given
	}
	for _, tool := range rule.Tools {
		if !policy.CanBeConfined(tool) || rule.Server != "" {
			f.fail(f.get("confined").Line, "confined", KindRule, "It is about commands, and the rule names "+quote(tool)+", which runs none.",
				"Write a rule of its own for run_shell_command.")
			return nil
		}
	}
	return given
}

func onlyShell(tools []string) bool {
	return len(tools) == 1 && (tools[0] == "run_shell_command" || tools[0] == "ShellTool")
}

func (f *fields) pattern(key string) string {
	s := f.text(key)
	if s == "" {
		return ""
	}
	if err := policy.CheckPattern(s); err != nil {
		f.fail(f.get(key).Line, key, KindPattern, fmt.Sprintf("The pattern cannot be used: %v.", err), "")
		return ""
	}
	return s
}

func (f *fields) prefixes() []string {
	prefixes := f.texts(true, false, "commandPrefix")
	for _, prefix := range prefixes {
		if _, err := shell.Prefix(prefix); err != nil {
			f.fail(f.get("commandPrefix").Line, "commandPrefix", KindRule,
				fmt.Sprintf("%s is not the beginning of a command (%s).", quote(prefix), clip(err.Error())),
				"Write a program and the words behind it, as in \"git status\".")
			return nil
		}
	}
	return prefixes
}

// unknownKeys reports the keys that nobody reads. One of a rule that allows
// drops it, as it may be a condition, unless it resembles a key that is none.
// One that may name a server drops any rule, as its tools are not the ones that
// it would be about without.
func (f *fields) unknownKeys(rule *policy.Rule) {
	harmless := []string{"name", "denyMessage", "deny_message", "allowRedirection", "allow_redirection", "decision", "priority"}
	for _, e := range f.unknown() {
		message := fmt.Sprintf("The key %s is unknown.", quote(e.Key))
		nearest := nearestKey(e.Key, f.known())
		remedy := "Remove it."
		switch {
		case nearest != "":
			remedy = "Is " + nearest + " meant?"
		}
		if namesServer(e.Key, nearest) && rule.Decision != policy.Allow {
			rule.Tools = nil
			f.fail(e.Line, e.Key, KindUnknownKey, message+" It may be meant to name a server.", "Is mcpName meant?")
			continue
		}
		if rule.Decision != policy.Allow || slices.Contains(harmless, nearest) {
			f.warn(e.Line, e.Key, KindUnknownKey, message+" It is not read.", remedy)
			continue
		}
		f.fail(e.Line, e.Key, KindUnknownKey, message+" It may be meant to narrow what the rule allows.", remedy)
	}
}

// namesServer reports whether a key that nobody knows, which resembles a known
// one or none, may be meant for mcpName.
func namesServer(key, nearest string) bool {
	return nearest == "mcpName" || nearest == "" && nearestKey(key, []string{"server", "serverName", "mcpServer"}) != ""
}

// lastCheck reports what an engine would not take.
func (f *fields) lastCheck(err error) {
	if err == nil {
		return
	}
	message, remedy := err.Error(), ""
	if e := fault.As(err); e != nil {
		message, remedy = e.Message, e.Remedy
	}
	f.fail(f.t.Line, "", KindRule, message, remedy)
}

// accept puts a rule without mistakes in force, as far as the file may.
func (r *reader) accept(rule policy.Rule) {
	if why, remedy := r.mayNot(rule.Decision == policy.Allow, rule.Modes); why != "" {
		r.report(rule.Line, "", KindIgnored, Warning, "The rule is ignored "+why, remedy)
		return
	}
	if r.options.TightenOnly {
		rule.Name = ""
	}
	if r.options.TightenOnly && rule.DenyMessage != "" {
		rule.DenyMessage = ""
		r.report(rule.Line, "denyMessage", KindIgnored, Warning,
			"The rule holds, but its message is kept from the model because the directory is not trusted.", trustRemedy)
	}
	rule.Approval = remembers(r.file.Path, rule)
	rule.TightensOnly = rule.Decision == policy.AskUser && (r.options.TightenOnly || r.options.Tier == policy.TierExtension)
	r.file.Rules = append(r.file.Rules, rule)
}

const trustRemedy = "Run `fettle trust` in the directory if you trust what is in it."

// mayNot says why this file may not hold what allows, or is for these modes.
func (r *reader) mayNot(allows bool, modes []policy.ApprovalMode) (why, remedy string) {
	switch {
	case r.options.TightenOnly && allows:
		return "because it allows and the directory is not trusted.", trustRemedy
	case r.options.Tier == policy.TierExtension && allows:
		return "because it allows: extensions only deny and ask.", "Copy the rule into a policy file of your own if you want it."
	case r.options.Tier == policy.TierExtension && slices.Contains(modes, policy.ModeYolo):
		return "because it names the mode yolo, which extensions have no say in.", "Leave modes out for a rule that holds in all of them."
	}
	return "", ""
}
