package policy

import (
	"cmp"
	"slices"

	"github.com/fettle-dev/fettle/core/policy/shell"
)

// run decides about a part that runs something.
func (j *judge) run(i int) judged {
	p := &j.parts[i]
	out, covers := j.walkPart(i, 0)
	v := judged{outcome: out, verdict: out.verdict(), covers: covers}
	if j.call.Untrusted && v.verdict == Allow && len(p.Words) > 0 && programName(p.Words[0].Text) == "git" {
		v.verdict = AskUser
		v.reason = "The directory is not trusted, and git would run the hooks and the configuration that it finds there."
		v.remedy = "Trust the directory if you know who wrote it."
	}
	if v.verdict == Allow && (v.rule.own == written || v.rule.own == ownYolo || v.rule.own == ownReadOnly) {
		j.guardRepository(i, &v)
	}
	if v.verdict == Allow && (v.rule.own == written || v.rule.own == ownYolo) {
		j.guardOutputs(i, &v)
	}
	if v.verdict == Allow && v.rule.own == ownConfined {
		j.guardConfined(i, &v)
	}
	return v
}

// explained returns the decision on a part with its reason.
func (j *judge) explained(i int) *judged {
	v := &j.judged[i]
	if v.reason != "" || j.parts[i].Kind == shell.Write {
		return v
	}
	v.reason, v.remedy = j.explainPart(i, v)
	if j.call.Confined != "" && v.decisive().own == ownAsks {
		if r := j.openRule(i); r != nil {
			v.reason = openReason(r)
		}
	}
	return v
}

// openRule returns the first rule about confined commands that would allow a part
// if the confinement were complete; nil if there is none.
func (j *judge) openRule(i int) *rule {
	for _, r := range j.index.general {
		if r.open(j.call) && j.meets(ref{rule: r}, i).sure == yes {
			return r
		}
	}
	for _, r := range j.relevant(i) {
		if r.open(j.call) && j.meets(r, i).sure == yes {
			return r.rule
		}
	}
	return nil
}

// walkPart finds the rule, from a position on, that decides about a part. covers
// is the number of the part's leading words that an allowing rule names.
func (j *judge) walkPart(i, from int) (out outcome, covers int) {
	p := &j.parts[i]
	cover, covered := j.cover(p)
	general, refs := j.index.general, j.relevant(i)
	var w walk
	for {
		next, ok := ref{}, false
		fromGeneral := len(general) > 0 && (len(refs) == 0 || general[0].at < refs[0].at)
		switch {
		case fromGeneral:
			next, ok = ref{rule: general[0]}, true
		case len(refs) > 0:
			next, ok = refs[0], true
		}
		if cover != nil && cover.at >= from && (!ok || next.at >= cover.at) {
			if w.meet(match{rule: cover, sure: yes, words: covered, effect: cover.effect}) {
				return w.outcome, w.covers
			}
			cover = nil
			continue
		}
		switch {
		case !ok:
			panic("policy: the generated rules are missing")
		case fromGeneral:
			general = general[1:]
		default:
			refs = refs[1:]
		}
		if next.at >= from && next.holds(j.call) && w.meet(j.meets(next, i)) {
			return w.outcome, w.covers
		}
	}
}

// meets matches a rule with met conditions against a part.
func (j *judge) meets(r ref, i int) match {
	m := match{rule: r.rule, effect: r.effect}
	m.sure, m.words = j.matchRef(r, i)
	if m.sure == yes && r.tightens && r.patterned() && guessed(&j.parts[i]) {
		m.sure = maybe
	}
	switch {
	case r.forced && len(r.prefixes) > 0:
		m.words = len(r.prefixes[0])
	case r.tightens:
		m.words = len(r.prefix)
	}
	if m.effect == "" {
		m.effect = r.rule.effect
	}
	return m
}

// guessed reports whether the part is only a possible expansion of something in
// the line.
func guessed(p *shell.Part) bool { return p.Kind != shell.Unknown && p.Reason != "" }

// cover returns the rule that allowed the part's parent and names this part too,
// with the number of this part's words that it names.
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

// relevant returns the rules with a command prefix, or with a pattern that
// tightens, that may apply to a part, in effective order.
func (j *judge) relevant(i int) []ref {
	refs := j.prefixed(i)
	patterned := j.patterned(i)
	switch {
	case len(patterned) == 0:
		return refs
	case len(refs) == 0:
		return patterned
	}
	refs = append(slices.Clip(refs), patterned...)
	slices.SortStableFunc(refs, func(a, b ref) int { return cmp.Compare(a.at, b.at) })
	return refs
}

// prefixed returns the rules with a command prefix that may apply to a part.
func (j *judge) prefixed(i int) []ref {
	p := &j.parts[i]
	var refs []ref
	known := p.Kind == shell.Builtin || p.Kind != shell.Unknown && len(p.Words) > 0 && fixed(p.Words[0])
	if len(p.Words) > 0 && fixed(p.Words[0]) {
		refs = j.index.byProgram[family(p.Words[0].Text)]
	}
	switch {
	case p.Option:
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

// furtherOn appends the rules that would tighten a command that an unknown
// program may run, as in: foo rm -rf x. Their matches are never certain.
func (j *judge) furtherOn(refs []ref, words []shell.Word) []ref {
	add := func(rest []shell.Word) {
		for _, r := range j.index.byProgram[family(rest[0].Text)] {
			if r.tightens {
				refs = append(refs, ref{rule: r.rule, prefix: r.prefix, words: rest})
			}
		}
	}
	for n := 1; n < len(words); n++ {
		w := words[n]
		if !fixed(w) {
			for _, value := range w.Candidates {
				add(append([]shell.Word{{Text: value, Static: true}}, words[n+1:]...))
			}
			continue
		}
		add(words[n:])
		for _, command := range commandsIn(w.Text) {
			inside := make([]shell.Word, len(command))
			for i, field := range command {
				inside[i] = shell.Word{Text: field, Static: true}
			}
			add(inside)
		}
	}
	return refs
}

// tightestRule returns the highest rule with a command prefix that tightens: it
// may apply to a command that cannot be determined.
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
