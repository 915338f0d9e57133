package shell

import (
	"slices"
	"strings"
)

// unclearCommand is the reason for the unknown command of a wrapper.
const unclearCommand = "the first word of the command that it runs is unknown"

// wrapped adds a program that runs another one, with its command.
func (a *analysis) wrapped(sc *scope, row *wrapper, ws []arg, in input) int {
	index := a.add(sc, Part{Kind: Command, Words: publicWords(ws), Wraps: row.transient})
	start := 1
	if row.subwords != "" {
		start = row.subcommandEnd(ws)
		if own := optionsOf()[programName(ws[0])]; own != nil {
			a.checkOptions(sc, own, index, ws[:start])
		}
	}
	if row.own {
		start--
	}
	if row.unclear == "*" {
		if len(ws) > start {
			a.runs(sc, index, start, joinText(ws[start:]), unclearCommand)
		}
		return index
	}
	r := reader{a: a, sc: sc.under(index, start), row: row, index: index, ws: ws, at: start, in: in}
	r.read()
	return index
}

// subcommandEnd returns the index after the words that make the program a
// wrapper; 0 if they are missing.
func (row *wrapper) subcommandEnd(ws []arg) int {
	i := 1
	for w := range strings.FieldsSeq(row.subwords) {
		option := false // the previous word may take this one as its value
		for ; ; i++ {
			switch {
			case i == len(ws):
				return 0
			case ws[i].is(strings.Split(w, "|")...):
			case strings.HasPrefix(ws[i].head, "-"):
				option = !strings.Contains(ws[i].template, "=")
				continue
			case option:
				option = false
				continue
			default:
				return 0
			}
			break
		}
		i++
	}
	return i
}

// reader parses the arguments of a wrapper up to its command.
type reader struct {
	a     *analysis
	sc    *scope // of the wrapper's command
	row   *wrapper
	index int
	ws    []arg
	at    int // the next word
	in    input

	placeholder string // text that is replaced in the command; "" for none
	ended       bool   // the command has been added, or is unknown
	gaveText    bool   // an option contained a command line
}

func (r *reader) read() {
	operands := r.row.operands
	options := true
	for r.at < len(r.ws) && !r.ended {
		w := r.ws[r.at]
		switch {
		case options && w.is("--"):
			options = false
			r.at++
		case options && w.is("-") && r.row.is("env"):
			r.sc.bare = true
			r.at++
		case options && w.is("-", "-l") && r.row.is("su"):
			r.at++
		case options && strings.HasPrefix(w.head, "-") && w.head != "-":
			r.option(w)
		case r.row.assigns && assigns(w):
			r.assignment(w)
		case operands > 0:
			if !w.Static && w.splits && !w.number {
				r.unclear(w)
				return
			}
			operands--
			r.at++
		default:
			r.command()
			return
		}
	}
	if !r.ended {
		r.nothing()
	}
}

func (row *wrapper) is(name string) bool { return strings.HasPrefix(row.names+" ", name+" ") }

// assigns reports whether a word is NAME=value, whatever its value.
func assigns(w arg) bool {
	name, _, ok := strings.Cut(w.head, "=")
	return ok && name != "" && !strings.ContainsAny(name, "/ ")
}

func (r *reader) assignment(w arg) {
	name, _, _ := strings.Cut(w.head, "=")
	value := dynamic(strings.TrimPrefix(w.template, name+"="))
	if w.Static {
		value = known(value.Text)
	}
	at := r.sc.under(r.index, r.at)
	switch {
	case w.splits && !w.number:
		r.unclear(w)
	default:
		r.a.assigned(at, name, value)
		r.a.exported(at, name, value)
	}
	r.at++
}

// unclear ends the parsing: the command is unknown.
func (r *reader) unclear(w arg) {
	r.ended = true
	r.a.runs(r.sc, r.index, r.at, joinText(r.ws[r.at:]), unclearCommand)
	// It may be one of the following words.
	for i := r.at; i < len(r.ws) && i < r.at+4; i++ {
		if r.ws[i].Static && !strings.HasPrefix(r.ws[i].Text, "-") && i > r.at {
			at := r.sc.under(r.index, i)
			at.guess = true
			r.a.child(at, r.index, i, r.ws[i:], input{})
		}
	}
}

// option parses one word of options, with the word that is its value.
func (r *reader) option(w arg) {
	if !w.Static && w.splits && !w.number {
		r.unclear(w)
		return
	}
	if strings.HasPrefix(w.head, "--") || r.row.single {
		r.longOption(w)
		return
	}
	letters := w.template
	for i := 1; i < len(letters); i++ {
		kind, ok := letterOf(r.row.short, letters[i])
		if !ok || i >= len(w.head) && !w.number {
			r.unclear(w)
			return
		}
		name := letters[i : i+1]
		switch {
		case kind == needsValue && i+1 == len(letters):
			r.at++
			if r.at == len(r.ws) {
				r.at--
				r.unclear(w)
				return
			}
			value := r.ws[r.at]
			r.at++
			if value.splits && !value.number && !value.Static {
				r.unclear(value)
				return
			}
			r.took(name, value, r.at-2)
			return
		case kind == needsValue || kind == attachedValue && i+1 < len(letters):
			value := dynamic(letters[i+1:])
			if w.Static {
				value = known(letters[i+1:])
			}
			r.at++
			r.took(name, value, r.at-1)
			return
		default:
			r.took(name, known(""), r.at)
			if r.ended {
				return
			}
		}
	}
	r.at++
}

func (r *reader) longOption(w arg) {
	name, value, attached := strings.Cut(w.template, "=")
	name = strings.TrimLeft(name, "-")
	if !w.Static && (!attached || len(w.head) < strings.Index(w.template, "=")) {
		r.unclear(w)
		return
	}
	if w.is("--version", "--help") && r.at+1 == len(r.ws) {
		r.ended = true
		return
	}
	spec, ok := longOf(r.row.long, name)
	if !ok {
		r.unclear(w)
		return
	}
	full := strings.TrimSuffix(strings.TrimSuffix(spec, "[=]"), "=")
	needs := strings.HasSuffix(spec, "=") && !strings.HasSuffix(spec, "[=]")
	v := known(value)
	if !w.Static {
		v = dynamic(value)
	}
	own := r.at
	r.at++
	if needs && !attached && len(full) > 0 {
		if r.at == len(r.ws) || r.ws[r.at].splits && !r.ws[r.at].number {
			r.at--
			r.unclear(w)
			return
		}
		v = r.ws[r.at]
		r.at++
	}
	r.took(full, v, own)
}

type valueKind int

const (
	noValue valueKind = iota
	needsValue
	attachedValue
)

func letterOf(short string, c byte) (valueKind, bool) {
	i := strings.IndexByte(short, c)
	switch {
	case c == ':' || i < 0:
		return noValue, false
	case strings.HasPrefix(short[i+1:], "::"):
		return attachedValue, true
	case strings.HasPrefix(short[i+1:], ":"):
		return needsValue, true
	}
	return noValue, true
}

// longOf finds a long option by its name or an unambiguous abbreviation.
func longOf(long, name string) (string, bool) {
	found := ""
	for spec := range strings.FieldsSeq(long) {
		full := strings.TrimSuffix(strings.TrimSuffix(spec, "[=]"), "=")
		if full == name {
			return spec, true
		}
		if name != "" && strings.HasPrefix(full, name) {
			if found != "" {
				return "", false
			}
			found = spec
		}
	}
	return found, found != ""
}

// took applies a parsed option.
func (r *reader) took(name string, value arg, own int) {
	has := func(list string) bool { return slices.Contains(strings.Fields(list), name) }
	switch {
	case has(r.row.texts):
		r.gaveText = true
		r.a.script(r.sc, r.index, own, value)
	case has(r.row.unclear):
		r.special(name, value, own)
	case has(r.row.programs):
		r.a.child(r.sc, r.index, own, append([]arg{value}, dynamic("…")), input{})
	case has(r.row.writes):
		r.a.writes(r.sc.under(r.index, own), value)
	case has(r.row.moves):
		r.sc.dirs = movedTo(r.sc.dirs, value)
	case r.row.is("env") && (name == "S" || name == "split-string"):
		r.split(value, own)
	case r.row.is("env") && (name == "i" || name == "ignore-environment"), r.row.is("exec") && name == "c":
		r.sc.bare = true
	case r.row.is("env") && (name == "u" || name == "unset"):
		r.a.unguards(r.sc, value)
	case r.row.is("xargs"):
		r.xargsOption(name, value)
	case r.row.is("watch") && (name == "x" || name == "exec"):
		r.row = &wrapper{names: r.row.names, short: r.row.short, long: r.row.long, transient: true}
	case r.row.is("entr") && name == "s":
		r.ended = true
		if r.at+1 < len(r.ws) {
			r.a.script(r.sc, r.index, r.at+1, r.ws[r.at+1])
		}
	}
}

func movedTo(dirs dirSet, to arg) dirSet {
	if !to.Static || dirs.lost() && !strings.HasPrefix(to.Text, "/") {
		return dirSet{}
	}
	return dirs.moved(to.Text)
}

// special handles options with effects of their own.
func (r *reader) special(name string, value arg, own int) {
	switch {
	case r.row.is("ssh") && name == "o":
		r.a.sshOption(r.sc, r.index, own, value)
	case r.row.remote && name == "e":
	default:
		r.a.runs(r.sc, r.index, own, value.text(), "the option may change the command that runs")
	}
}

// split replaces a text by the words that env -S makes of it.
func (r *reader) split(value arg, own int) {
	words, ok := splitString(value.Text)
	if !value.Static || !ok {
		r.at = own
		r.unclear(value)
		return
	}
	r.ended = true
	rest := make([]arg, 0, len(words)+len(r.ws))
	rest = append(rest, known("env"))
	for _, w := range words {
		rest = append(rest, known(w))
	}
	rest = append(rest, r.ws[r.at:]...)
	r.a.child(r.sc, r.index, own, rest, r.in)
}

// splitString splits as env -S does, which is not a shell: everything but blanks,
// quotes and comments is literal. It reports false for text that env expands.
func splitString(s string) ([]string, bool) {
	if strings.ContainsAny(s, "\\$") {
		return nil, false
	}
	var words []string
	var b strings.Builder
	quote, open := byte(0), false
	for i := range len(s) {
		c := s[i]
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
			b.WriteByte(c)
		case c == '\'' || c == '"':
			quote, open = c, true
		case strings.IndexByte(" \t\n\v\f\r", c) >= 0:
			if open {
				words, open = append(words, b.String()), false
				b.Reset()
			}
		case c == '#' && !open:
			return words, true
		default:
			b.WriteByte(c)
			open = true
		}
	}
	if open {
		words = append(words, b.String())
	}
	return words, quote == 0
}

// command adds the command that begins at the next word.
func (r *reader) command() {
	r.ended = true
	rest := slices.Clone(r.ws[r.at:])
	in := r.in
	if r.row.remote {
		r.sc.dirs = dirSet{}
	}
	r.sc.bare = r.sc.bare || r.row.shell // they reset the environment
	switch {
	case r.row.is("xargs"):
		in = input{given: true}
		if r.placeholder == "" {
			more := dynamic("…")
			more.splits = true
			more.values, more.Candidates = r.a.given.texts, r.a.given.texts
			rest = append(rest, more)
		} else {
			rest = replaced(rest, r.placeholder)
		}
	case r.row.is("entr"):
		rest = replaced(rest, "/_")
	case r.row.is("exec") || r.row.is("command") || r.row.is("builtin"):
	case r.row.joins:
		line := joined(rest)
		r.a.script(r.sc, r.index, r.at, line)
		if len(rest) > 1 && line.template != joinText(rest) { // quotes are lost on the way; not everywhere
			at := r.sc.under(r.index, r.at)
			at.guess = true
			r.a.child(at, r.index, r.at, rest, input{})
		}
		return
	case r.row.is("hyperfine"):
		for i, w := range rest {
			r.a.script(r.sc, r.index, r.at+i, w)
		}
		return
	case r.row.is("sudo") && len(rest) > 0:
	case r.row.is("su") || r.row.is("runuser") && r.gaveText: // words for the shell
		if !r.gaveText {
			r.a.runs(r.sc, r.index, r.at, joinText(rest), "the shell that it starts reads its commands from an unknown source")
		}
		return
	case r.row.is("flock") && rest[0].is("-c", "--command") && len(rest) > 1:
		r.a.script(r.sc, r.index, r.at, rest[1])
		return
	case r.row.is("script"): // its word is an output file
		for i, w := range rest {
			if strings.HasPrefix(w.head, "-") {
				r.at += i
				r.option(w)
				r.rest()
				return
			}
			r.a.writes(r.sc.under(r.index, r.at+i), w)
		}
		if !r.gaveText {
			r.a.runs(r.sc, r.index, r.at, joinText(rest), "the shell that it starts reads its commands from an unknown source")
		}
		return
	case r.gaveText:
		return
	}
	r.a.child(r.sc, r.index, r.at, rest, in)
}

// rest parses options after operands.
func (r *reader) rest() {
	for r.at < len(r.ws) {
		w := r.ws[r.at]
		if !strings.HasPrefix(w.head, "-") {
			r.a.writes(r.sc.under(r.index, r.at), w)
			r.at++
			continue
		}
		before := r.at
		if r.option(w); r.at == before { // it is unknown
			return
		}
	}
}

// nothing processes a wrapper without a command.
func (r *reader) nothing() {
	switch {
	case r.row.is("xargs"):
		r.a.child(r.sc, r.index, len(r.ws), []arg{known("echo"), dynamic("…")}, input{})
	case r.gaveText:
	case r.row.shell, r.row.is("script"), r.row.remote && (r.in.given || r.sc.fed.given):
		r.a.runs(r.sc, r.index, len(r.ws), joinText(r.ws), "the shell that it starts reads its commands from an unknown source")
	}
}
