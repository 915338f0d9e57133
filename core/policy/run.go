package policy

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/confirmation"
	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/policy/shell"
)

// Namespaces is the confinement that enforces protected paths by mounts; see
// [Call].Confinable.
const Namespaces = "namespaces"

// placement is the assumption about how a command runs, under which rules are
// evaluated.
type placement uint8

const (
	asGiven   placement = iota // the session does not confine single commands
	atOutside                  // unconfined
	atInside                   // confined
)

// at returns a copy of the call with the assumption p about how its command runs.
func (c *Call) at(p placement) *Call {
	placed := *c
	placed.placed = p
	if p == atInside {
		placed.Confined = c.Confinable
	} else {
		placed.Sealed = false
	}
	return &placed
}

// private reports whether a command is confined by mounts, so that it cannot write
// protected paths and has a private /tmp.
func (c *Call) private() bool { return c.placed == atInside && c.Confinable == Namespaces }

// ofProject reports whether a rule comes from a project or an extension.
func (r Rule) ofProject() bool {
	return !r.Session && (r.Tier == TierWorkspace || r.Tier == TierExtension)
}

// run returns how a command that the rule allows must run; "" if it may run either
// way.
func (r *rule) run() confirmation.Run {
	switch {
	case r.Run != "":
		return r.Run
	case r.Confined != nil && *r.Confined, r.own == ownYolo, r.own == ownConfined:
		return confirmation.RunConfined
	case r.own == ownReadOnly:
		return confirmation.RunRead
	case r.own != written:
		return ""
	case r.ofProject():
		return confirmation.RunConfined
	}
	return confirmation.RunUnconfined
}

// runsAs reports whether an allowing rule permits the command to run as assumed.
func (r *rule) runsAs(c *Call) bool {
	switch {
	case r.own == ownConfined:
		return !c.Untrusted && (c.private() || !isShell(c) && c.Confined == Namespaces && c.Sealed)
	case !isShell(c):
		return true
	case c.placed == atOutside:
		return r.run() != confirmation.RunConfined
	case c.placed == asGiven && c.Confined == "":
		return r.Run != confirmation.RunConfined
	}
	return true
}

// decidePlaced decides about a command line in a session that can confine single
// commands. The line runs unconfined if rules allow each part unconfined. Otherwise
// it runs confined if that is allowed. Otherwise it runs unconfined after an
// approval.
func (s *snapshot) decidePlaced(c *Call) Decision {
	outside := newTrial(s, c.at(atOutside))
	found := s.find(c, outside.args)
	j := outside.judge(found.shell)
	wants := j.ways()
	decide := func() Decision {
		d := j.decide(found)
		if d.Decision != Deny && !d.Previews {
			d.Run = confirmation.RunUnconfined
		}
		return d
	}
	if requested, reason := outside.args.unconfined(); requested {
		out := decide()
		if out.Decision == AskUser || out.Decision == Allow && !wants.explicit {
			out = asksToLeave(out, reason)
		}
		return out
	}
	if wants.unconfined {
		if out := decide(); out.Decision == Allow {
			return out
		}
	}
	inside := &trial{snapshot: s, call: c.at(atInside), args: outside.args}
	confined := inside.judge(found.shell)
	in := confined.decide(found)
	if in.Decision == Allow {
		in.Confined, in.Run = c.Confinable, confirmation.RunConfined
		if confined.ways().reads {
			in.Run = confirmation.RunRead
		}
		return in
	}
	out := decide()
	if in.Decision == AskUser && out.Decision == AskUser && (c.Mode == ModeAuto || s.readOnly) {
		in.Run = out.Run // the reason of in explains why the line cannot run confined
		return in
	}
	return out
}

// inputReason explains why input to confined background processes needs no approval.
const inputReason = "In auto mode input is written to confined background processes without approval."

// confinedReason explains why commands run unasked in auto mode.
const confinedReason = "In auto mode confined commands run without approval."

// asksToLeave returns the question about a call that requests to run its command
// unconfined.
func asksToLeave(d Decision, reason string) Decision {
	why := "The call requests to run it outside the sandbox: " + escape.Quote(escape.Clip(reason, 500)) + "."
	if d.Previews || d.Decision == AskUser && d.Source != BuiltIn {
		d.Reason = why + " " + d.Reason
		return d
	}
	d.Decision, d.Rule, d.Tier, d.Source, d.Line = AskUser, "unconfined commands", TierDefault.String(), BuiltIn, 0
	d.Leaves, d.Reason, d.Remedy = true, why, "A rule of the user's that allows it and has run = \"unconfined\" would allow it."
	return d
}

// unconfined reports whether the arguments request that its command is not
// confined, with the reason.
func (a *arguments) unconfined() (requested bool, reason string) {
	requested, _ = a.object()["unconfined"].(bool)
	return requested, a.text("reason")
}

// ways summarizes how the parts of an allowed line may run.
type ways struct {
	unconfined bool // a rule lets a part run unconfined
	explicit   bool // a rule with run = "unconfined" allows each part that needs a rule
	reads      bool // no part needs to write outside of the temporary directory
}

// ways returns how the parts of the line may run.
func (j *judge) ways() ways {
	w := ways{explicit: true, reads: true}
	for i := range j.judged {
		v := &j.judged[i]
		if v.verdict != Allow {
			return ways{}
		}
		switch {
		case j.parts[i].Kind == shell.Write:
			places, _ := j.targets(&j.parts[i])
			w.unconfined = w.unconfined || j.beyond(places)
			w.reads = w.reads && len(places) > 0 && j.temporary(places)
		case v.rule.run() == confirmation.RunUnconfined:
			w.unconfined, w.reads = true, false
			w.explicit = w.explicit && v.rule.Run == confirmation.RunUnconfined
		case v.rule.run() == confirmation.RunConfined:
			w.explicit, w.reads = false, false
		case v.rule.run() == confirmation.RunRead:
			w.explicit = false
		}
	}
	return w
}

// beyond reports whether one of the absolute paths cannot be written by a confined
// command.
func (j *judge) beyond(paths []string) bool {
	return slices.ContainsFunc(paths, func(path string) bool {
		return !j.inside(path) && !inTemporary(path) || j.leadsToProtected(path) != nil
	})
}

// inTemporary reports whether an absolute path lies in /tmp or /var/tmp, which are
// private to the session in a confined command.
func inTemporary(path string) bool {
	return (beneath("/tmp", path) || beneath("/var/tmp", path)) && filepath.Clean(path) == path
}

// temporary reports whether all absolute paths lie in the temporary directory of a confined
// command. The workspace does not, even if it is below /tmp.
func (j *judge) temporary(paths []string) bool {
	return !slices.ContainsFunc(paths, func(path string) bool {
		return !inTemporary(path) || j.within(path, false) || j.within(j.call.follow(path), true)
	})
}

// mayFree reports whether owner, the rule that allows a command, also allows the files
// that the command writes. places are the possible absolute paths; known is false if
// there may be more.
func (j *judge) mayFree(owner *rule, places []string, known bool) bool {
	if owner.own == ownConfined {
		return !known || !j.beyond(places)
	}
	return owner.own != written || j.protectedFile(places) == nil
}

// guardConfined requires approval of a part that runs confined in auto mode if it is
// known to write a protected path, which a confined command cannot. For unknown
// outputs the mounts enforce that.
func (j *judge) guardConfined(i int, v *judged) {
	p := &j.parts[i]
	ask := func(row *ProtectedPath) {
		v.verdict, v.reason = AskUser, laterReason(abridged(p.Text)+" writes", row)
		v.remedy = "A rule of the user's that allows it would let it run unconfined."
		v.asWrite = &Decision{Explanation: confirmation.Explanation{Rule: "protected paths", Tier: TierDefault.String(), Source: BuiltIn}}
	}
	for _, o := range j.outputs(i) {
		for _, named := range o.named {
			if strings.ContainsAny(named, "*?[(\n") { // a pattern, or a program's text
				continue
			}
			if row, _ := j.protectedName(p, named, false); row != nil {
				ask(row)
				return
			}
		}
	}
	if writesRepository(p) {
		ask(j.protects.find("/.git", 0))
	}
}

// gitWrites lists the subcommands of git that change a repository with any
// arguments.
var gitWrites = []string{
	"add", "am", "bisect", "checkout", "cherry-pick", "clone", "commit", "fetch", "gc", "init", "merge", "mv", "pull", "push",
	"rebase", "reset", "restore", "revert", "rm", "stage", "stash", "switch", "update-index", "update-ref",
}

// writesRepository reports whether a part is a git command that changes a
// repository.
func writesRepository(p *shell.Part) bool {
	if len(p.Words) == 0 || !fixed(p.Words[0]) || programName(p.Words[0].Text) != "git" {
		return false
	}
	words := p.Words[1:]
	for len(words) > 0 && fixed(words[0]) && isOption(words[0].Text) {
		n := 1
		if slices.Contains(habitsOf["git"].valued, words[0].Text) {
			n = 2
		}
		words = words[min(n, len(words)):]
	}
	if len(words) == 0 || !fixed(words[0]) || !slices.Contains(gitWrites, words[0].Text) {
		return false
	}
	reads := len(words) > 1 && words[0].Text == "stash" && fixed(words[1]) && (words[1].Text == "list" || words[1].Text == "show")
	return !reads
}

// listsVariables reports whether a builtin command prints variables with their values.
func listsVariables(p *shell.Part) bool {
	if len(p.Words) == 0 {
		return false
	}
	switch p.Words[0].Text {
	case "set":
		return len(p.Words) == 1
	case "export", "readonly", "declare", "typeset", "local":
		for _, w := range p.Words[1:] {
			option := w.Option || isOption(w.Text) || strings.HasPrefix(w.Text, "+")
			if option && (!fixed(w) || strings.Contains(w.Text, "p")) {
				return true
			}
			if !option {
				return false
			}
		}
		return true
	}
	return false
}
