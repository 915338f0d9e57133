package shell

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// call walks a simple command and returns the index of its part, -1 if it has
// none.
func (a *analysis) call(sc *scope, c *syntax.CallExpr, in input) int {
	index, before := -1, sc.dirs
	for _, as := range c.Assigns {
		if as.Name != nil && as.Name.Value == "IFS" && len(c.Args) > 0 && c.Args[0].Lit() == "read" && !slices.Contains(a.given.functions, "read") {
			continue // it applies only to read's input
		}
		a.assignment(sc, as)
	}
	if len(c.Args) == 0 {
		for _, as := range c.Assigns {
			a.assignedHere(sc, as)
		}
	}
	if ws := a.words(c.Args); len(ws) > 0 {
		index = a.command(sc, ws, in)
		if index >= 0 && index < len(a.parts) && a.passesOn(ws[0], a.parts[index].Kind) {
			for _, as := range c.Assigns {
				if as.Name != nil && as.Array == nil {
					a.exported(sc, as.Name.Value, a.value(as.Value))
				}
			}
		}
	}
	if len(c.Assigns) > 0 || slices.ContainsFunc(c.Args, func(w *syntax.Word) bool { return w.Lit() == "" }) {
		at := sc.inside()
		at.dirs = before // a change of directory does not affect the command's own words
		a.substitutions(at, c)
	}
	return index
}

// passesOn reports whether a program may receive the variables that a command
// begins with: the command is or runs a program, or is one after which the shell
// may keep them.
func (a *analysis) passesOn(name arg, kind Kind) bool {
	if slices.Contains(a.given.functions, name.Text) {
		return true
	}
	return !name.is("echo", "printf") && kind != Builtin ||
		in(": . source break continue eval exec exit export readonly return set shift times trap unset command builtin jobs", name.Text)
}

// command adds a command and everything that it brings, and returns the index of
// its part.
func (a *analysis) command(sc *scope, ws []arg, in input) int {
	sc.success = sc.dirs
	name := ws[0]
	if a.steps += len(ws) / stepWords; !a.step("") {
		return len(a.parts) - 1
	}
	if !name.Static {
		return a.dynamicCommand(sc, ws, "which command this is depends on what it expands to")
	}
	if slices.Contains(a.given.functions, name.Text) {
		a.learnParameters(ws[1:])
	}
	if index, ok := a.builtin(sc, ws, in); ok {
		return index
	}
	index := a.static(sc, ws, in)
	if strings.Contains(name.Text, "/") {
		a.runsFile(sc, index, name, true)
	}
	return index
}

// static adds a command whose program is known and not a builtin.
func (a *analysis) static(sc *scope, ws []arg, in input) int {
	name := ws[0]
	if index, ok := a.program(sc, ws, in); ok {
		if sc.bare && index >= 0 && needsGuard(programName(name)) {
			a.runs(sc, index, 1, joinText(ws), "without the variables that fettle sets it may run code that the directory names")
		}
		a.runsFound(sc, index, ws)
		a.operands(sc, index, ws)
		return index
	}
	if a.functions[name.Text] && !sc.foreign {
		return a.add(sc, Part{Kind: Builtin, Words: publicWords(ws)})
	}
	index := a.plain(sc, ws)
	a.runsFound(sc, index, ws)
	a.operands(sc, index, ws)
	return index
}

// programName returns a program's base name.
func programName(w arg) string {
	return strings.TrimSuffix(path.Base(w.Text), ".exe")
}

// plain adds a command without effects beyond its own rule.
func (a *analysis) plain(sc *scope, ws []arg) int {
	return a.add(sc, Part{Kind: Command, Words: publicWords(ws)})
}

// dynamicCommand adds a command with an unknown first word, and its possible
// values as guesses.
func (a *analysis) dynamicCommand(sc *scope, ws []arg, reason string) int {
	index := a.add(sc, Part{Kind: Unknown, Words: publicWords(ws), Reason: reason})
	if sc.depth >= maxDepth {
		return index
	}
	at := sc.under(index, 0)
	at.guess = true
	at.depth++
	for _, v := range ws[0].values {
		start := []arg{known(v)}
		if ws[0].splits {
			start = start[:0]
			for _, f := range strings.Fields(v) {
				start = append(start, known(f))
			}
		}
		if len(start) > 0 || len(ws) > 1 {
			a.command(at.inside(), append(start, ws[1:]...), input{})
		}
	}
	return index
}

// child adds the command that a part runs, from its word own on.
func (a *analysis) child(sc *scope, parent, own int, ws []arg, in input) {
	at := sc.under(parent, own)
	at.depth++
	at.foreign = true
	switch {
	case at.depth > maxDepth:
		a.unknown(at, joinText(ws), "the commands are nested too deeply")
	case len(ws) > 0:
		a.command(at, ws, in)
	}
}

// script adds the parts of a text that a part passes to a shell.
func (a *analysis) script(sc *scope, parent, own int, w arg) {
	a.scriptIn(sc.under(parent, own), w)
}

func (a *analysis) scriptIn(at *scope, w arg) {
	at.depth++
	text := w.template
	if !w.Static {
		at = at.under(a.unknown(at, w.text(), "the command line that it runs is unknown"), 0)
		// Inserted text may add commands, but cannot remove those in the text.
		at.guess = at.guess || !w.filled || w.head == ""
		for _, v := range w.values {
			a.parseText(at.inside(), v, v)
		}
		if len(w.values) > 0 {
			return
		}
	}
	a.parseText(at, text, w.text())
}

// parseText walks a command line inside of the line.
func (a *analysis) parseText(at *scope, text, shown string) {
	if at.depth > maxDepth {
		a.unknown(at, shown, "the command lines are nested too deeply")
		return
	}
	if !a.step(text) {
		return
	}
	problem := refuse(text)
	var file *syntax.File
	if problem == "" {
		var err error
		if file, err = parseBash(text); err != nil {
			problem = "it is not valid bash: " + err.Error()
		}
	}
	if problem != "" {
		if !at.guess {
			a.unknown(at, shown, "it cannot be parsed: "+problem)
		}
		return
	}
	a.file(at, file, text)
}

// runs adds the fact that a word of a part makes it run something unknown.
func (a *analysis) runs(sc *scope, parent, own int, shown, reason string) {
	a.unknown(sc.under(parent, own), shown, reason)
}

// pipe walks both sides of a pipe. Certain output of the left side is a guess at
// the commands of a shell on the right side.
func (a *analysis) pipe(sc *scope, cmd *syntax.BinaryCmd) {
	left, right := sc.inside(), sc.inside()
	left.again, right.again = true, true
	first := len(a.parts)
	a.stmt(left, cmd.X)
	right.prints = a.prints(cmd.X)
	texts := a.output([]*syntax.Stmt{cmd.X})
	right.fed = input{given: true}
	if len(texts) > 0 {
		right.fed.known, right.fed.text = true, texts[0]
	}
	reader := len(a.parts)
	a.stmt(right, cmd.Y)
	for i := first; i < reader && reader < len(a.parts); i++ {
		if a.parts[i].Into == 0 {
			a.parts[i].Into = reader
		}
	}
	if call, ok := cmd.Y.Cmd.(*syntax.CallExpr); ok && len(call.Args) > 0 && isShell(call.Args[0].Lit()) {
		if len(texts) > 0 {
			at := sc.inside()
			at.guess = true
			at.depth++
			a.parseText(at, texts[0], texts[0])
		}
	}
	sc.success = sc.dirs
}
