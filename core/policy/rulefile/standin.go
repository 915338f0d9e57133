package rulefile

import (
	"fmt"
	"strings"

	"github.com/fettle-dev/fettle/core/policy"
)

// standIn makes up for a rule that has a mistake. It asks, even for a rule that
// denies, so that a mistake is in nobody's way who is there to answer. Its
// conditions are those that could be read.
func (r *reader) standIn(rule policy.Rule) {
	if rule.Decision == policy.Allow || len(rule.Tools) == 0 {
		return
	}
	rule = asking(rule)
	if rule.Validate() == nil {
		r.file.StandIns = append(r.file.StandIns, rule)
	}
}

func asking(rule policy.Rule) policy.Rule {
	rule.Name = fmt.Sprintf("in place of the rule in line %d, which has a mistake", rule.Line)
	rule.Decision, rule.DenyMessage, rule.AllowRedirection, rule.TightensOnly = policy.AskUser, "", false, true
	return rule
}

// insteadOf returns the rule that asks where a checker cannot check.
func insteadOf(c policy.Checker) policy.Rule {
	return policy.Rule{
		Name:  fmt.Sprintf("in place of the safety checker in line %d, which has a mistake", c.Line),
		Tools: c.Tools, Decision: policy.AskUser, Priority: highest,
		Server: c.Server, ArgsPattern: c.ArgsPattern, CommandPrefix: c.CommandPrefix, CommandRegex: c.CommandRegex,
		Annotations: c.Annotations, Modes: c.Modes, Tier: c.Tier, Source: c.Source, Line: c.Line, TightensOnly: true,
	}
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
	lines := strings.SplitAfter(strings.TrimPrefix(string(data), string(byteOrderMark)), "\n")
	start := 0
	for i := 1; i <= len(lines); i++ {
		if i < len(lines) {
			here := strings.TrimLeft(lines[i], " \t")
			if !strings.HasPrefix(here, "[[") || !strings.Contains(here, "]]") {
				continue
			}
		}
		out = append(out, r.apart(start).piece(lines[start:i])...)
		start = i
	}
	return out
}

// piece reads some lines of a file. If these are no TOML either, nobody knows
// what they said, and what is left is to ask about the tools and servers that
// they name.
func (r *reader) piece(lines []string) []policy.Rule {
	text := strings.Join(lines, "")
	const least = 20 // a rule names a tool or a server
	if len(text) < least {
		return nil
	}
	if root, broken := readTOML([]byte(text)); broken == nil {
		r.document(root)
		return r.tightening()
	}
	skipped := r.skipped
	seen := make(map[string]bool)
	for i, line := range lines {
		key, _, _ := strings.Cut(line, "=")
		if key = strings.TrimSpace(key); key != "toolName" && key != "mcpName" || seen[line] {
			continue
		}
		seen[line] = true
		r.skipped = skipped + i
		if root, broken := readTOML([]byte("[[rule]]\n" + line)); broken == nil {
			r.document(root)
		}
	}
	return r.file.StandIns
}
