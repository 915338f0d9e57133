package rulefile

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/internal/position"
	"github.com/fettle-dev/fettle/core/policy"
)

// standIn adds a stand-in for an invalid rule. It asks even if the rule denies, so that
// an approver can still continue. It keeps the valid conditions.
func (r *reader) standIn(rule policy.Rule) {
	if rule.Decision == policy.Allow {
		return
	}
	rule.Name = fmt.Sprintf("in place of the rule in line %d, which has a mistake", rule.Line)
	rule.DenyMessage, rule.AllowRedirection = "", false
	r.file.StandIns = append(r.file.StandIns, askRule(rule))
}

// checkerStandIn returns the stand-in for an invalid checker.
func checkerStandIn(c policy.Checker) policy.Rule {
	rule := c.Rule
	rule.Name, rule.Priority = fmt.Sprintf("in place of the safety checker in line %d, which has a mistake", c.Line), highest
	return askRule(rule)
}

// askRule returns a valid rule that asks and matches at least the same calls.
func askRule(rule policy.Rule) policy.Rule {
	rule.Decision, rule.TightensOnly, rule.Run = policy.AskUser, true, ""
	if len(rule.Tools) == 0 {
		rule.Tools, rule.Server = []string{"*"}, ""
		if len(rule.CommandPrefix) > 0 || rule.CommandRegex != "" {
			rule.Tools = []string{"run_shell_command"} // they apply to no other tool
		} else {
			rule.Confined = nil // it applies to some tools only
		}
	}
	if rule.Validate() == nil {
		return rule
	}
	return policy.Rule{
		Name: rule.Name, Tools: []string{"*"}, Decision: policy.AskUser, Priority: rule.Priority,
		Tier: rule.Tier, Source: rule.Source, Line: rule.Line, TightensOnly: true,
	}
}

// isGuarded reports whether the file belongs to the user or the administrator, whose rules
// must not be lost.
func (o Options) isGuarded() bool { return o.Tier == policy.TierUser || o.Tier == policy.TierAdmin }

// fileStandIn adds the stand-in for an unreadable file, and returns a clause that
// describes it.
func (r *reader) fileStandIn() string {
	if r.options.isGuarded() {
		r.file.StandIns = []policy.Rule{r.askAll("in place of the file, which cannot be read", 0)}
	}
	return standInEffect(r.file.StandIns)
}

// askAll returns a rule that asks about every call.
func (r *reader) askAll(name string, line int) policy.Rule {
	return askRule(policy.Rule{Name: name, Priority: highest, Tier: r.options.Tier, Source: r.source, Line: line})
}

// standInEffect returns a clause that describes the effect of stand-ins.
func standInEffect(standIns []policy.Rule) string {
	if slices.ContainsFunc(standIns, asksAll) {
		return ", and until it is corrected every call needs approval"
	}
	if len(standIns) > 0 {
		return ", and until it is corrected the rules that deny, ask or check apply as far as they are readable"
	}
	return ""
}

// asksAll reports whether a rule asks about every call.
func asksAll(rule policy.Rule) bool {
	return reflect.DeepEqual(rule, policy.Rule{
		Name: rule.Name, Tools: []string{"*"}, Decision: policy.AskUser, Priority: rule.Priority, TightensOnly: true,
		Tier: rule.Tier, Source: rule.Source, Line: rule.Line,
	})
}

// addStandIns adds stand-ins for a table of a kind under a wrong header.
func (r *reader) addStandIns(kind string, t *position.Table) {
	alone := r.section(r.skipped)
	switch kind {
	case ruleTable:
		alone.rule(t)
	case checkerTable:
		alone.checker(t)
	}
	r.file.StandIns = append(r.file.StandIns, alone.tightening()...)
}

// tightening returns the rules of the reader that only tighten.
func (r *reader) tightening() []policy.Rule {
	var out []policy.Rule
	for _, rule := range r.file.Rules {
		if rule.Decision != policy.Allow {
			out = append(out, rule)
		}
	}
	for _, c := range r.file.Checkers {
		out = append(out, checkerStandIn(c))
	}
	return append(out, r.file.StandIns...)
}

// salvage returns the tightening rules that are still readable in a file with a syntax
// error. It parses each section from one [[header]] to the next separately.
func (r *reader) salvage(data []byte) []policy.Rule {
	var out []policy.Rule
	lines := strings.SplitAfter(strings.TrimPrefix(string(data), "\ufeff"), "\n")
	start, all := 0, false
	for i := 1; i <= len(lines); i++ {
		if i < len(lines) {
			here := strings.TrimLeft(lines[i], " \t")
			if !strings.HasPrefix(here, "[[") || !strings.Contains(here, "]]") {
				continue
			}
		}
		for _, rule := range r.section(start).piece(lines[start:i]) {
			again := rule.Priority == highest && asksAll(rule)
			if !again || !all {
				out = append(out, rule)
			}
			all = all || again
		}
		start = i
	}
	return out
}

// piece parses one section. If it has a syntax error too, the stand-ins ask about the
// tools and servers that it names, or about every call if the names are unreadable.
func (r *reader) piece(lines []string) []policy.Rule {
	text := strings.Join(lines, "")
	const least = 20 // a rule names a tool or a server
	if len(text) < least {
		return nil
	}
	if root, err := position.ParseTOML([]byte(text)); err == nil {
		r.document(root)
		return r.tightening()
	}
	first := r.skipped
	named, unclear := false, false
	seen := make(map[string]bool)
	for i, line := range lines {
		key, _, _ := strings.Cut(line, "=")
		key = strings.Trim(key, " \t{\"'")
		if key != "toolName" && key != "mcpName" {
			unclear = unclear || nearestKey(key, []string{"toolName"}) != "" ||
				namesServer(key, nearestKey(key, []string{"name", "mcpName", "modes"}))
			continue
		}
		named = true
		if seen[line] {
			continue
		}
		seen[line] = true
		r.skipped = first + i
		root, err := position.ParseTOML([]byte("[[rule]]\n" + line))
		if err != nil {
			unclear = true
			continue
		}
		r.document(root)
	}
	if unclear || !named && (r.options.isGuarded() || slices.ContainsFunc(lines, startsTable)) {
		line := first + 1
		r.file.StandIns = append(r.file.StandIns, r.askAll(fmt.Sprintf("in place of what begins in line %d and cannot be read", line), line))
	}
	return r.file.StandIns
}

// startsTable reports whether a line looks like the start of a rule or checker.
func startsTable(line string) bool {
	line = strings.TrimLeft(line, " \t[")
	return strings.HasPrefix(line, ruleTable) || strings.HasPrefix(line, checkerTable)
}
