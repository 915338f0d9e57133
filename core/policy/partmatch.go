package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/policy/shell"
)

// matchRef matches a rule that holds against a part. n counts the part's
// leading words that the rule names.
func (j *judge) matchRef(r ref, i int) (sure tri, n int) {
	p := &j.parts[i]
	switch {
	case r.forced:
		return maybe, 0
	case r.own == ownBuiltins:
		if p.Kind == shell.Builtin && j.stays(p) || p.Wraps && p.Kind == shell.Command && j.brings[i] {
			return yes, 0
		}
		return no, 0
	case r.OtherCommands:
		return j.isOther(r.rule, i), 0
	case r.words != nil:
		return min(maybe, tightMatch(r.prefix, r.words)), 0
	case r.prefix != nil && r.tightens:
		return tightMatch(r.prefix, p.Words), 0
	case r.prefix != nil:
		if p.Kind != shell.Unknown && j.begins(r.prefix, p) {
			return yes, len(r.prefix)
		}
		return no, 0
	case r.patterned():
		sure := j.matchText(r.rule, p)
		if sure == yes && !r.tightens && r.ArgsPattern == exactCommand(p.Text) {
			n = len(p.Words)
		}
		return sure, n
	}
	return yes, 0
}

// isOther reports whether a part is a command that none of the rule's prefixes
// allows for. Commands of the shell that change nothing outside of it, and those
// that only run what is judged beside them, are none.
func (j *judge) isOther(r *rule, i int) tri {
	p := &j.parts[i]
	switch {
	case p.Kind == shell.Builtin && j.stays(p), p.Wraps && p.Kind == shell.Command && j.brings[i]:
		return no
	case p.Kind != shell.Unknown && slices.ContainsFunc(r.prefixes, func(prefix []string) bool { return j.begins(prefix, p) }):
		return no
	}
	return yes
}

// begins reports whether a part begins with the words of a rule that allows:
// exactly these, and the program that the rule means. Options that change
// nothing about what the program does may stand behind the program.
func (j *judge) begins(prefix []string, p *shell.Part) bool {
	if len(p.Words) < len(prefix) || !fixed(p.Words[0]) || !j.sameProgram(prefix[0], p) {
		return false
	}
	words, wants := p.Words[1:], prefix[1:]
	for len(wants) > 0 && len(words) > len(wants) && words[0].Text != wants[0] && fixed(words[0]) &&
		slices.Contains(habitsOf[prefix[0]].idle, words[0].Text) {
		words = words[1:]
	}
	for k, want := range wants {
		if !fixed(words[k]) || words[k].Text != want {
			return false
		}
	}
	return true
}

// systemFolders are where a program is the one that its bare name means.
var systemFolders = []string{"/usr/local/bin/", "/usr/bin/", "/bin/", "/usr/sbin/", "/sbin/"}

// sameProgram reports whether the part's program is the one that a rule that
// allows names: by the same bare name, by that name in a folder of the system,
// or by a path that leads to the same file from where each counts.
func (j *judge) sameProgram(want string, p *shell.Part) bool {
	word := p.Words[0].Text
	if !strings.Contains(want, "/") {
		if word == want {
			return true
		}
		for _, folder := range systemFolders {
			if rest, ok := strings.CutPrefix(word, folder); ok && rest == want {
				return true
			}
		}
		return false
	}
	if !strings.Contains(word, "/") || strings.HasPrefix(word, "~") {
		return false
	}
	paths, ok := j.opened(p, word)
	if !ok {
		return false
	}
	meant := want
	if root := j.root(); root != "" {
		meant = joined(root, want)
	}
	for _, path := range paths {
		if path != meant {
			return false
		}
	}
	return true
}

// exactCommand is the ArgsPattern of exactly one command.
func exactCommand(text string) string { return exactArg("command", text) }

// matchText matches a rule with a pattern against the text of a part, and one
// that tightens also against the whole line.
func (j *judge) matchText(r *rule, p *shell.Part) tri {
	known := p.Kind != shell.Unknown && p.Kind != shell.Write && len(p.Words) > 0 && fixed(p.Words[0])
	if !r.tightens && !known {
		return no
	}
	if j.searchText(r, p.Text) {
		return yes
	}
	if !r.tightens {
		return no
	}
	if r.args != nil && j.args.match(r.args, true) == yes || r.command != nil && j.searchText(r, j.line.Source) {
		return yes
	}
	switch {
	case p.Kind == shell.Write:
		return no
	case !known:
		return maybe
	}
	// What is not fixed may be anything, after the words that are.
	var start strings.Builder
	for _, w := range p.Words {
		if !fixed(w) {
			if r.command == nil || strings.HasPrefix(start.String(), r.literal) || strings.HasPrefix(r.literal, start.String()) {
				return maybe
			}
			return no
		}
		start.WriteString(shell.Quote([]string{w.Text}) + " ")
	}
	return no
}

// searchText searches a rule's pattern in the call's arguments with another
// command in them. A commandRegex is searched from the start of the command.
func (j *judge) searchText(r *rule, text string) bool {
	if r.anchored != nil && r.anchored.MatchString(text) {
		return true
	}
	re := r.args
	if re == nil {
		re = r.command
	}
	if j.texts == nil || j.searched != text {
		j.searched, j.texts = text, j.args.command(text)
	}
	return j.texts.match(re, r.tightens)
}

// explainPart says why a part's verdict is what it is, and what would change
// it.
func (j *judge) explainPart(p *shell.Part, v *judged) (reason, remedy string) {
	r := v.decisive()
	text := abridged(p.Text)
	switch {
	case r == v.maybe && r.besides():
		return "The rule " + r.id + " asks, or it cannot be told whether it does.", r.remedy()
	case r == v.maybe && p.Reason != "":
		return fmt.Sprintf("It cannot be told whether the rule %s covers %s: %s.", r.id, text, p.Reason), r.remedy()
	case r == v.maybe:
		return fmt.Sprintf("It cannot be told whether the rule %s covers %s.", r.id, text), r.remedy()
	case r.own == ownYolo:
		return "In yolo mode nothing is asked about that no rule speaks of.", ""
	case r.own == ownBuiltins && p.Kind == shell.Builtin:
		return "It changes nothing outside of the shell.", ""
	case r.own == ownBuiltins:
		return "It only runs what is judged beside it.", ""
	case r.own == written:
		return v.says, r.remedy()
	case p.Kind == shell.Unknown:
		return "It cannot be told what runs: " + p.Reason + ".", "Write out which program runs, with its arguments, in place of what is worked out only when the line runs" + j.orYolo()
	case p.Kind == shell.Builtin:
		return "It may leave the workspace.", "Stay in the workspace folders, or add the other folder to them."
	}
	return "No rule allows " + text + ".", "A rule that allows the prefix " + abridged(shell.Quote(suggested(p))) + " would allow this part."
}
