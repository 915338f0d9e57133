package shell

import (
	"slices"
	"strings"
)

// program adds a program that is known to run, write or load something for some
// of its arguments. It reports false for all others.
func (a *analysis) program(sc *scope, ws []arg, read input) (int, bool) {
	name := programName(ws[0])
	switch name {
	case "command":
		if len(ws) > 1 && ws[1].Static && strings.HasPrefix(ws[1].Text, "-") && strings.ContainsAny(ws[1].Text, "vV") {
			return a.add(sc, Part{Kind: Builtin, Words: publicWords(ws)}), true
		}
	case "exec", "builtin":
		if len(ws) == 1 {
			return a.add(sc, Part{Kind: Builtin, Words: publicWords(ws)}), true
		}
	case "find", "gfind":
		return a.find(sc, ws), true
	case "git":
		return a.git(sc, ws), true
	case "awk", "gawk", "mawk", "nawk", "original-awk", "goawk":
		return a.awk(sc, ws), true
	case "sed", "gsed":
		return a.sed(sc, ws), true
	case "parallel":
		return a.parallel(sc, ws), true
	case "make", "gmake", "bmake":
		return a.makeProgram(sc, ws), true
	case "tar", "gtar", "bsdtar":
		return a.tar(sc, ws), true
	case "fd", "fdfind":
		return a.fd(sc, ws), true
	}
	if sub, ok := strings.CutPrefix(name, "git-"); ok && in(gitCommands, sub) {
		index := a.plain(sc, ws)
		a.child(sc, index, 0, append([]arg{known("git"), known(sub)}, ws[1:]...), read)
		return index, true
	}
	a.copies(sc, ws)
	if isShell(name) {
		return a.shell(sc, ws, read), true
	}
	if row, ok := interpreterOf(name); ok {
		return a.interpreter(sc, row, ws, read), true
	}
	for _, row := range rowsOf()[name] {
		if row.subwords == "" || row.subcommandEnd(ws) > 0 {
			return a.wrapped(sc, row, ws, read), true
		}
	}
	if row := optionsOf()[name]; row != nil {
		index := a.plain(sc, ws)
		a.checkOptions(sc, row, index, ws)
		if name == "cmake" { // words after -- are arguments of the build program
			if at := slices.IndexFunc(ws, func(w arg) bool { return w.is("--") }); at > 0 {
				a.makeWords(sc, index, at+1, ws)
			}
		}
		if name == "go" && len(ws) > 1 && ws[1].is("run") {
			for _, w := range ws[2:] {
				a.runsFile(sc, index, w, false)
			}
		}
		return index, true
	}
	return 0, false
}

// isShell reports whether a program reads the language of bash, or a similar one.
func isShell(name string) bool {
	return slices.Contains([]string{"sh", "bash", "rbash", "zsh", "dash", "ksh", "ksh93", "mksh", "ash", "yash"}, strings.TrimSuffix(name, ".exe"))
}

// shell adds a shell with its command line.
func (a *analysis) shell(sc *scope, ws []arg, in input) int {
	index := a.add(sc, Part{Kind: Command, Words: publicWords(ws)})
	text := -1 // index of the option before a command line
	for i := 1; i < len(ws); i++ {
		w := ws[i]
		switch {
		case w.is("--", "-"):
			i++
		case strings.HasPrefix(w.head, "--") && w.Static:
			if w.is("--rcfile", "--init-file", "--emulate") {
				a.runs(sc, index, i, w.text(), "the shell runs that file first")
				i++
			}
			continue
		case (strings.HasPrefix(w.head, "-") || strings.HasPrefix(w.head, "+")) && w.Static && len(w.Text) > 1:
			for _, option := range append([]arg{w}, ws[i+1:min(i+1+strings.Count(strings.ToLower(w.Text), "o"), len(ws))]...) {
				if changesWords(option, true) || !option.Static {
					a.runs(sc, index, i, option.text(), "it changes how the shell reads the command line")
				}
				a.exportsAll = a.exportsAll || exportsWords(option, true)
				a.dotglob = a.dotglob || option.is("dotglob")
			}
			if strings.Contains(w.Text, "s") && w.Text[0] == '-' {
				a.learnParameters(ws[1:])
				a.standardInput(sc, index, in)
				return index
			}
			if strings.Contains(w.Text, "c") && w.Text[0] == '-' {
				text = i
			}
			i += strings.Count(strings.ToLower(w.Text), "o") // each takes a word
			continue
		case strings.HasPrefix(w.head, "-"), !w.Static && !w.quoted:
			a.runs(sc, index, i, w.text(), "the commands of the shell are unknown")
			return index
		}
		if i < len(ws) {
			a.shellOperand(sc, index, text, i, ws)
			return index
		}
	}
	a.standardInput(sc, index, in)
	return index
}

// shellOperand processes the first operand: the command line, or a file.
func (a *analysis) shellOperand(sc *scope, index, text, i int, ws []arg) {
	w := ws[i]
	if text < 0 {
		if !w.Static || isDescriptorFile(w.Text) {
			a.runs(sc, index, i, w.text(), "the commands that the shell reads are unknown")
		}
		a.runsFile(sc, index, w, true)
		return
	}
	if len(a.parts) <= maxParts && index < len(a.parts) {
		a.parts[index].Wraps = true
	}
	if programName(ws[0]) == "zsh" && !isPlainShell(w.template) {
		a.runs(sc, index, text, w.text(), "zsh may parse this command line differently from bash")
	}
	a.learnParameters(ws[i+1:])
	at := sc.under(index, text)
	at.foreign = true
	a.scriptIn(at, w)
}

// isPlainShell reports whether a text means the same to zsh as to bash.
func isPlainShell(s string) bool {
	return strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_ ./:,@%+-'\"&|;\n$") == "" && !strings.Contains(s, "${")
}

// standardInput processes a shell that reads its commands.
func (a *analysis) standardInput(sc *scope, index int, in input) {
	at := sc.under(index, len(a.parts[index].Words)) // no word refers to the input
	at.foreign = true
	if in.known {
		at.depth++
		a.parseText(at, in.text, in.text)
		return
	}
	a.unknown(at, a.parts[index].Text, "the commands that the shell reads are unknown")
}
