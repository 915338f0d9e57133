package shell

import (
	"slices"
	"strings"
)

// findValues maps find's primaries to the number of their arguments.
// [analysis.find] handles those with actions.
var findValues = map[string]int{
	"-D": 1, "-amin": 1, "-anewer": 1, "-atime": 1, "-cmin": 1, "-cnewer": 1, "-context": 1, "-ctime": 1, "-fstype": 1, "-gid": 1, "-group": 1,
	"-ilname": 1, "-iname": 1, "-inum": 1, "-ipath": 1, "-iregex": 1, "-iwholename": 1, "-links": 1, "-lname": 1, "-maxdepth": 1,
	"-mindepth": 1, "-mmin": 1, "-mtime": 1, "-name": 1, "-newer": 1, "-path": 1, "-perm": 1, "-printf": 1, "-regex": 1, "-regextype": 1,
	"-samefile": 1, "-size": 1, "-type": 1, "-uid": 1, "-used": 1, "-user": 1, "-wholename": 1, "-xtype": 1, "-files0-from": 1, "-f": 1, "-flags": 1,
}

// find adds find with the commands, deletions and outputs of its expression.
func (a *analysis) find(sc *scope, ws []arg) int {
	index := a.plain(sc, ws)
	expression := false
	for i := 1; i < len(ws); i++ {
		w := ws[i]
		at := sc.under(index, i)
		switch {
		case w.is("-exec", "-execdir", "-ok", "-okdir"):
			expression = true
			end := i + 1
			for end < len(ws) && !ws[end].is(";") && !(ws[end].is("+") && ws[end-1].is("{}")) {
				end++
			}
			if strings.HasSuffix(w.Text, "dir") {
				at.dirs = dirSet{}
			}
			if end > i+1 {
				a.child(at, index, i, found(replaced(slices.Clone(ws[i+1:end]), "{}")), input{given: w.is("-ok", "-okdir")})
			}
			i = end
		case w.is("-delete"):
			expression = true
			a.add(at, Part{Kind: Command, Words: publicWords([]arg{known("rm"), dynamic("…")})})
		case w.is("-fprint", "-fprint0", "-fls", "-fprintf"):
			expression = true
			if i+1 < len(ws) {
				a.writes(at, ws[i+1])
			}
			i++
			if w.is("-fprintf") {
				i++
			}
		case w.Static && (findValues[w.Text] > 0 || strings.HasPrefix(w.Text, "-newer")):
			expression = true
			i++
			if i < len(ws) && ws[i].splits && !ws[i].number {
				a.unclearFind(sc, index, i, ws[i])
			}
		case w.Static && strings.HasPrefix(w.Text, "-"):
			expression = expression || !w.is("-H", "-L", "-P") && !strings.HasPrefix(w.Text, "-O")
		case w.Static:
		case w.template == "…": // appended by xargs
			a.unclearFind(sc, index, i, w)
		case expression, strings.HasPrefix(w.head, "-"), w.splits && w.values == nil && !w.number && len(ws) == 2:
			a.unclearFind(sc, index, i, w)
		default:
			a.guessFind(sc, index, i, w)
		}
	}
	return index
}

// guessFind evaluates the possible expansions of a starting point.
func (a *analysis) guessFind(sc *scope, index, i int, w arg) {
	for _, v := range w.guesses() {
		if strings.HasPrefix(v, "-") {
			a.unclearFind(sc, index, i, w)
			return
		}
	}
}

func (a *analysis) unclearFind(sc *scope, index, i int, w arg) {
	a.runs(sc, index, i, w.text(), "it may be an action of find, which can run commands and delete files")
}

// fd adds fd with the command that it runs for each result.
func (a *analysis) fd(sc *scope, ws []arg) int {
	index := a.plain(sc, ws)
	for i := 1; i < len(ws); i++ {
		w := ws[i]
		if w.is("--") {
			break
		}
		name, _, attached := strings.Cut(w.template, "=")
		short := w.Static && len(w.Text) > 1 && w.Text[0] == '-' && w.Text[1] != '-' && strings.ContainsAny(w.Text, "xX")
		long := w.Static && len(name) > 4 && (strings.HasPrefix("--exec-batch", name))
		switch {
		case strings.HasPrefix(w.head, "-") && !w.Static && !strings.Contains(w.head, "="):
			a.runs(sc, index, i, w.text(), "it may be an option that runs commands")
		case !short && !long:
		case attached || short && len(w.Text) > 2:
			a.runs(sc, index, i, w.text(), "the option runs a command")
		default:
			end := i + 1
			for end < len(ws) && !ws[end].is(";") {
				end++
			}
			rest := ws[i+1 : end : end]
			if !slices.ContainsFunc(rest, func(w arg) bool { return strings.Contains(w.template, "{") }) {
				rest = append(rest, dynamic("…"))
			}
			a.child(sc, index, i, replaced(slices.Clone(rest), "{"), input{})
			i = end
		}
	}
	return index
}

// found marks the words that find fills in: they begin with a starting point.
func found(ws []arg) []arg {
	for i, w := range ws {
		if !w.Static && w.filled && w.head == "" {
			ws[i].facts = &facts{unknown: true, rooted: true}
		}
	}
	return ws
}
