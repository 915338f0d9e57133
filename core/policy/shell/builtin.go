package shell

import (
	"slices"
	"strings"
)

// builtin adds a command of the shell's own. It reports false if the name is
// none, or one that is judged like a program, as echo.
func (a *analysis) builtin(sc *scope, ws []arg, in input) (int, bool) {
	add := func(kind Kind) int { return a.add(sc, Part{Kind: kind, Words: publicWords(ws)}) }
	switch name := ws[0].Text; name {
	case ":", "true", "false", "break", "continue", "return", "exit", "shift", "wait", "getopts", "umask", "times",
		"pwd", "dirs", "jobs", "fg", "bg", "disown", "type", "caller", "logout", "ulimit", "suspend", "help", "unalias",
		"test", "[", "unset", "read", "compopt":
		index := add(Builtin)
		a.nameArguments(sc, index, ws)
		if name == "unset" {
			a.forget(ws[1:])
		}
		return index, true
	case "export", "readonly", "declare", "typeset", "local": // quoted, or as data: bash's own are another node
		index := add(Builtin)
		for _, w := range ws[1:] {
			a.declared(sc, w)
		}
		return index, true
	case "cd", "pushd", "popd":
		index := add(Builtin)
		a.moveTo(sc, ws)
		return index, true
	case "set", "shopt":
		index := add(Builtin)
		a.options(sc, index, ws)
		return index, true
	case "let":
		index := add(Builtin)
		for i, w := range ws[1:] {
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
		index := a.plain(sc, ws)
		if len(ws) > 1 {
			a.runsFile(sc, index, ws[1], true)
		}
		sc.went(folders{}, folders{})
		if len(ws) > 1 && !ws[1].Static {
			a.runs(sc, index, 1, ws[1].text(), "which file will be run cannot be told")
		} else if len(ws) > 1 && isDescriptorFile(ws[1].Text) {
			a.runs(sc, index, 1, ws[1].text(), "the commands that it reads cannot be told")
		}
		return index, true
	case "fc":
		index := add(Builtin)
		if !slices.ContainsFunc(ws[1:], func(w arg) bool { return w.Static && strings.HasPrefix(w.Text, "-l") }) {
			a.runs(sc, index, 1, "fc", "it runs commands of the history again")
		}
		return index, true
	case "printf":
		index := a.plain(sc, ws)
		if len(ws) > 2 && ws[1].is("-v") {
			a.nameArguments(sc, index, ws[:3])
		}
		return index, true
	}
	return 0, false
}

// forget takes names for what they were before the line defined them.
func (a *analysis) forget(ws []arg) {
	for _, w := range ws {
		if !w.Static {
			clear(a.functions)
		}
		delete(a.functions, w.Text)
	}
}

// nameArguments looks at the variables that a builtin names: one that cannot
// be told, one whose subscript runs a command, and, for read and its like, one
// that makes programs run something.
func (a *analysis) nameArguments(sc *scope, index int, ws []arg) {
	name := ws[0].Text
	for i := 1; i < len(ws); i++ {
		w := ws[i]
		names := name == "unset" || name == "printf" || name == "getopts" || name == "mapfile" || name == "readarray" ||
			(name == "test" || name == "[") && ws[i-1].is("-v", "-R") || (name == "wait" && ws[i-1].is("-p"))
		if name == "read" && w.Static && len(w.Text) == 2 && w.Text[0] == '-' && strings.Contains("adinNptu", w.Text[1:]) {
			if w.Text != "-a" {
				i++
			}
			continue
		}
		names = names || name == "read"
		switch {
		case w.Static && strings.HasPrefix(w.Text, "-"):
		case names && !w.Static, mayExpand(w.template) && w.Static && names,
			w.Static && subscriptRuns(w.Text):
			a.runs(sc, index, i, w.text(), "the name of the variable may run a command")
		case name == "unset" && w.Text == "PATH": // programs are then looked for where the line runs
			a.assigned(sc, w.Text, dynamic("…"))
		case names && name != "unset" && name != "test" && name != "[" && effectOf(w.Text) != harmless && w.Text != "IFS":
			a.assigned(sc, w.Text, dynamic("…"))
		}
	}
}

// moveTo follows cd, pushd and popd.
func (a *analysis) moveTo(sc *scope, ws []arg) {
	args := ws[1:]
	for len(args) > 0 && args[0].is("-P", "-L", "-e", "-@", "--", "-Pe", "-LP") {
		args = args[1:]
	}
	name := ws[0].Text
	switch {
	case a.setsDirs, name == "popd", len(args) > 1, len(args) == 0 && name == "pushd":
		sc.went(folders{}, folders{})
	case len(args) == 0: // home
		sc.went(sc.dirs.union(sc.dirs.moved("~")), sc.dirs.moved("~"))
	case !args[0].Static, strings.HasPrefix(args[0].Text, "-"), name == "pushd" && strings.HasPrefix(args[0].Text, "+"):
		sc.went(folders{}, folders{})
	case sc.dirs.lost() && !strings.HasPrefix(args[0].Text, "/"):
		sc.went(folders{}, folders{})
	default:
		to := sc.dirs.moved(args[0].Text)
		sc.went(sc.dirs.union(to), to)
	}
}

// options judges set and shopt.
func (a *analysis) options(sc *scope, index int, ws []arg) {
	set := ws[0].Text == "set"
	for i, w := range ws[1:] {
		switch {
		case set && (w.is("--", "-") || !strings.HasPrefix(w.head, "-") && !strings.HasPrefix(w.head, "+") && i == 0):
			return // positional parameters follow
		case w.is("expand_aliases", "extdebug", "lastpipe", "histexpand", "history", "cdable_vars", "autocd"),
			set && w.Static && strings.HasPrefix(w.Text, "-") && strings.ContainsAny(w.Text, "H"):
			a.runs(sc, index, i+1, w.text(), "it changes which commands the words that follow are")
		case !w.Static:
			a.runs(sc, index, i+1, w.text(), "which option is set cannot be told")
		}
	}
}

// oddOptions are the options of builtins that run, load or write something.
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
		if last := ws[len(ws)-1]; len(ws) > 1 && last.Static && effectOf(last.Text) != harmless {
			a.assigned(sc, last.Text, dynamic("…"))
		}
	}
}

// alias adds the values of aliases, and that names may mean something else
// from here on.
func (a *analysis) alias(sc *scope, ws []arg) int {
	index := a.add(sc, Part{Kind: Builtin, Words: publicWords(ws)})
	for i, w := range ws[1:] {
		_, value, ok := strings.Cut(w.template, "=")
		if w.is("-p") || w.Static && !ok {
			continue
		}
		a.runs(sc, index, i+1, w.text(), "an alias changes what later words mean")
		at := sc.under(index, i+1)
		at.guess = true
		at.depth++
		a.parseText(at, value, value)
	}
	return index
}

// eval walks the line that its arguments make up, in the same shell.
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
		sc.went(folders{}, folders{})
	} else {
		sc.went(sc.dirs.union(at.dirs), sc.dirs.union(at.dirs))
	}
	return index
}

// joined makes one text of words, as eval does.
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

// trap walks the line that a signal runs; where it then is cannot be told.
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
	at.dirs, at.again = folders{}, true
	a.scriptIn(at, args[0])
	return index
}

// isDescriptorFile tells whether a path is a way to read an open descriptor.
func isDescriptorFile(p string) bool {
	return p == "-" || p == "/dev/stdin" || strings.HasPrefix(p, "/dev/fd/") || strings.HasPrefix(p, "/proc/")
}
