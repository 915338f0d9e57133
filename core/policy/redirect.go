package policy

import (
	"encoding/json"
	"fmt"

	"github.com/fettle-dev/fettle/core/policy/shell"
)

// write decides about a file that the line writes: as a call of write_file,
// unless the rule that allows the command allows its redirections too. A rule
// that denies write_file holds whatever allows the command, and so does one
// that asks and stands above it.
func (j *judge) write(i int) judged {
	p := &j.parts[i]
	owner := j.owner(p)
	if owner != nil && owner.tightens {
		v := judged{outcome: outcome{rule: owner}, verdict: owner.Decision}
		v.reason, v.remedy = j.explainPart(p, &v)
		return v
	}
	places, known := []string(nil), false
	if fixed(p.Path) {
		places, known = j.places(p, p.Path.Text)
	}
	inside := known
	for _, path := range places {
		inside = inside && j.inside(path)
	}
	if !known {
		places = []string{""}
	}
	v := j.asWriteFile(places, known)
	if v.verdict == Deny && guessed(p) {
		v.verdict = AskUser
		return v
	}
	if v.verdict == Deny {
		return v
	}
	frees := owner != nil && owner.AllowRedirection && (inside || !owner.patterned())
	if cover, _ := j.cover(p); cover != nil && inside {
		owner, frees = cover, true
	}
	if yolo := j.yolo(); yolo != nil && !frees {
		owner, frees = yolo, true
	}
	if frees && !v.stricter(owner) {
		v = judged{outcome: outcome{rule: owner}, verdict: Allow}
		v.reason = fmt.Sprintf("The rule %s allows what it writes too.", owner.named())
		if owner.own == ownYolo {
			v.reason = "In yolo mode nothing is asked about that no rule speaks of."
		}
		return v
	}
	if inside {
		return v
	}
	if v.verdict == Allow || v.decisive().own != written {
		v.reason = "It writes a file outside of the workspace."
		if !known {
			v.reason = "It cannot be told which file it writes."
		}
		v.remedy = "Write into the workspace folders, or approval mode yolo would allow it."
		v.asWrite = &Decision{Rule: "redirections", Tier: TierDefault.String(), Source: builtIn}
	}
	v.verdict = AskUser
	return v
}

// stricter reports whether a rule above r denies or asks, or may do so.
func (v *judged) stricter(r *rule) bool {
	return v.maybe != nil && v.maybe.at < r.at || v.rule.tightens && v.rule.own == written && v.rule.at < r.at
}

// yolo returns the generated rule that allows what no other rule speaks of;
// nil outside of yolo mode.
func (j *judge) yolo() *rule {
	for _, r := range j.index.general {
		if r.own == ownYolo && r.holds(j.call) {
			return r
		}
	}
	return nil
}

// owner returns the rule that allowed what a file is written for, nil if none
// did. A part that only runs others is allowed by what allows them all.
func (j *judge) owner(p *shell.Part) *rule {
	if p.Parent < 0 {
		return j.wide()
	}
	parent := &j.judged[p.Parent]
	if parent.verdict != Allow {
		return nil
	}
	if parent.rule.own != ownBuiltins || !j.parts[p.Parent].Wraps {
		return parent.rule
	}
	var owner *rule
	for i := range j.parts {
		if j.parts[i].Parent != p.Parent || j.parts[i].Kind == shell.Write {
			continue
		}
		child := &j.judged[i]
		if child.verdict != Allow || !child.rule.AllowRedirection {
			return nil
		}
		owner = child.rule
	}
	return owner
}

// wide returns the first rule about the whole tool or the whole line that
// decides where there is no command, as in: > file. It is nil if that is only
// the generated one that asks.
func (j *judge) wide() *rule {
	for _, r := range j.index.general {
		if r.own == ownBuiltins || !r.holds(j.call) {
			continue
		}
		if r.patterned() && (!r.tightens || j.matchText(r, &shell.Part{Kind: shell.Write}) != yes) {
			continue
		}
		if r.own == ownAsks {
			return nil
		}
		return r
	}
	return nil
}

// asWriteFile decides about files as calls of write_file would be, and returns
// the strictest decision. If the file is not known, patterns may be about it.
func (j *judge) asWriteFile(paths []string, known bool) judged {
	var strictest judged
	for n, path := range paths {
		c := Call{
			Tool: writeFile, Kind: "edit", Effects: writesFiles, Mutates: true, Params: json.RawMessage(`{}`),
			Mode: j.call.Mode, Subagent: j.call.Subagent, Headless: j.call.Headless, Untrusted: j.call.Untrusted,
			Dir: j.call.Dir, Roots: j.call.Roots, RealPaths: j.call.RealPaths,
		}
		if known {
			c.Params = withPath(path)
		}
		t := &trial{snapshot: j.snapshot, call: &c}
		t.args = arguments{call: &c, unclear: !known}
		d, out := t.plain(j.find(&c, &t.args))
		if n == 0 || d.Decision.strictness() > strictest.verdict.strictness() {
			strictest = judged{outcome: out, verdict: d.Decision, reason: d.Reason, remedy: d.Remedy, asWrite: &d}
		}
	}
	return strictest
}
