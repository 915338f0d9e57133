package shell

import (
	"slices"
	"strings"
)

// builtin adds a builtin command of the shell. It reports false for other names,
// and for builtins that are evaluated like programs, such as echo.
func (a *analysis) builtin(sc *scope, ws []arg, in input) (int, bool) {
	add := func(kind Kind) int { return a.add(sc, Part{Kind: kind, Words: publicWords(ws)}) }
	switch name := ws[0].Text; name {
	case ":", "true", "false", "break", "continue", "return", "exit", "shift", "wait", "getopts", "umask", "times",
		"pwd", "dirs", "fg", "bg", "disown", "type", "caller", "logout", "ulimit", "suspend", "help", "unalias",
		"test", "[", "unset", "read", "compopt":
		index := add(Builtin)
		a.nameArguments(sc, index, ws)
		if name == "unset" {
			a.forget(ws[1:])
			for _, w := range ws[1:] {
				a.unguards(sc, w)
			}
		}
		return index, true
	case "export", "readonly", "declare", "typeset", "local": // quoted, or as data: otherwise the parser has a node of its own
		index := add(Builtin)
		a.declarations(sc, index, ws)
		return index, true
	case "jobs":
		return a.jobs(sc, ws), true
	case "cd", "pushd", "popd":
		index := add(Builtin)
		if a.moveTo(sc, ws) && index < len(a.parts) {
			a.parts[index].Moves = true
			a.parts[index].in(sc.success)
		}
		return index, true
	case "set", "shopt":
		index := add(Builtin)
		a.options(sc, index, ws)
		return index, true
	case "let":
		index := add(Builtin)
		for i, w := range ws[1:] {
			a.evaluations = append(a.evaluations, evaluation{sc: sc, text: w.text(), source: a.source, facts: factsOf(w)})
			if !w.Static && !w.number || mayExpand(w.template) {
				a.runs(sc, index, i+1, w.text(), "the expression may run a command")
			}
		}
		return index, true
	case "mapfile", "readarray", "complete", "compgen", "bind", "enable", "hash", "history":
		index := add(Builtin)
		a.oddOptions(sc, index, ws)
		return index, true
	case "alias":
		return a.alias(sc, ws), true
	case "eval":
		return a.eval(sc, ws), true
	case "trap":
		return a.trap(sc, ws), true
	case "source", ".":
		return a.readFile(sc, ws), true
	case "fc":
		index := add(Builtin)
		if !slices.ContainsFunc(ws[1:], func(w arg) bool { return w.Static && strings.HasPrefix(w.Text, "-l") }) {
			a.runs(sc, index, 1, "fc", "it runs commands of the history again")
		}
		return index, true
	case "printf":
		index := a.plain(sc, ws)
		a.printfName(sc, index, ws)
		return index, true
	}
	return 0, false
}

// jobs adds jobs, which with -x runs a command.
func (a *analysis) jobs(sc *scope, ws []arg) int {
	index := a.add(sc, Part{Kind: Builtin, Words: publicWords(ws)})
	executes := false
	for i := 1; i < len(ws); i++ {
		w := ws[i]
		switch {
		case !w.Static && !w.number && (w.head == "" || w.head[0] == '-'):
			a.runs(sc, index, i, joinText(ws[i:]), "it may be an option that makes jobs run a command")
			return index
		case w.is("--") && executes:
			i++
		case strings.HasPrefix(w.head, "-") && !w.is("--") && len(w.head) > 1:
			executes = executes || strings.Contains(w.head, "x")
			continue
		}
		if executes && i < len(ws) {
			sc.went(dirSet{}, dirSet{}) // it may be cd
			a.child(sc, index, i, ws[i:], input{})
		}
		break
	}
	return index
}

// readFile adds source, with the file whose commands it runs.
func (a *analysis) readFile(sc *scope, ws []arg) int {
	index := a.plain(sc, ws)
	sc.went(dirSet{}, dirSet{})
	at := 1
	if len(ws) > 1 && ws[1].is("--") {
		at = 2
	}
	if at >= len(ws) {
		return index
	}
	file := ws[at]
	a.runsFile(sc, index, file, true)
	switch {
	case !file.Static, at == 1 && strings.HasPrefix(file.Text, "-"):
		a.runs(sc, index, at, file.text(), "the file that it runs is unknown")
	case isDescriptorFile(file.Text):
		a.runs(sc, index, at, file.text(), "the commands that it reads are unknown")
	}
	return index
}

// printfName evaluates the variable that printf -v sets.
func (a *analysis) printfName(sc *scope, index int, ws []arg) {
	if len(ws) < 2 {
		return
	}
	option := ws[1]
	maybe := slices.ContainsFunc(option.guesses(), func(v string) bool { return strings.HasPrefix(v, "-v") })
	switch {
	case option.is("-v") && len(ws) > 2:
		a.nameArguments(sc, index, ws[:3])
	case strings.HasPrefix(option.head, "-v"):
		option.Text, option.template, option.head = strings.TrimPrefix(option.Text, "-v"), option.template[2:], option.head[2:]
		a.nameArguments(sc, index, []arg{ws[0], option})
	case maybe:
		a.runs(sc, index, 1, option.text(), "the name of the variable is unknown")
	case !option.Static && option.head == "" && len(ws) > 2 && ws[2].Static && effectOf(ws[2].Text) != harmless:
		a.named(sc, ws[2].Text)
	}
}

// learnParameters records values of the positional parameters.
func (a *analysis) learnParameters(ws []arg) {
	for _, w := range ws {
		a.learn("@", factsOf(w))
	}
}

// named records that a variable receives an unknown value.
func (a *analysis) named(sc *scope, name string) {
	a.array(name)
	name, _, _ = strings.Cut(name, "[")
	a.assigned(sc, name, dynamic("…"))
}

// forget removes functions of the given names.
func (a *analysis) forget(ws []arg) {
	for _, w := range ws {
		if !w.Static {
			clear(a.functions)
		}
		delete(a.functions, w.Text)
	}
}

// nameArguments evaluates the variables that a builtin names: an unknown one, one
// whose subscript runs a command, and, for read and similar builtins, one that
// makes programs run something.
func (a *analysis) nameArguments(sc *scope, index int, ws []arg) {
	name := ws[0].Text
	for i := 1; i < len(ws); i++ {
		w := ws[i]
		if name == "read" && w.Static && len(w.Text) == 2 && w.Text[0] == '-' && strings.Contains("adinNptu", w.Text[1:]) {
			if w.Text != "-a" {
				i++
			}
			continue
		}
		attached := ""
		switch {
		case !w.Static || !strings.HasPrefix(w.Text, "-"):
		case name == "read":
			_, attached, _ = strings.Cut(w.Text, "a")
		case name == "wait":
			_, attached, _ = strings.Cut(w.Text, "p")
		}
		if attached != "" {
			w = known(attached)
		}
		names := name == "unset" || name == "printf" || name == "getopts" || name == "mapfile" || name == "readarray" ||
			(name == "test" || name == "[") && ws[i-1].is("-v", "-R") || name == "wait" && (attached != "" || ws[i-1].Static && strings.HasPrefix(ws[i-1].Text, "-") && strings.HasSuffix(ws[i-1].Text, "p"))
		names = names || name == "read"
		if w.Static && (names || name == "[" || name == "test") {
			a.evaluatedText(sc, w.Text)
		}
		switch {
		case w.Static && strings.HasPrefix(w.Text, "-"):
		case names && !w.Static, mayExpand(w.template) && w.Static && names,
			w.Static && subscriptRuns(w.Text):
			a.runs(sc, index, i, w.text(), "the name of the variable may run a command")
		case name == "unset" && w.Text == "PATH": // programs are then searched in the working directory
			a.assigned(sc, w.Text, dynamic("…"))
		case names && name != "unset" && name != "test" && name != "[":
			a.named(sc, w.Text)
		}
	}
}

// moveTo follows cd, pushd and popd. It reports whether the possible targets are
// those of a success, and not the words of the command.
func (a *analysis) moveTo(sc *scope, ws []arg) (moves bool) {
	defer func(before dirSet) {
		if a.left {
			before = a.been.union(before)
		}
		a.been, a.left = before, true
	}(sc.dirs)
	args := ws[1:]
	for len(args) > 0 && args[0].is("-P", "-L", "-e", "-@", "--", "-Pe", "-LP") {
		args = args[1:]
	}
	name := ws[0].Text
	switch {
	case name == "popd" && len(args) == 0 && !a.setsDirs && !a.popsAway && !sc.dirs.lost():
		to := sc.dirs // it fails on an empty stack
		if !a.pushed.lost() {
			to = to.union(a.pushed)
		}
		sc.went(to, to)
		moves = true
	case a.setsDirs, name == "popd", len(args) > 1, len(args) == 0 && name == "pushd":
		sc.went(dirSet{}, dirSet{})
	case len(args) == 0: // home
		sc.went(sc.dirs.union(sc.dirs.moved("~")), sc.dirs.moved("~"))
	case name == "cd" && args[0].is("-"): // without an earlier change of directory it fails
		to := sc.dirs
		if a.left {
			to = a.been
		}
		if a.looseAll || a.loose["OLDPWD"] || len(a.vars["OLDPWD"]) > 0 {
			to = dirSet{}
		}
		sc.went(sc.dirs.union(to), to)
		moves = true
	case !args[0].Static && args[0].certain != nil:
		to, ok := sc.dirs.certainFolders(args[0].certain)
		if ok {
			sc.went(sc.dirs.union(to), to)
		} else {
			sc.went(dirSet{}, dirSet{})
		}
		moves = ok
	case !args[0].Static, strings.HasPrefix(args[0].Text, "-"), name == "pushd" && strings.HasPrefix(args[0].Text, "+"):
		sc.went(dirSet{}, dirSet{})
	case sc.dirs.lost() && sc.dirs.repo == nil && !strings.HasPrefix(args[0].Text, "/"):
		sc.went(dirSet{}, dirSet{})
	default:
		to := sc.dirs.moved(args[0].Text)
		sc.went(sc.dirs.union(to), to)
	}
	if name == "pushd" {
		a.push(sc.dirs)
	}
	return moves
}

// push records the directories that pushd leaves and enters: popd may lead to any
// directory that the line pushes.
func (a *analysis) push(dirs dirSet) {
	if len(a.pushed.list) > 0 {
		dirs = dirs.union(a.pushed)
	}
	a.pushed = dirs
	a.popsAway = a.popsAway || dirs.lost()
}

// options evaluates set and shopt.
func (a *analysis) options(sc *scope, index int, ws []arg) {
	set := ws[0].Text == "set"
	for i, w := range ws[1:] {
		a.dotglob = a.dotglob || w.is("dotglob")
		switch {
		case set && (w.is("--", "-") || !strings.HasPrefix(w.head, "-") && !strings.HasPrefix(w.head, "+") && i == 0):
			a.learnParameters(ws[i+1:])
			return // positional parameters follow
		case changesWords(w, set):
			a.runs(sc, index, i+1, w.text(), "it changes how bash reads later words")
		case !w.Static:
			a.runs(sc, index, i+1, w.text(), "the option is unknown")
		case exportsWords(w, set):
			a.exportsAll = true
		}
	}
}

// changesWords reports whether an option of bash, as a name or among letters,
// changes the commands and variables of later words.
func changesWords(w arg, letters bool) bool {
	return w.is("expand_aliases", "extdebug", "lastpipe", "histexpand", "history", "cdable_vars", "autocd", "keyword", "posix") ||
		letters && w.Static && strings.HasPrefix(w.Text, "-") && strings.ContainsAny(w.Text, "Hk")
}

// exportsWords reports whether an option exports assigned variables to programs.
func exportsWords(w arg, letters bool) bool {
	return w.is("allexport") || letters && w.Static && strings.HasPrefix(w.Text, "-") && strings.Contains(w.Text, "a")
}

// oddOptions evaluates the options of builtins that run, load or write something.
func (a *analysis) oddOptions(sc *scope, index int, ws []arg) {
	bad := map[string]string{
		"mapfile": "C", "readarray": "C", "complete": "CF", "compgen": "CFW", "bind": "xf", "enable": "fnd", "hash": "p", "history": "warnsp",
	}[ws[0].Text]
	for i, w := range ws[1:] {
		if !strings.HasPrefix(w.template, "-") && w.Static {
			continue
		}
		if !w.Static || strings.ContainsAny(w.Text, bad) {
			a.runs(sc, index, i+1, w.text(), "the option may run, load or write something")
			return
		}
	}
	if name := ws[0].Text; name == "mapfile" || name == "readarray" {
		for _, w := range ws[1:] {
			a.named(sc, w.Text)
		}
	}
}

// alias adds the values of aliases, and the fact that names may change their
// meaning.
func (a *analysis) alias(sc *scope, ws []arg) int {
	index := a.add(sc, Part{Kind: Builtin, Words: publicWords(ws)})
	for i, w := range ws[1:] {
		_, value, ok := strings.Cut(w.template, "=")
		if w.is("-p") || w.Static && !ok {
			continue
		}
		a.runs(sc, index, i+1, w.text(), "an alias changes the meaning of later words")
		at := sc.under(index, i+1)
		at.guess = true
		at.depth++
		a.parseText(at, value, value)
	}
	return index
}

// eval walks the line formed by its arguments, in the same shell.
func (a *analysis) eval(sc *scope, ws []arg) int {
	index := a.add(sc, Part{Kind: Builtin, Words: publicWords(ws)})
	own := 1
	if len(ws) > 1 && ws[1].is("--") {
		own = 2
	}
	if len(ws) == own {
		return index
	}
	at := sc.under(index, own)
	text := joined(ws[own:])
	a.scriptIn(at, text)
	if at.dirs.lost() || !text.Static {
		sc.went(dirSet{}, dirSet{})
	} else {
		sc.went(sc.dirs.union(at.dirs), sc.dirs.union(at.dirs))
	}
	return index
}

// joined joins words to one text, as eval does.
func joined(ws []arg) arg {
	if len(ws) == 1 {
		return ws[0]
	}
	texts := make([]string, len(ws))
	whole := true
	for i, w := range ws {
		texts[i] = w.template
		whole = whole && w.Static
	}
	text := strings.Join(texts, " ")
	if whole {
		return known(text)
	}
	return dynamic(text)
}

// trap walks the line that a signal runs; its working directory is unknown.
func (a *analysis) trap(sc *scope, ws []arg) int {
	index := a.add(sc, Part{Kind: Builtin, Words: publicWords(ws)})
	args, own := ws[1:], 1
	if len(args) > 0 && args[0].is("--") {
		args, own = args[1:], 2
	}
	if len(args) < 2 || args[0].is("-", "-p", "-l", "-P") {
		return index
	}
	at := sc.under(index, own)
	at.dirs, at.again = dirSet{}, true
	a.scriptIn(at, args[0])
	return index
}

// isDescriptorFile reports whether a path opens an open descriptor for reading.
func isDescriptorFile(p string) bool {
	return p == "-" || p == "/dev/stdin" || strings.HasPrefix(p, "/dev/fd/") || strings.HasPrefix(p, "/proc/")
}
