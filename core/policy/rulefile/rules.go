package rulefile

import (
	"fmt"
	"slices"

	"github.com/fettle-dev/fettle/core/confirmation"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/internal/position"
	"github.com/fettle-dev/fettle/core/policy"
	"github.com/fettle-dev/fettle/core/policy/shell"
)

// The effects of a problem on a rule.
const (
	allowDropped = "The rule is not in force; other rules are not affected."
	ruleDropped  = "The rule asks instead, about every call that it may match; other rules are not affected."
)

// rule reads a [[rule]].
func (r *reader) rule(t *position.Table) {
	effect := ruleDropped
	if e := t.Find("decision"); e != nil && e.Value == string(policy.Allow) {
		effect = allowDropped
	}
	f := r.fields(t, "", effect)
	rule := f.rule()
	f.nested(rule)
	f.unknownKeys(&rule)
	if !f.invalid {
		f.lastCheck(rule.Validate())
	}
	if f.invalid {
		r.standIn(rule)
		return
	}
	r.accept(rule)
}

// rule reads the keys of a rule. Invalid ones are zero.
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
	rule.Run = f.run(rule.Decision)
	rule.DenyMessage = f.text("denyMessage", "deny_message")
	return rule
}

// highest is the highest priority of a rule, and the priority of stand-ins.
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

// verdict reads a decision.
func (f *fields) verdict(keys ...string) policy.Verdict {
	return policy.Verdict(f.choice([]string{string(policy.Allow), string(policy.Deny), string(policy.AskUser)}, keys...))
}

// conditions reads the conditions that rules and checkers share.
func (f *fields) conditions() policy.Rule {
	rule := policy.Rule{Tier: f.r.options.Tier, Source: f.r.source, Line: f.t.Line + f.r.skipped}
	rule.Server = f.line("mcpName")
	rule.Tools = f.toolNames(rule.Server)
	if rule.Server == "" && f.t.Find("mcpName") != nil {
		rule.Tools = nil // they belong to an unknown server
	}
	rule.Modes = f.modes()
	rule.Annotations = f.annotations()
	rule.Confined = f.confined(rule)
	f.patterns(&rule)
	return rule
}

// toolNames reads the names of tools. They are required unless a server is named; then
// all tools of the server are meant.
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

// modes reads approval modes. A missing key and an empty array mean all modes.
func (f *fields) modes() []policy.ApprovalMode {
	e := f.get("modes")
	var modes []policy.ApprovalMode
	for _, text := range f.texts(false, true, "modes") {
		mode, err := policy.ParseApprovalMode(text)
		if err != nil {
			f.badMode(e.Line, "modes", text)
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

// patterns reads the conditions on arguments. A rule has at most one of their keys, and
// conditions on command lines apply only to the shell tool.
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
		f.fail(e.Line, e.Key, KindRule, "It applies to command lines, but the rule names tools other than run_shell_command.",
			`Write toolName = "run_shell_command", and another rule for other tools.`)
		rule.CommandRegex, rule.CommandPrefix = "", nil
	}
}

// confined reads the condition on confinement, which applies only to tools that can be
// confined.
func (f *fields) confined(rule policy.Rule) *bool {
	given := f.flag("confined")
	if given == nil || len(rule.Tools) == 0 {
		return given
	}
	for _, tool := range rule.Tools {
		if !policy.CanBeConfined(tool) || rule.Server != "" {
			f.fail(f.get("confined").Line, "confined", KindRule, "It applies to commands, but the rule names "+quote(tool)+", which runs no command.",
				"Write a rule of its own for run_shell_command.")
			return nil
		}
	}
	return given
}

// run reads how a command runs that the rule allows. In other rules it has no effect.
func (f *fields) run(decision policy.Verdict) confirmation.Run {
	run := confirmation.Run(f.choice([]string{string(confirmation.RunConfined), string(confirmation.RunUnconfined)}, "run"))
	if e := f.get("run"); e != nil && decision != policy.Allow && decision != "" {
		f.warn(e.Line, "run", KindRule, "It has an effect in rules that allow only.", "Remove it.")
		return ""
	}
	return run
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
				"Write a program and its first arguments, as in \"git status\".")
			return nil
		}
	}
	return prefixes
}

// unknownKeys reports unknown keys. In a rule that allows, such a key may be a
// misspelled condition; it drops the rule unless it resembles a key that is no
// condition. A key that may name a server drops any rule, because the rule is about the
// tools of that server only.
func (f *fields) unknownKeys(rule *policy.Rule) {
	harmless := []string{"name", "denyMessage", "deny_message", "allowRedirection", "allow_redirection", "decision", "priority"}
	for _, e := range f.unknown() {
		message := fmt.Sprintf("The key %s is unknown.", quote(e.Key))
		nearest := nearestKey(e.Key, f.known())
		remedy := "Remove it."
		switch {
		case nearest != "":
			remedy = "Did you mean " + nearest + "?"
		}
		if namesServer(e.Key, nearest) && rule.Decision != policy.Allow {
			rule.Tools = nil
			f.fail(e.Line, e.Key, KindUnknownKey, message+" It may name a server.", "Did you mean mcpName?")
			continue
		}
		if rule.Decision != policy.Allow || slices.Contains(harmless, nearest) {
			f.warn(e.Line, e.Key, KindUnknownKey, message+" It is not read.", remedy)
			continue
		}
		f.fail(e.Line, e.Key, KindUnknownKey, message+" It may be a condition that narrows the rule.", remedy)
	}
}

// namesServer reports whether an unknown key may be a misspelled mcpName. nearest is the
// known key that it resembles, or "".
func namesServer(key, nearest string) bool {
	return nearest == "mcpName" || nearest == "" && nearestKey(key, []string{"server", "serverName", "mcpServer"}) != ""
}

// lastCheck reports a rule or checker that an engine would refuse.
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

// accept adds a valid rule, unless the file may not contain it.
func (r *reader) accept(rule policy.Rule) {
	if why, remedy := r.whyIgnored(rule.Decision == policy.Allow, rule.Modes); why != "" {
		r.report(rule.Line, "", KindIgnored, Warning, "The rule is ignored "+why, remedy)
		return
	}
	if r.options.TightenOnly {
		rule.Name = ""
	}
	if r.options.TightenOnly && rule.DenyMessage != "" {
		rule.DenyMessage = ""
		r.report(rule.Line, "denyMessage", KindIgnored, Warning,
			"The rule applies, but the model does not receive its message because the directory is not trusted.", trustRemedy)
	}
	rule.Approval = isSavedApproval(r.file.Path, rule)
	rule.TightensOnly = rule.Decision == policy.AskUser && (r.options.TightenOnly || r.options.Tier == policy.TierExtension)
	r.file.Rules = append(r.file.Rules, rule)
}

const trustRemedy = "Run `fettle trust` in the directory if you trust its files."

// whyIgnored returns the reason why the file may not contain a rule or checker; "" if it
// may.
func (r *reader) whyIgnored(allows bool, modes []policy.ApprovalMode) (why, remedy string) {
	switch {
	case r.options.TightenOnly && allows:
		return "because it allows and the directory is not trusted.", trustRemedy
	case r.options.Tier == policy.TierExtension && allows:
		return "because it allows: extensions only deny and ask.", "Copy the rule into a policy file of your own if you want it."
	case r.options.Tier == policy.TierExtension && slices.Contains(modes, policy.ModeYolo):
		return "because it names the mode yolo, which extensions cannot use.", "Omit modes for a rule that applies in all modes."
	}
	return "", ""
}
