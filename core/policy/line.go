package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/confirmation"
	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/policy/shell"
)

// judge decides about a command line, part by part. The line is denied if a part
// is, and allowed if every part is.
type judge struct {
	*trial
	*commandLine
	index  *shellIndex
	judged []judged

	frees    []*free     // what the read-only table says about each part, computed on demand
	freeLine *free       // and about the rest of the line
	outs     []*[]output // possible outputs among each part's words, computed on demand

	tightest *rule // the highest rule with a command prefix that tightens
	looked   bool
}

// commandLine is the call's command line, with everything that does not depend on
// how it runs.
type commandLine struct {
	line   *shell.Line
	start  string // absolute directory in which the line starts; "" if unknown
	parts  []shell.Part
	brings []bool  // a part runs others
	uses   []*free // rows of the read-only table, computed on demand

	withheld *bool // see [judge.withholds]; nil: not computed yet

	spellings []spellings    // of parts, for the patterns of rules that tighten
	lines     map[*rule]bool // whose patterns match the unparsed line
	memory    [2]states      // of searches in texts with holes
	lineFound []*rule        // whose patterns may match it; nil: not computed yet
	literal   bool           // all words are known, computed with lineFound
	partFound [][]*rule      // whose patterns may match each part, likewise

	searched string // the command contained in texts
	texts    *texts
}

// judged is the decision on one part.
type judged struct {
	outcome
	verdict Verdict
	reason  string // "": see [judge.explained]
	remedy  string
	covers  int // number of the part's leading words that the allowing rule names
	asWrite *Decision
}

// takeApart parses the call's command line.
func (t *trial) takeApart(index *shellIndex) *judge {
	if t.args.line == nil {
		t.args.line = &commandLine{}
		t.parse(t.args.line)
	}
	return &judge{trial: t, commandLine: t.args.line, index: index}
}

func (t *trial) parse(j *commandLine) {
	j.start = t.call.base()
	if dir := t.args.text("dir_path"); dir != "" {
		j.start = t.call.absolute(dir)
	}
	command := t.args.text("command")
	j.line = t.call.Line
	if j.line == nil || j.line.Source != command {
		j.line = shell.Parse(command)
	}
	j.parts = j.line.Parts
	problem := j.line.Problem
	if strings.TrimSpace(command) == "" {
		problem = "there is no command"
	}
	switch {
	case problem != "":
		whole := shell.Part{Kind: shell.Unknown, Text: command, Parent: -1, Reason: "the line cannot be parsed: " + problem}
		j.parts = append(slices.Clip(j.parts), whole)
	case len(j.parts) == 0: // comments, or tests without commands
		j.parts = []shell.Part{{Kind: shell.Builtin, Text: command, Parent: -1}}
	}
	t.findTops(j)
	j.brings = make([]bool, len(j.parts))
	for _, p := range j.parts {
		if p.Parent >= 0 && p.Kind != shell.Write && !p.Option {
			j.brings[p.Parent] = true
		}
	}
}

// judge parses the call's command line and decides about its parts.
func (t *trial) judge(index *shellIndex) *judge {
	j := t.takeApart(index)
	j.judged = make([]judged, len(j.parts))
	for i := range j.parts {
		if j.parts[i].Kind != shell.Write {
			j.judged[i] = j.run(i)
		}
	}
	for i := range j.parts {
		if j.parts[i].Kind == shell.Write {
			j.judged[i] = j.write(i)
		}
	}
	return j
}

// decision returns the first of the strictest decisions on the parts; if all are
// allowed, the first one by a written rule.
func (j *judge) decision() Decision {
	first := 0
	parts := make([]confirmation.Part, len(j.parts))
	explicit := false // a written rule matches a part
	for i := range j.judged {
		v := j.explained(i)
		own := v.rule != nil && v.rule.own == written
		switch now := j.judged[first].verdict; {
		case strictness(v.verdict) > strictness(now), v.verdict == Allow && now == Allow && own && !explicit:
			first = i
		}
		explicit = explicit || own
		d := v.decided()
		parts[i] = confirmation.Part{Text: j.parts[i].Text, Decision: v.verdict, Rule: d.Rule, Tier: d.Tier,
			Source: d.Source, Line: d.Line, Reason: v.reason}
	}
	v := &j.judged[first]
	d := v.decided()
	d.Decision, d.Reason, d.Remedy = v.verdict, v.reason, v.remedy
	if j.lacksRule(first) && j.lackOthers(first) {
		d.Remedy += " Each part that no rule allows needs one."
	}
	if len(parts) > 1 && v.verdict == Allow {
		d.Reason = fmt.Sprintf("Each of its %d parts is allowed; %s: %s", len(parts), abridged(j.parts[first].Text), v.reason)
	} else if len(parts) > 1 {
		d.Reason = fmt.Sprintf("Of its %d parts, %s: %s", len(parts), abridged(j.parts[first].Text), v.reason)
	}
	if j.call.Mode == ModePlan && d.Decision != Deny && (d.Decision == AskUser || !explicit) {
		d = Decision{Explanation: confirmation.Explanation{Decision: AskUser, Rule: "plan mode", Tier: TierDefault.String(), Source: BuiltIn, Previews: true,
			Reason: "In plan mode a command is previewed and not run.",
			Remedy: "It can be run in another approval mode, or by a rule that allows it and has modes = [\"plan\"]."}}
	}
	d.Parts = parts
	return d
}

// lacksRule reports whether a part requires approval because no rule covers it.
func (j *judge) lacksRule(i int) bool {
	v := &j.judged[i]
	return v.verdict == AskUser && j.parts[i].Kind == shell.Command && v.decisive().own == ownAsks
}

// lackOthers reports whether a part lacks a rule other than the one that the
// first requires.
func (j *judge) lackOthers(first int) bool {
	for i := range j.judged {
		if j.lacksRule(i) && j.judged[i].remedy != j.judged[first].remedy {
			return true
		}
	}
	return false
}

// decided returns the origin of the part's verdict.
func (v *judged) decided() Decision {
	if v.asWrite != nil {
		return *v.asWrite
	}
	return decided(v.decisive(), v.verdict)
}

// due reports whether a checker's conditions may be met for a part.
func (j *judge) due(r *rule) bool {
	if !r.patterned() {
		return true
	}
	for i, p := range j.parts {
		if len(r.prefixes) == 0 {
			if j.matchText(r, i) != no {
				return true
			}
			continue
		}
		for _, prefix := range r.prefixes {
			if p.Kind == shell.Unknown {
				return true
			}
			if p.Kind == shell.Write {
				continue
			}
			for _, way := range append(sameAs(prefix), prefix) {
				if tightMatch(way, p.Words) != no {
					return true
				}
			}
		}
	}
	return false
}

// abridged returns a text for a message, quoted and shortened.
func abridged(s string) string { return escape.Quote(escape.Clip(s, 80)) }
