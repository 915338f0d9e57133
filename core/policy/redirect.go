package policy

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/fettle-dev/fettle/core/confirmation"
	"github.com/fettle-dev/fettle/core/policy/shell"
)

// write decides about a file that the line writes: like a call of write_file,
// unless a rule that allows the command also allows its redirections. A rule that
// denies write_file applies whatever allows the command, and so does one that
// asks and ranks above it.
func (j *judge) write(i int) judged {
	p := &j.parts[i]
	places, known := j.targets(p)
	if slices.ContainsFunc(places, func(path string) bool { return j.throughNewLink(p.Parent, path) }) {
		known = false
	}
	inside := known
	for _, path := range places {
		inside = inside && j.inside(path)
	}
	if !known {
		places = []string{""}
	}
	owner := j.owner(i, inside)
	if owner != nil && owner.tightens {
		v := judged{outcome: outcome{rule: owner}, verdict: owner.Decision}
		v.reason, v.remedy = j.explainPart(i, &v)
		return v
	}
	v := j.asWriteFile(places, known)
	switch {
	case v.verdict == Deny && guessed(p):
		v.verdict = AskUser
		return v
	case v.verdict == Deny:
		return v
	case owner != nil && !v.stricter(owner) && j.mayFree(owner, places, known):
		v = judged{outcome: outcome{rule: owner}, verdict: Allow}
		v.reason = fmt.Sprintf("The rule %s also allows the file that it writes.", owner.id)
		switch owner.own {
		case ownYolo:
			v.reason = "In yolo mode, calls without a matching rule run without approval."
		case ownConfined:
			v.reason = confinedReason
		}
		return v
	case known && j.call.private() && v.decisive().own != written && j.temporary(places) && j.protectedFile(places) == nil:
		v.verdict, v.reason, v.remedy = Allow, "Confined commands have a /tmp of their own.", ""
		v.asWrite = &Decision{Explanation: confirmation.Explanation{Rule: "redirections", Tier: TierDefault.String(), Source: BuiltIn}}
		return v
	case inside:
		if row := j.protectedFile(places); row != nil && v.verdict == AskUser && v.decisive().own != written {
			v.reason = laterReason("It writes", row)
		}
		return v
	case v.verdict == Allow || v.decisive().own != written:
		v.reason = "It writes a file outside of the workspace."
		if !known {
			v.reason = "The file that it writes is unknown."
		}
		v.remedy = "Write into the workspace directories" + j.orYolo()
		v.asWrite = &Decision{Explanation: confirmation.Explanation{Rule: "redirections", Tier: TierDefault.String(), Source: BuiltIn}}
	}
	v.verdict = AskUser
	return v
}

// protectedFile returns the row of the first of some absolute paths that is, or
// leads to, a protected path: no rule about a command covers it. It is nil if
// there is none.
func (j *judge) protectedFile(paths []string) *ProtectedPath {
	for _, path := range paths {
		if path == "" {
			continue
		}
		if row := j.leadsToProtected(path); row != nil {
			return row
		}
	}
	return nil
}

// stricter reports whether a rule above r denies or asks, or may do so.
func (v *judged) stricter(r *rule) bool {
	return v.maybe != nil && v.maybe.at < r.at || v.rule.tightens && v.rule.own == written && v.rule.at < r.at
}

// frees reports whether a rule that allows a command also allows its outputs:
// inside the workspace if it states so, and elsewhere only if it also covers the
// whole tool.
func (r *rule) frees(inside bool) bool {
	return !r.tightens && r.AllowRedirection && (inside || !r.patterned())
}

// owner returns the rule that frees a command's outputs, nil if none does.
// Without a command it may also be one that denies or asks.
func (j *judge) owner(i int, inside bool) *rule {
	p := &j.parts[i]
	if p.Parent < 0 {
		return j.wide(i, inside)
	}
	if cover, _ := j.cover(p); cover != nil && inside {
		return cover
	}
	if owner := j.freeing(p.Parent, inside); owner != nil {
		return owner
	}
	if parent := &j.judged[p.Parent]; p.Product && inside && parent.verdict == Allow {
		return parent.rule
	}
	if !j.parts[p.Parent].Wraps {
		return nil
	}
	var owner *rule // of all commands that the part runs
	for k := range j.parts {
		if j.parts[k].Parent != p.Parent || j.parts[k].Kind == shell.Write {
			continue
		}
		if owner = j.freeing(k, inside); owner == nil {
			return nil
		}
	}
	return owner
}

// freeing returns the first rule that allows a part and frees its outputs. It
// returns nil if a rule above that one denies or asks, or may do so.
func (j *judge) freeing(i int, inside bool) *rule {
	if j.judged[i].verdict != Allow {
		return nil
	}
	for r := j.judged[i].rule; ; {
		if r.frees(inside) {
			return r
		}
		out, _ := j.walkPart(i, r.at+1)
		if out.verdict() != Allow {
			return nil
		}
		r = out.rule
	}
}

// wide returns the first rule about the whole tool or the whole line, which
// decides if there is no command, as in: > file. It is nil if there is no written
// one, and none frees the output.
func (j *judge) wide(i int, inside bool) *rule {
	rules := j.index.general
	if patterned := j.patterned(i); len(patterned) > 0 {
		rules = slices.Clone(rules)
		for _, r := range patterned {
			rules = append(rules, r.rule)
		}
		slices.SortStableFunc(rules, func(a, b *rule) int { return a.at - b.at })
	}
	for _, r := range rules {
		if r.own == ownBuiltins || r.own == ownReadOnly || !r.holds(j.call) || !r.tightens && !r.frees(inside) {
			continue
		}
		if r.patterned() && !r.OtherCommands && (!r.tightens || j.matchText(r, i) != yes) {
			continue
		}
		if r.own == ownAsks {
			return nil
		}
		return r
	}
	return nil
}

// asWriteFile decides about files like calls of write_file, and returns the
// strictest decision. If the file is unknown, patterns may apply to it.
func (j *judge) asWriteFile(paths []string, known bool) judged {
	var strictest judged
	for n, path := range paths {
		t := j.writing(path, known)
		d, out := t.plain(j.find(t.call, t.args))
		if n == 0 || strictness(d.Decision) > strictness(strictest.verdict) {
			strictest = judged{outcome: out, verdict: d.Decision, reason: d.Reason, remedy: d.Remedy, asWrite: &d}
		}
	}
	return strictest
}

// writing returns the decision on a call of write_file with a path, or with an
// unknown one.
func (j *judge) writing(path string, known bool) *trial {
	c := &Call{
		Tool: writeFile, Kind: "edit", Effects: writesFiles, Mutates: true, Params: json.RawMessage(`{}`),
		Mode: j.call.Mode, Subagent: j.call.Subagent, Within: j.call.Within, Headless: j.call.Headless, Untrusted: j.call.Untrusted, Confined: j.call.Confined, Sealed: j.call.Sealed,
		Dir: j.call.Dir, Roots: j.call.Roots, RealPaths: j.call.RealPaths,
	}
	if known {
		c.Params = withPath(path)
	}
	return &trial{snapshot: j.snapshot, call: c, args: &arguments{call: c, unclear: !known}}
}

// checkWrites adds the safety checkers for the files that the line writes, each
// with the file. If the file is unknown, there is nothing to check, and approval
// is required.
func (j *judge) checkWrites(d *Decision) {
	if len(j.checkers) == 0 {
		return
	}
	written := make(map[string]bool)
	for i := range j.parts {
		p := &j.parts[i]
		if p.Kind != shell.Write {
			continue
		}
		places, known := j.targets(p)
		if !known {
			places = []string{""}
		}
		for _, path := range places {
			if written[path] {
				continue
			}
			written[path] = true
			t := j.writing(path, known)
			for _, ch := range t.due(j.find(t.call, t.args)) {
				if known {
					ch.About = t.call
					d.Checkers = append(d.Checkers, ch)
				} else if d.Decision == Allow {
					d.Decision, d.Rule, d.Tier, d.Source, d.Line = AskUser, ch.Name, ch.Tier.String(), ch.Source, ch.Line
					d.Reason = fmt.Sprintf("The file that %s writes is unknown, so the safety checker %s cannot check it.", abridged(p.Text), ch.Name)
					d.Remedy = "Name the file."
				}
			}
		}
	}
}
