package rulefile

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/internal/position"
	"github.com/fettle-dev/fettle/core/policy"
)

// standIn makes up for a rule that has a mistake. It asks, even for a rule that
// denies, so that a mistake is in nobody's way who is there to answer. Its
// conditions are those that could be read.
func (r *reader) standIn(rule policy.Rule) {
	if rule.Decision == policy.Allow {
		return
	}
	rule.Name = fmt.Sprintf("in place of the rule in line %d, which has a mistake", rule.Line)
	rule.DenyMessage, rule.AllowRedirection = "", false
	r.file.StandIns = append(r.file.StandIns, asking(rule))
}

// insteadOf returns the rule that asks where a checker cannot check.
func insteadOf(c policy.Checker) policy.Rule {
	rule := c.Rule()
	rule.Name, rule.Priority = fmt.Sprintf("in place of the safety checker in line %d, which has a mistake", c.Line), highest
	return asking(rule)
}

// asking makes a rule one that asks and that an engine takes, about at least
// what it was about.
func asking(rule policy.Rule) policy.Rule {
	rule.Decision, rule.TightensOnly = policy.AskUser, true
	if len(rule.Tools) == 0 {
		rule.Tools, rule.Server = []string{"*"}, ""
		if len(rule.CommandPrefix) > 0 || rule.CommandRegex != "" {
			rule.Tools = []string{"run_shell_command"} // they go with no other
		} else {
			rule.Confined = nil // it goes with some tools alone
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

// guards reports whether the file is one that a person relies on whatever the
// project and its extensions say: what it holds must not be missed.
func (o Options) guards() bool { return o.Tier == policy.TierUser || o.Tier == policy.TierAdmin }

// insteadOfFile makes up for a file of which nothing can be read, and returns
// a clause that says how.
func (r *reader) insteadOfFile() string {
	if r.options.guards() {
		r.file.StandIns = []policy.Rule{r.everything("in place of the file, which cannot be read", 0)}
	}
	return made(r.file.StandIns)
}

// everything returns the rule that asks about every call.
func (r *reader) everything(name string, line int) policy.Rule {
	return asking(policy.Rule{Name: name, Priority: highest, Tier: r.options.Tier, Source: r.source, Line: line})
}

// made is a clause that says what stand-ins do.
func made(standIns []policy.Rule) string {
	if slices.ContainsFunc(standIns, asksAll) {
		return ", and until it is mended every call is asked about"
	}
	if len(standIns) > 0 {
		return ", and until it is mended what it denies, asks about or checks is judged by what can still be read"
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

// makeUp makes up for a table of a kind under a wrong header.
func (r *reader) makeUp(kind string, t *position.Table) {
	alone := r.apart(r.skipped)
	switch kind {
	case ruleTable:
		alone.rule(t)
	case checkerTable:
		alone.checker(t)
	}
	r.file.StandIns = append(r.file.StandIns, alone.tightening()...)
}

// tightening returns what a reader has found that only tightens.
func (r *reader) tightening() []policy.Rule {
	var out []policy.Rule
	for _, rule := range r.file.Rules {
		if rule.Decision != policy.Allow {
			out = append(out, rule)
		}
	}
	for _, c := range r.file.Checkers {
		out = append(out, insteadOf(c))
	}
	return append(out, r.file.StandIns...)
}

// salvage returns what can still be read of a file that is no TOML and only
// tightens. It reads each piece that begins with a line of a [[header]] alone.
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
		for _, rule := range r.apart(start).piece(lines[start:i]) {
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

// piece reads some lines of a file. If these are no TOML either, nobody knows
// what they said, and what is left is to ask about the tools and servers that
// they name, or about every call if that cannot be read.
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
	if unclear || !named && (r.options.guards() || slices.ContainsFunc(lines, heads)) {
		line := first + 1
		r.file.StandIns = append(r.file.StandIns, r.everything(fmt.Sprintf("in place of what begins in line %d and cannot be read", line), line))
	}
	return r.file.StandIns
}

// heads reports whether a line looks as if a rule or a checker began there.
func heads(line string) bool {
	line = strings.TrimLeft(line, " \t[")
	return strings.HasPrefix(line, ruleTable) || strings.HasPrefix(line, checkerTable)
}
