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
	rule.Decision, rule.DenyMessage, rule.AllowRedirection = policy.AskUser, "", false
	return rule
}

// insteadOf returns the rule that asks where a checker cannot check.
func insteadOf(c policy.Checker) policy.Rule {
	return policy.Rule{
		Name:  fmt.Sprintf("in place of the safety checker in line %d, which has a mistake", c.Line),
		Tools: c.Tools, Decision: policy.AskUser, Priority: highest,
		Server: c.Server, ArgsPattern: c.ArgsPattern, CommandPrefix: c.CommandPrefix, CommandRegex: c.CommandRegex,
		Annotations: c.Annotations, Modes: c.Modes, Tier: c.Tier, Source: c.Source, Line: c.Line,
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
func salvage(path string, data []byte, o Options) []policy.Rule {
	var out []policy.Rule
	text := strings.TrimPrefix(string(data), string(byteOrderMark))
	line, start, startLine := 1, 0, 1
	piece := func(end int) {
		r := newReader(path, o)
		r.skipped = startLine - 1
		out = append(out, r.piece(text[start:end])...)
	}
	for offset := 0; offset < len(text); line++ {
		length := strings.IndexByte(text[offset:], '\n') + 1
		if length == 0 {
			length = len(text) - offset
		}
		if offset > start && strings.HasPrefix(strings.TrimLeft(text[offset:offset+length], " \t"), "[[") {
			piece(offset)
			start, startLine = offset, line
		}
		offset += length
	}
	piece(len(text))
	return out
}

// piece reads a piece of a file, without lines that are no TOML. Where some
// are left out, they may have held conditions, and its rules ask.
func (r *reader) piece(text string) []policy.Rule {
	const least = 30 // a rule has a tool, a decision and a priority
	const most = 4   // lines that are left out
	if len(text) < least {
		return nil
	}
	for left := range most + 1 {
		root, broken := readTOML([]byte(text))
		if broken != nil {
			text = withoutLine(text, broken.line)
			continue
		}
		r.document(root)
		found := r.tightening()
		for i := range found {
			if left > 0 {
				found[i] = asking(found[i])
			}
		}
		return found
	}
	return nil
}

// withoutLine returns text with a blank line in the place of that one.
func withoutLine(text string, line int) string {
	lines := strings.SplitAfter(text, "\n")
	if line > 0 && line <= len(lines) {
		lines[line-1] = "\n"
	}
	return strings.Join(lines, "")
}
