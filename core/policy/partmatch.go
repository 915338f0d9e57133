package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/policy/shell"
)

// matchRef matches a rule with met conditions against a part. n is the number of
// the part's leading words that the rule names.
func (j *judge) matchRef(r ref, i int) (sure tri, n int) {
	p := &j.parts[i]
	switch {
	case r.forced:
		return maybe, 0
	case r.own == ownBuiltins:
		if p.Kind == shell.Builtin && !listsVariables(p) && j.stays(p) || p.Wraps && p.Kind == shell.Command && j.brings[i] {
			return yes, 0
		}
		return no, 0
	case r.own == ownReadOnly:
		if j.free(i).why == "" {
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
		sure := j.matchText(r.rule, i)
		if sure == yes && !r.tightens && r.ArgsPattern == exactCommand(p.Text) {
			n = len(p.Words)
		}
		return sure, n
	}
	return yes, 0
}

// isOther reports whether a part is a command without any of the rule's prefixes.
// Builtin commands of the shell that change nothing outside of it, and commands
// that only run separate parts, do not count.
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

// begins reports whether a part begins with the prefix of an allowing rule:
// exactly its words, and the same program. The program may be followed by options
// that do not change its effect, and by one that sets its working directory
// within the workspace, as a cd before it might.
func (j *judge) begins(prefix []string, p *shell.Part) bool {
	if len(p.Words) < len(prefix) || !fixed(p.Words[0]) || !j.sameProgram(prefix[0], p) {
		return false
	}
	words, wants := p.Words[1:], prefix[1:]
	for moved := false; len(wants) > 0 && len(words) > len(wants) && words[0].Text != wants[0] && fixed(words[0]); {
		if slices.Contains(habitsOf[prefix[0]].idle, words[0].Text) {
			words = words[1:]
			continue
		}
		if moved || !j.movesInside(p, words) {
			break
		}
		words, moved = words[2:], true
	}
	if len(words) < len(wants) {
		return false
	}
	for k, want := range wants {
		if !fixed(words[k]) || words[k].Text != want {
			return false
		}
	}
	return true
}

// movesInside reports whether a part's words begin with the option, and its
// value, that sets the program's working directory, and that directory lies in
// the workspace and is not a protected path.
func (j *judge) movesInside(p *shell.Part, words []shell.Word) bool {
	dir, ok := movedTo(p, words)
	if !ok {
		return false
	}
	places, known := j.opened(p, dir)
	if row, _ := j.protectedName(p, dir, false); !known || row != nil {
		return false
	}
	return !slices.ContainsFunc(places, func(path string) bool { return !j.inside(path) })
}

// movedTo returns the working directory that the first two of a command's words
// set.
func movedTo(p *shell.Part, words []shell.Word) (dir string, ok bool) {
	moves := habitsOf[programName(p.Words[0].Text)].moves
	if moves == "" || len(words) < 2 || words[0].Text != moves || !fixed(words[1]) {
		return "", false
	}
	return words[1].Text, true
}

// systemDirs lists the directories in which a program is the one of its bare
// name.
var systemDirs = []string{"/usr/local/bin/", "/usr/bin/", "/bin/", "/usr/sbin/", "/sbin/"}

// sameProgram reports whether the part's program is the one that an allowing rule
// names: by the same bare name, by that name in a directory of the system, or by
// a path to the same file.
func (j *judge) sameProgram(want string, p *shell.Part) bool {
	word := p.Words[0].Text
	if !strings.Contains(want, "/") {
		if word == want {
			return true
		}
		for _, dir := range systemDirs {
			if rest, ok := strings.CutPrefix(word, dir); ok && rest == want {
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

// exactCommand returns the ArgsPattern of exactly one command.
func exactCommand(text string) string { return exactArg("command", text) }

// matchText matches a rule with a pattern against a part. An allowing one is
// searched in the text of the part only. One that tightens is searched in the
// unparsed line, and in all spellings of the part; see [judge.spelled].
func (j *judge) matchText(r *rule, i int) tri {
	p := &j.parts[i]
	if !r.tightens {
		if named(p) && j.searchText(r, p.Text) {
			return yes
		}
		return no
	}
	if j.matchLine(r) {
		return yes
	}
	result := no
	for _, s := range j.spelled(i) {
		if result = max(result, j.search(r, i, s)); result == yes {
			return yes
		}
	}
	switch {
	case p.Option || p.Kind == shell.Write:
		return result
	case p.Kind == shell.Unknown, len(p.Words) > 0 && !fixed(p.Words[0]):
		return maybe
	}
	if result == no && r.traits.dashes && j.mayReorder(r, i) {
		result = j.searchAll(r, i, j.loosely(i))
	}
	if result == no {
		result = j.searchAll(r, i, j.hidden(i))
	}
	return result
}

// matchLine searches the pattern of a rule that tightens in the whole unparsed
// line.
func (j *judge) matchLine(r *rule) bool {
	if found, known := j.lines[r]; known {
		return found
	}
	re := r.args
	if re == nil {
		re = r.command
	}
	found := (r.traits.must == "" || j.args.holds(r.traits.must)) && j.args.match(re, true) == yes ||
		r.command != nil && strings.Contains(j.line.Source, r.traits.must) && strings.HasPrefix(j.line.Source, r.traits.lead) && r.anchored.MatchString(j.line.Source)
	if j.lines == nil {
		j.lines = make(map[*rule]bool)
	}
	j.lines[r] = found
	return found
}

// searchAll searches a rule's pattern in uncertain spellings of a part.
func (j *judge) searchAll(r *rule, i int, all []spelling) tri {
	for _, s := range all {
		if j.search(r, i, s) != no {
			return maybe
		}
	}
	return no
}

// search searches the pattern of a rule that tightens in a spelling of a part.
func (j *judge) search(r *rule, i int, s spelling) tri {
	switch {
	case j.searchHoles(r, i, s):
	case s.holes != nil || !r.traits.shortens(s.text, func(text string) bool { return j.searchText(r, text) }):
		return no
	default:
		return maybe
	}
	if s.holes != nil || !s.sure {
		return maybe
	}
	return yes
}

// searchHoles reports whether the pattern of a rule that tightens matches a
// spelling, or may match it.
func (j *judge) searchHoles(r *rule, i int, s spelling) bool {
	if s.holes == nil {
		return j.searchText(r, s.text)
	}
	how := search{anchored: true, to: len(s.text), free: r.traits.dashes && j.mayTakeOptions(i), program: s.holes.program}
	if r.command != nil {
		if mayLead(r.traits.lead, s.text) && (how.free || r.traits.touches(s.holes.known)) && r.traits.machine.may(s.text, how, &j.memory) {
			return true
		}
		if !r.traits.escaping {
			return false
		}
	}
	before, text, after := j.frame(s.text)
	whole := before + text + after
	if r.command != nil {
		how.to = len(text)
		return r.traits.machine.may(text+after, how, &j.memory)
	}
	how.anchored, how.from, how.to = false, len(before), len(before)+len(text)
	if how.program > 0 {
		how.program += len(before)
	}
	return r.traits.machine.may(whole, how, &j.memory)
}

// mayLead reports whether a text with holes may begin with another.
func mayLead(lead, text string) bool {
	if i := strings.Index(text, holesBegin); i >= 0 && i < len(lead) {
		lead, text = lead[:i], text[:i]
	}
	return strings.HasPrefix(text, lead)
}

// programEnd returns the end of a command's program if its subcommand is known,
// and 0 otherwise.
func programEnd(command string) int {
	words := strings.Fields(command)
	if len(words) < 2 || !shell.Subcommands(programName(words[0])) {
		return 0
	}
	if bare := withoutOptions(words); len(bare) > 0 && bare[0].sure {
		words = bare[0].words
	}
	if len(words) < 2 || isOption(words[1]) || hasHoles(words[1]) {
		return 0
	}
	return strings.Index(command, words[0]) + len(words[0])
}

// mayTakeOptions reports whether an unknown word of a part may expand to an
// option of the program.
func (j *judge) mayTakeOptions(i int) bool {
	return slices.ContainsFunc(j.parts, func(p shell.Part) bool { return p.Option && p.Parent == i })
}

// shortens reports whether a pattern is found in a text with one abbreviated
// long option, or all, replaced by the complete one.
func (l *traits) shortens(text string, found func(string) bool) bool {
	if len(l.longs) == 0 || !strings.Contains(text, " --") {
		return false
	}
	end := 0             // of the previous field
	whole, from := "", 0 // text up to from, with all options replaced
	for field := range strings.FieldsSeq(text) {
		name, _, _ := strings.Cut(field, "=")
		at := end + strings.Index(text[end:], field)
		end = at + len(field)
		for _, long := range l.longs {
			if !abbreviates(name, long) {
				continue
			}
			if found(text[:at] + long + text[at+len(name):]) {
				return true
			}
			if from <= at {
				whole, from = whole+text[from:at]+long, at+len(name)
			}
		}
	}
	return from > 0 && found(whole+text[from:])
}

// searchText searches a rule's pattern in the call's arguments with the command
// replaced. A commandRegex is searched from the start of the command.
func (j *judge) searchText(r *rule, text string) bool {
	if r.tightens && !r.traits.escaping && !strings.Contains(text, r.traits.must) {
		return false
	}
	if r.command != nil && strings.HasPrefix(text, r.traits.lead) && r.anchored.MatchString(text) {
		return true
	}
	if r.tightens && r.command != nil && !r.traits.escaping {
		return false
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

// frame returns the command as encoded in the arguments, and the text before and
// after it there.
func (j *judge) frame(command string) (before, text, after string) {
	const mark = "\U000F0010"
	texts := j.args.command(mark)
	form := texts.given
	if form == "" {
		form = texts.plain[0]
	}
	before, after, _ = strings.Cut(form, mark)
	quoted := string(appendString(nil, command))
	return before, quoted[1 : len(quoted)-1], after
}

// explainPart explains a part's verdict, and what would change it.
func (j *judge) explainPart(i int, v *judged) (reason, remedy string) {
	p := &j.parts[i]
	r := v.decisive()
	text := abridged(p.Text)
	switch {
	case r == v.maybe && r.besides():
		return "The rule " + r.id + " asks or may ask.", r.remedy()
	case r == v.maybe && p.Reason != "":
		return fmt.Sprintf("It is unknown whether the rule %s covers %s: %s.", r.id, text, p.Reason), r.remedy()
	case r == v.maybe:
		return fmt.Sprintf("It is unknown whether the rule %s covers %s.", r.id, text), r.remedy()
	case r.own == ownYolo:
		return "In yolo mode, calls without a matching rule run without approval.", ""
	case r.own == ownConfined:
		return confinedReason, ""
	case r.own == ownReadOnly:
		return j.freeReason(i), ""
	case r.own == ownBuiltins && p.Kind == shell.Builtin:
		return "It changes nothing outside of the shell.", ""
	case r.own == ownBuiltins:
		return "It only runs parts that are evaluated separately.", ""
	case r.own == written:
		return v.effect, r.remedy()
	case p.Kind == shell.Unknown:
		return "The commands that would run are unknown: " + p.Reason + ".", "Write the program and its arguments literally, without expansions that are computed when the line runs" + j.orYolo()
	case p.Kind == shell.Builtin && listsVariables(p):
		return "It may print the values of all variables of the environment.", "Name the variable: echo \"$HOME\"."
	case p.Kind == shell.Builtin:
		return "It may leave the workspace.", "Stay in the workspace directories, or add the other directory to them."
	}
	return "No rule allows " + text + "." + j.boundReason(i), "A rule that allows the prefix " + abridged(shell.Quote(suggested(p))) + " would allow this part."
}
