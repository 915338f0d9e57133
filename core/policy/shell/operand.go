package shell

import (
	"slices"
	"strings"
)

// valuedOptions lists options whose value is the next word. For unlisted programs
// every option may have one.
var valuedOptions = map[string]string{
	"git": " -m --message -F -C --author --grep --since --until --format -S -G -L -n --date -b -B -t ",
	"sed": " -e -f --expression --file -l ", "go": " -run -o -tags -bench -timeout -count -C -f -skip -coverprofile -p ",
	"rg": " -e -f -g -A -B -C -m -t -T -r -d -j -M -E --glob --regexp --type ", "sort": " -k -t -S -T ", "tar": " -f -C --file --directory ",
	"find": " ", "fd": " -e -d -t -E -g ", "make": " -C -f -j -l -o -W -I ", "tree": " -L -P -I ", "xxd": " -c -l -s ", "split": " -l -b -n -a ",
}

// operand is a word that a program may read as an option.
type operand struct {
	sc    *scope
	index int
	own   int
	word  arg
	// printed states that only the output of programs counts: the program has few
	// harmful options, and names of files are its common operands.
	printed bool
}

// operands records the words of a command that only bash can expand and that may
// become options of the program.
func (a *analysis) operands(sc *scope, index int, ws []arg) {
	for i, w := range ws {
		if i > 0 && index >= 0 && !w.Static && (!w.number || w.Pattern || a.splitsElse) {
			a.expanded = append(a.expanded, operand{sc: sc, index: index, own: i, word: w})
		}
	}
	name := programName(ws[0])
	row := optionsOf()[name]
	harmless := row != nil && row.open
	if index < 0 || harmless && row.short == "" || isShell(name) || rowsOf()[name] != nil {
		return
	}
	valued, listed := valuedOptions[name]
	for i, w := range ws[1:] {
		before := ws[i]
		switch {
		case w.is("--") && name != "find":
			return
		case w.Static, w.number && !w.Pattern && !a.splitsElse:
		case i > 0 && before.Static && strings.HasPrefix(before.Text, "-") && !w.splits && !w.Pattern &&
			(!listed || strings.Contains(valued, " "+before.Text+" ") || name == "find" && findValues[before.Text] > 0):
		case w.head != "" && w.head[0] != '-' && w.head[0] != '+' && !w.splits && !beginsPattern(w):
		default:
			a.mayBeOptions = append(a.mayBeOptions, operand{sc: sc, index: index, own: i + 1, word: w, printed: harmless})
		}
	}
}

// beginsPattern reports whether a word begins with a pattern, and so with the
// beginning of any file name.
func beginsPattern(w arg) bool {
	return w.Pattern && w.Text != "" && (strings.IndexByte("*?[", w.Text[0]) >= 0 || len(w.Text) > 1 && w.Text[1] == '(')
}

// guesses returns possible values of a word that is not static.
func (w arg) guesses() []string {
	if w.emptied == "" {
		return w.Candidates
	}
	return append(slices.Clone(w.Candidates), w.emptied)
}

// checkOperands adds a part for each command with a word that may become an
// option. Values in the line itself are evaluated where they are used.
func (a *analysis) checkOperands() {
	for _, o := range a.expanded {
		if o.index < len(a.parts) && o.own < len(a.parts[o.index].Words) {
			a.parts[o.index].Words[o.own].Option = o.word.emptied != "" || a.isOption(factsOf(o.word), o.word.splits, 0, map[string]bool{})
		}
	}
	done := map[int]bool{}
	for _, o := range a.mayBeOptions {
		if !done[o.index] && a.isOption(factsOf(o.word), o.word.splits, 0, map[string]bool{}) && (!o.printed || a.isPrinted(factsOf(o.word), map[string]bool{})) {
			done[o.index] = true
			a.add(o.sc.under(o.index, o.own), Part{Kind: Unknown, Option: true, Text: o.word.text(), Reason: "it may come out as an option; put -- before it, or ./"})
		}
	}
}

// isPrinted reports whether a program has printed part of a value.
func (a *analysis) isPrinted(f facts, seen map[string]bool) bool {
	for _, name := range f.reads {
		name = canonicalName(name)
		if g := a.values[name]; g != nil && !seen[name] {
			seen[name] = true
			f.printed = f.printed || a.isPrinted(*g, seen)
		}
	}
	return f.printed
}

// isOption reports whether a value that is not in the line may be an option, or
// contain one among its words if it is split.
func (a *analysis) isOption(f facts, split bool, at start, seen map[string]bool) bool {
	at |= f.start
	cut := at.isCut()
	if f.unknown && (split && !f.single || cut || !f.rooted) {
		return true
	}
	if slices.ContainsFunc(f.texts, func(s string) bool { return at.mayBegin(s, "-") }) {
		return true
	}
	if at != 0 && split && slices.ContainsFunc(f.texts, func(s string) bool {
		return strings.Contains(s, " -") || strings.Contains(s, "\t-") || strings.Contains(s, "\n-")
	}) {
		return true
	}
	if a.splitsElse && split && slices.ContainsFunc(f.texts, func(s string) bool { return strings.Contains(s, "-") }) {
		return true
	}
	for _, name := range f.reads {
		name = canonicalName(name)
		g := a.values[name]
		if seen[name] || f.rooted && !cut && (!split || g != nil && g.isSingle()) {
			continue
		}
		seen[name] = true
		if slices.Contains(bashSets, name) && !strings.HasSuffix(name, "PWD") {
			return true
		}
		if g != nil && a.isOption(*g, split, at, seen) {
			return true
		}
	}
	return false
}
