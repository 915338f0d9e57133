package shell

import (
	"slices"
	"strings"
)

// checkOptions adds what the options of a plain program run and write.
func (a *analysis) checkOptions(sc *scope, row *options, index int, ws []arg) {
	a.checkOptionsFrom(sc, row, index, 1, ws)
}

func (a *analysis) checkOptionsFrom(sc *scope, row *options, index, from int, ws []arg) {
	c := optionCheck{a: a, sc: sc, row: row, index: index, ws: ws, at: from}
	if row.runs == "*" {
		c.runs(from - 1)
		return
	}
	for c.at < len(ws) && !c.done {
		c.word(ws[c.at])
		c.at++
	}
}

// optionCheck goes through the arguments of one program.
type optionCheck struct {
	a     *analysis
	sc    *scope
	row   *options
	index int
	ws    []arg
	at    int

	operands int
	ended    bool // options have ended
	done     bool // something runs that cannot be told: that is enough
}

// runs adds that the word at own makes the program run something.
func (c *optionCheck) runs(own int) {
	c.done = true
	c.a.runs(c.sc, c.index, own, c.ws[min(own, len(c.ws)-1)].text(), "it makes "+programName(c.ws[0])+" run or load something")
}

func (c *optionCheck) word(w arg) {
	switch {
	case holdsOne(w.template, c.row.holds), beginsOne(w.head, c.row.begins), c.row.plus && strings.HasPrefix(w.head, "+"):
		c.runs(c.at)
	case c.ended || !strings.HasPrefix(w.head, "-") || w.is("-"):
		c.operand(w)
	case w.is("--"):
		c.ended = true
	case strings.HasPrefix(w.head, "--"):
		c.long(w, strings.TrimPrefix(w.template, "--"))
	case c.row.single:
		c.long(w, strings.TrimPrefix(w.template, "-"))
	default:
		c.letters(w)
	}
}

func (c *optionCheck) operand(w arg) {
	c.operands++
	switch {
	case c.operands == 1 && w.Static && in(c.row.first, w.Text):
		c.runs(c.at)
	case c.operands == 2 && c.row.second:
		c.a.writes(c.sc.under(c.index, c.at), w)
	case !c.ended && !w.Static:
		for _, v := range w.Candidates {
			if strings.HasPrefix(v, "-") && c.isDangerous(v) && !c.done {
				c.runs(c.at)
			}
		}
	}
}

// isDangerous tells whether a value that a word may have would be an option
// that runs or writes something.
func (c *optionCheck) isDangerous(v string) bool {
	all := strings.Join([]string{c.row.runs, c.row.texts, c.row.starts, c.row.pagers, c.row.writes, c.row.leaves}, " ")
	name, _, _ := strings.Cut(strings.TrimLeft(v, "-"), "=")
	if strings.HasPrefix(v, "--") || c.row.single {
		_, ok := c.find(all, name)
		return ok
	}
	for _, letter := range name {
		if in(all, string(letter)) {
			return true
		}
	}
	return false
}

// find looks an option's long name up in a list; it may be shortened.
func (c *optionCheck) find(list, name string) (string, bool) {
	if name == "" || in(c.row.fine, name) {
		return "", false
	}
	for full := range strings.FieldsSeq(list) {
		if full == name || len(full) > 1 && !c.row.single && strings.HasPrefix(full, name) {
			return full, true
		}
	}
	return "", false
}

func (c *optionCheck) long(w arg, text string) {
	name, value, attached := strings.Cut(text, "=")
	if !w.Static && !strings.Contains(w.head, "=") {
		if !w.number {
			c.runs(c.at)
		}
		return
	}
	v := dynamic(value)
	if w.Static {
		v = known(value)
	}
	c.act(name, v, attached, c.find)
}

// act does what an option means. Its value is the next word unless attached.
func (c *optionCheck) act(name string, value arg, attached bool, find func(list, name string) (string, bool)) {
	own := c.at
	next := func() arg {
		if attached {
			return value
		}
		if c.at++; c.at < len(c.ws) {
			return c.ws[c.at]
		}
		return known("")
	}
	if _, ok := find(c.row.runs, name); ok {
		c.runs(own)
	} else if _, ok := find(c.row.pagers, name); ok {
		if !attached || !value.Static {
			c.runs(own)
			return
		}
		c.a.script(c.sc, c.index, own, known(value.Text+` "$@"`))
	} else if _, ok := find(c.row.texts, name); ok {
		c.a.script(c.sc, c.index, own, next())
	} else if _, ok := find(c.row.starts, name); ok {
		if v := next(); !v.is("") {
			c.a.child(c.sc, c.index, own, []arg{v, dynamic("…")}, input{})
		}
	} else if _, ok := find(c.row.writes, name); ok {
		c.a.writes(c.sc.under(c.index, own), next())
	} else if _, ok := find(c.row.leaves, name); ok {
		c.a.writes(c.sc.under(c.index, own), dynamic("…"))
	}
}

// letters reads a word of short options.
func (c *optionCheck) letters(w arg) {
	for i := 1; i < len(w.template); i++ {
		letter := w.template[i : i+1]
		if i >= len(w.head) {
			if !w.number {
				c.runs(c.at)
			}
			return
		}
		rest := w.template[i+1:]
		if strings.Contains(c.row.valued, letter) && !in(strings.Join([]string{c.row.writes, c.row.texts, c.row.starts, c.row.pagers, c.row.runs}, " "), letter) {
			if rest == "" {
				c.at++
			}
			return
		}
		if !in(strings.Join([]string{c.row.runs, c.row.texts, c.row.starts, c.row.pagers, c.row.writes, c.row.leaves}, " "), letter) {
			continue
		}
		v := dynamic(rest)
		if w.Static {
			v = known(rest)
		}
		c.act(letter, v, rest != "", func(list, name string) (string, bool) { return name, in(list, name) })
		if !in(c.row.leaves, letter) {
			return
		}
	}
}

func in(list, name string) bool { return slices.Contains(strings.Fields(list), name) }

func holdsOne(s, list string) bool {
	for part := range strings.FieldsSeq(list) {
		if strings.Contains(s, part) {
			return true
		}
	}
	return false
}

func beginsOne(s, list string) bool {
	for part := range strings.FieldsSeq(list) {
		if strings.HasPrefix(s, part) {
			return true
		}
	}
	return false
}
