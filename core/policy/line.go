package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/policy/shell"
)

// judge decides about a command line, part by part. The line is denied if a
// part is, and allowed if every part is.
type judge struct {
	*trial
	index  *shellIndex
	line   *shell.Line
	start  string // absolute folder that the line starts in; "" if unknown
	parts  []shell.Part
	brings []bool // a part runs others
	judged []judged

	tightest *rule // the highest rule with a command prefix that tightens
	looked   bool

	searched string // the command that forms and real have in them
	forms    []string
	real     string
}

// judged is the decision on one part.
type judged struct {
	outcome
	verdict Verdict
	reason  string
	remedy  string
	covers  int // the part's leading words that the allowing rule names
	asWrite *Decision
}

// judge takes the call's command line apart and decides about its parts.
func (t *trial) judge(index *shellIndex) *judge {
	j := &judge{trial: t, index: index, start: t.call.base()}
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
		whole := shell.Part{Kind: shell.Unknown, Text: command, Parent: -1, Reason: "the line cannot be taken apart: " + problem}
		j.parts = append(slices.Clip(j.parts), whole)
	case len(j.parts) == 0: // comments, or tests without commands
		j.parts = []shell.Part{{Kind: shell.Builtin, Text: command, Parent: -1}}
	}
	j.brings = make([]bool, len(j.parts))
	for _, p := range j.parts {
		if p.Parent >= 0 && p.Kind != shell.Write {
			j.brings[p.Parent] = true
		}
	}
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

// decision is the strictest of the parts' decisions, the first such.
func (j *judge) decision() Decision {
	first := 0
	parts := make([]Part, len(j.parts))
	explicit := false // a rule allows a part for plan mode
	for i := range j.judged {
		v := &j.judged[i]
		if v.verdict.strictness() > j.judged[first].verdict.strictness() {
			first = i
		}
		explicit = explicit || v.rule != nil && v.rule.own == written
		d := v.decided()
		parts[i] = Part{Text: j.parts[i].Text, Decision: v.verdict, Rule: d.Rule, Tier: d.Tier,
			Source: d.Source, Line: d.Line, Reason: v.reason}
	}
	v := &j.judged[first]
	d := v.decided()
	d.Decision, d.Reason, d.Remedy = v.verdict, v.reason, v.remedy
	if len(parts) > 1 && v.verdict == Allow {
		d.Reason = fmt.Sprintf("Each of its %d parts is allowed; the first: %s", len(parts), v.reason)
	} else if len(parts) > 1 {
		d.Reason = fmt.Sprintf("Of its %d parts, %s: %s", len(parts), abridged(j.parts[first].Text), v.reason)
	}
	if j.call.Mode == ModePlan && d.Decision != Deny && (d.Decision == AskUser || !explicit) {
		d = Decision{Decision: AskUser, Rule: "plan mode", Tier: TierDefault.String(), Source: builtIn, Previews: true,
			Reason: "In plan mode a command is shown and not run.",
			Remedy: "It can be run in another approval mode."}
	}
	d.Parts = parts
	return d
}

// decided is where the part's verdict comes from.
func (v *judged) decided() Decision {
	if v.asWrite != nil {
		return *v.asWrite
	}
	return decided(v.decisive(), v.verdict)
}

// due reports whether a checker's conditions may hold for a part.
func (j *judge) due(r *rule) bool {
	if !r.patterned() {
		return true
	}
	for i, p := range j.parts {
		if len(r.prefixes) == 0 {
			if j.matchText(r, &j.parts[i]) != no {
				return true
			}
			continue
		}
		for _, prefix := range r.prefixes {
			if p.Kind == shell.Unknown || p.Kind != shell.Write && tightMatch(prefix, p.Words) != no {
				return true
			}
		}
	}
	return false
}

// run decides about a part that runs something.
func (j *judge) run(i int) judged {
	p := &j.parts[i]
	refs := j.relevant(i)
	cover, covered := j.cover(p)
	var out outcome
	covers := 0
	general := j.index.general
	for out.rule == nil {
		next, ok := ref{}, false
		switch {
		case len(general) > 0 && (len(refs) == 0 || general[0].at < refs[0].at):
			next, ok = ref{rule: general[0]}, true
			general = general[1:]
		case len(refs) > 0:
			next, ok = refs[0], true
			refs = refs[1:]
		}
		if cover != nil && (!ok || next.at >= cover.at) {
			out.rule, covers = cover, covered
			break
		}
		if !ok {
			panic("policy: the generated rules are missing")
		}
		if !next.holds(j.call) {
			continue
		}
		sure, n := j.matchRef(next, i)
		if sure == yes && next.tightens && next.patterned() && guessed(p) {
			sure = maybe
		}
		switch sure {
		case yes:
			out.rule, covers = next.rule, n
		case maybe:
			if out.maybe == nil {
				out.maybe = next.rule
			}
		case no:
		}
	}
	v := judged{outcome: out, verdict: out.verdict(), covers: covers}
	v.reason, v.remedy = j.explainPart(p, &v)
	if j.call.Untrusted && v.verdict == Allow && len(p.Words) > 0 && programName(p.Words[0].Text) == "git" {
		v.verdict = AskUser
		v.reason = "The folder is not trusted, and git would run the hooks and the configuration that it finds there."
		v.remedy = "Trust the folder if you know who wrote it."
	}
	return v
}

// guessed reports whether the part is only what something of the line may turn
// out to be.
func guessed(p *shell.Part) bool { return p.Kind != shell.Unknown && p.Reason != "" }

// cover returns the rule that allowed the part's parent and names this part
// too, with the number of this part's words that it names.
func (j *judge) cover(p *shell.Part) (*rule, int) {
	if p.Parent < 0 {
		return nil, 0
	}
	parent := &j.judged[p.Parent]
	if parent.verdict != Allow || parent.covers <= p.Own {
		return nil, 0
	}
	return parent.rule, parent.covers - p.Own
}

// relevant lists the rules with a command prefix that may be about a part, in
// effective order.
func (j *judge) relevant(i int) []ref {
	p := &j.parts[i]
	var refs []ref
	known := p.Kind == shell.Builtin || p.Kind != shell.Unknown && len(p.Words) > 0 && fixed(p.Words[0])
	if len(p.Words) > 0 && fixed(p.Words[0]) {
		refs = j.index.byProgram[programName(p.Words[0].Text)]
	}
	switch {
	case !known:
		if r := j.tightestRule(); r != nil {
			refs = append(slices.Clip(refs), ref{rule: r, forced: true})
		}
	case p.Kind == shell.Builtin || j.brings[i] || len(j.index.tight) == 0 || runsNothing(p.Words[0].Text):
		return refs
	default:
		refs = j.furtherOn(slices.Clip(refs), p.Words)
	}
	slices.SortStableFunc(refs, func(a, b ref) int { return cmp.Compare(a.at, b.at) })
	return refs
}

// furtherOn appends the rules that would tighten a command that a program
// nobody knows may run, as in: foo rm -rf x. They never match for sure.
func (j *judge) furtherOn(refs []ref, words []shell.Word) []ref {
	add := func(rest []shell.Word) {
		for _, r := range j.index.byProgram[programName(rest[0].Text)] {
			if r.tightens {
				refs = append(refs, ref{rule: r.rule, prefix: r.prefix, words: rest})
			}
		}
	}
	for n := 1; n < len(words); n++ {
		if !fixed(words[n]) {
			continue
		}
		add(words[n:])
		if !strings.ContainsAny(words[n].Text, " \t\n;") {
			continue
		}
		var inside []shell.Word
		for _, field := range strings.Fields(words[n].Text) {
			inside = append(inside, shell.Word{Text: field, Static: true})
		}
		if len(inside) > 0 {
			add(inside)
		}
	}
	return refs
}

// tightestRule returns the highest rule in force with a command prefix that
// tightens: the one that might be meant where nobody can tell what runs.
func (j *judge) tightestRule() *rule {
	if !j.looked {
		j.looked = true
		for _, r := range j.index.tight {
			if r.holds(j.call) {
				j.tightest = r
				break
			}
		}
	}
	return j.tightest
}

// abridged is a text for a message, quoted and cut.
func abridged(s string) string {
	const most = 80
	if runes := []rune(s); len(runes) > most {
		s = string(runes[:most-1]) + "…"
	}
	return fmt.Sprintf("%q", s)
}
