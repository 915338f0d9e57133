package shell

import (
	"strings"
)

// makeProgram adds make with the commands in its arguments.
func (a *analysis) makeProgram(sc *scope, ws []arg) int {
	index := a.plain(sc, ws)
	for _, file := range []string{"Makefile", "makefile", "GNUmakefile"} {
		a.runsFile(sc, index, known(file), false)
	}
	a.makeWords(sc, index, 1, ws)
	return index
}

// makeWords evaluates the arguments of make from an index on.
func (a *analysis) makeWords(sc *scope, index, from int, ws []arg) {
	for i := from; i < len(ws); i++ {
		w := ws[i]
		name, value, assigns := strings.Cut(w.template, "=")
		name = strings.TrimRight(name, ":+?")
		switch {
		case strings.HasPrefix(w.head, "--"):
			i = a.makeLong(sc, index, i, ws)
		case len(w.head) > 1 && w.head[0] == '-':
			i = a.makeLetters(sc, index, i, ws)
		case !w.Static:
			if !w.number || w.Pattern {
				a.suspects(sc, index, i, w, isMakeText, "it may be a variable whose value make or its shell expands")
			}
			for _, v := range w.values {
				if name, value, ok := strings.Cut(v, "="); ok {
					a.assigned(sc.under(index, i), strings.TrimRight(name, ":+?"), known(value))
				}
			}
			if assigns && strings.Contains(w.head, "=") {
				v := dynamic(value)
				v.facts = w.facts
				a.assigned(sc.under(index, i), name, v)
			}
		case assigns && strings.HasPrefix(w.template, name):
			if isMakeText(w.Text) {
				a.runs(sc, index, i, w.text(), "make or its shell expands the value")
				continue
			}
			a.assigned(sc.under(index, i), name, known(value))
		}
	}
}

// isMakeText reports whether make or its shell expands or runs a text.
func isMakeText(s string) bool {
	name, _, assigns := strings.Cut(s, "=")
	return strings.ContainsAny(s, "$`;|&") || assigns && strings.HasSuffix(name, "!")
}

// makeLong parses a long option of make and returns the index of the last word
// that belongs to it.
func (a *analysis) makeLong(sc *scope, index, i int, ws []arg) int {
	w := ws[i]
	name, value, attached := strings.Cut(w.template, "=")
	begins := func(names ...string) bool {
		for _, full := range names {
			if len(name) > 2 && strings.HasPrefix(full, name) {
				return true
			}
		}
		return false
	}
	switch {
	case !w.Static && !strings.Contains(w.head, "="), begins("--eval"):
		a.runs(sc, index, i, w.text(), "make reads it as a makefile")
	case begins("--file", "--makefile"):
		if attached {
			a.makefile(sc, index, i, w, value)
		} else if i++; i < len(ws) {
			a.makefile(sc, index, i-1, ws[i], ws[i].template)
		}
	case !attached && begins("--directory", "--include-dir", "--old-file", "--assume-old", "--new-file", "--assume-new", "--what-if"):
		i++
	}
	return i
}

// makeLetters parses a word of short options of make and returns the index of the
// last word that belongs to it.
func (a *analysis) makeLetters(sc *scope, index, i int, ws []arg) int {
	w := ws[i]
	for j := 1; j < len(w.head); j++ {
		rest := w.template[j+1:]
		switch w.head[j] {
		case 'E':
			a.runs(sc, index, i, w.text(), "make reads it as a makefile")
			return i
		case 'f':
			if rest != "" {
				a.makefile(sc, index, i, w, rest)
			} else if i++; i < len(ws) {
				a.makefile(sc, index, i-1, ws[i], ws[i].template)
			}
			return i
		case 'C', 'I', 'o', 'W':
			if rest == "" {
				i++
			}
			return i
		case 'j', 'l', 'O', 'd': // a value, if any, is part of the word
			return i
		}
	}
	if !w.Static {
		a.runs(sc, index, i, w.text(), "it may be an option that makes make run something")
	}
	return i
}

// makefile asks about a makefile that is not a plain file.
func (a *analysis) makefile(sc *scope, index, own int, w arg, path string) {
	if !w.Static || isDescriptorFile(path) {
		a.runs(sc, index, own, w.text(), "the makefile that it reads is unknown")
	}
	a.runsFile(sc, index, known(path), false)
}

// tar adds tar with the programs in its arguments.
func (a *analysis) tar(sc *scope, ws []arg) int {
	index := a.plain(sc, ws)
	runs := func(i int) { a.runs(sc, index, i, ws[i].text(), "tar runs it") }
	for i := 1; i < len(ws); i++ {
		w := ws[i]
		name, value, attached := strings.Cut(w.template, "=")
		long := strings.HasPrefix(w.head, "--")
		switch {
		case w.is("--"):
			return index
		case long && isShortened(name, "--remove-files", 5): // once they are in the archive
			a.child(sc, index, i, append([]arg{known("rm"), known("-r"), known("-f")}, tarMembers(ws)...), input{})
		case long && !w.Static && !strings.Contains(w.head, "="):
			runs(i)
		case long && isTarCommand(name), w.is("-I", "-F"):
			v := known(value)
			if !w.Static {
				v = dynamic(value)
			}
			own := i
			if !attached && i+1 < len(ws) {
				i++
				v = ws[i]
			}
			a.script(sc, index, own, v)
		case long && isShortened(name, "--checkpoint-action", 14):
			i = a.tarAction(sc, index, i, ws)
		case long:
		case strings.HasPrefix(w.head, "-") && len(w.head) > 1:
			a.tarLetters(sc, index, i, w, runs)
		case i == 1 && !w.Static:
			runs(i)
		case i == 1 && !strings.ContainsAny(w.Text, "./"): // letters without a dash
			a.tarLetters(sc, index, i, w, runs)
		case !w.Static:
			for _, v := range w.guesses() {
				if strings.HasPrefix(v, "-") && (v != w.emptied || strings.HasPrefix(v, "--") || strings.ContainsAny(v, "IF")) {
					runs(i)
					break
				}
			}
		}
	}
	return index
}

// tarMembers returns the words of tar that may name files: with --remove-files it
// deletes them.
func tarMembers(ws []arg) []arg {
	var out []arg
	for i, w := range ws[1:] {
		if !strings.HasPrefix(w.head, "-") && !(i == 0 && w.Static && !strings.ContainsAny(w.Text, "./")) {
			out = append(out, w)
		}
	}
	return out
}

// isTarCommand reports whether the value of a long option of tar is a command
// line, or the program for access to another machine.
func isTarCommand(name string) bool {
	return isShortened(name, "--use-compress-program", 5) || isShortened(name, "--to-command", 6) || isShortened(name, "--info-script", 5) ||
		isShortened(name, "--new-volume-script", 7) || isShortened(name, "--rsh-command", 5) || isShortened(name, "--rmt-command", 5)
}

// tarAction evaluates a checkpoint action of tar and returns the index of the
// last word that belongs to it.
func (a *analysis) tarAction(sc *scope, index, i int, ws []arg) int {
	own, w := i, ws[i]
	_, value, attached := strings.Cut(w.template, "=")
	if !attached && i+1 < len(ws) {
		i++
		w, value = ws[i], ws[i].template
	}
	command, executes := strings.CutPrefix(value, "exec=")
	switch {
	case w.Static && executes:
		a.script(sc, index, own, known(command))
	case w.Static && (executes || in("dot . bell totals wait", value) || beginsOne(value, "echo ttyout= sleep= totals=")):
	default:
		a.runs(sc, index, own, w.text(), "tar runs it")
	}
	return i
}

// tarLetters finds -I and -F in a word of letters. A letter with a value ends it,
// unless the dash is missing.
func (a *analysis) tarLetters(sc *scope, index, i int, w arg, runs func(int)) {
	for j, c := range strings.TrimPrefix(w.template, "-") {
		switch {
		case j >= len(w.head):
			if !w.number {
				runs(i)
			}
			return
		case c == 'I' || c == 'F':
			runs(i)
			return
		case strings.ContainsRune("bCfgKLNTVXH", c) && strings.HasPrefix(w.template, "-"):
			return
		}
	}
}

// isShortened reports whether an option is a long one's name or an abbreviation
// of it with at least n characters.
func isShortened(option, full string, n int) bool {
	return len(option) >= n && strings.HasPrefix(full, option)
}

// parallel adds GNU parallel with the command that it runs for each argument.
func (a *analysis) parallel(sc *scope, ws []arg) int {
	index := a.add(sc, Part{Kind: Command, Words: publicWords(ws), Wraps: true})
	start := 1
	for start < len(ws) && strings.HasPrefix(ws[start].head, "-") {
		switch w := ws[start]; {
		case w.is("-j", "-P", "--jobs", "-n", "-N", "--max-args", "-L", "--timeout", "--retries", "--delay", "--colsep", "-C", "-a", "--arg-file", "-d", "--delimiter", "-s", "--halt", "--load", "--nice"):
			start += 2
		case w.is("-k", "-u", "-v", "-t", "-0", "-X", "-m", "-q", "-r", "--keep-order", "--ungroup", "--group", "--line-buffer", "--lb", "--verbose", "--null",
			"--bar", "--progress", "--eta", "--dry-run", "--dryrun", "--no-run-if-empty", "--will-cite", "--tag", "--xargs", "--pipe"),
			isValuedParallel(w):
			start++
		default:
			a.runs(sc, index, start, joinText(ws[start:]), unclearCommand)
			return index
		}
	}
	end := min(start, len(ws))
	for end < len(ws) && !ws[end].is(":::", "::::", ":::+", "::::+") {
		end++
	}
	if start >= end {
		a.runs(sc, index, min(start, len(ws)), joinText(ws), "the command lines that it reads are unknown")
		return index
	}
	a.parallelCommand(sc, index, start, joined(ws[start:end]))
	return index
}

// parallelCommand walks a command line whose placeholders, such as {} and {.},
// are replaced by arguments; without one an argument is appended.
func (a *analysis) parallelCommand(sc *scope, index, start int, line arg) {
	text := line.template
	var b strings.Builder
	found := false
	for {
		before, rest, ok := strings.Cut(text, "{")
		inner, after, closed := strings.Cut(rest, "}")
		if !ok || !closed || strings.ContainsAny(inner, " \n\"'") {
			break
		}
		b.WriteString(before + "$_")
		text, found = after, true
	}
	b.WriteString(text)
	if !found {
		b.WriteString(" $_")
	}
	if found && strings.ContainsAny(line.template, "'\"\\") || !line.Static {
		a.runs(sc, index, start, line.text(), "the command line depends on the arguments")
	}
	at := sc.under(index, start)
	at.depth++
	a.parseText(at, b.String(), line.text())
}

func isValuedParallel(w arg) bool {
	if !w.Static {
		return false
	}
	digits := strings.TrimPrefix(strings.TrimPrefix(w.Text, "-j"), "-P")
	return len(digits) < len(w.Text) && (isDigits(digits) || strings.HasSuffix(digits, "%")) ||
		strings.HasPrefix(w.Text, "--jobs=") || strings.HasPrefix(w.Text, "--max-args=") || strings.HasPrefix(w.Text, "--timeout=") || strings.HasPrefix(w.Text, "--colsep=")
}

// sshOption evaluates ssh -o.
func (a *analysis) sshOption(sc *scope, index, own int, w arg) {
	key, value, ok := strings.Cut(w.template, "=")
	if !ok {
		key, value, _ = strings.Cut(w.template, " ")
	}
	switch strings.ToLower(strings.TrimSpace(key)) {
	case "proxycommand", "localcommand", "knownhostscommand":
		if w.Static {
			a.script(sc, index, own, known(value))
			return
		}
	case "stricthostkeychecking", "connecttimeout", "batchmode", "serveraliveinterval", "serveralivecountmax", "loglevel", "port", "user",
		"compression", "forwardagent", "identitiesonly", "passwordauthentication", "preferredauthentications", "requesttty", "tcpkeepalive", "connectionattempts":
		if w.Static || strings.Contains(w.head, "=") {
			return
		}
	case "userknownhostsfile":
		if strings.TrimSpace(value) == "/dev/null" {
			return
		}
	}
	a.runs(sc, index, own, w.text(), "the option may make ssh run a command")
}
