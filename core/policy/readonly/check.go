// Package readonly decides, by a table of programs and their harmless options,
// whether a command only reads, and which paths it reads. It does no I/O.
package readonly

import (
	"fmt"
	"path"
	"strings"

	"github.com/fettle-dev/fettle/core/policy/shell"
)

// Use is the effect of a command that the table lists.
type Use struct {
	Row   *Row
	Reads []Read
	// Literal states that bash expands nothing in its words.
	Literal bool
	// Exact states that no word can expand to an option or to file names.
	Exact bool
	// Data states that the command also reads files that its input names.
	Data bool
	// Command is the index of the first word of the command that the program
	// runs; 0: it runs none.
	Command int
}

// Read is a file or directory that a command reads.
type Read struct {
	// Path is the word that names it. A relative Text starts at the working
	// directory of the command.
	Path shell.Word
	// Tree states that a directory is read recursively.
	Tree bool
	// Follow states that the command follows links in the directory.
	Follow bool
}

// Check returns the effect of a command. words begins with the program. why is
// a clause with the reason why the table does not list the command, or "" if the
// table lists it. Use.Row is nil if the table has no row of the program, or of its
// subcommand.
func Check(words []shell.Word) (use Use, why string) {
	c := check{words: words, at: 1}
	c.use.Literal, c.use.Exact = true, true
	c.name = path.Base(words[0].Text)
	c.use.Row = Find(c.name)
	if c.use.Row == nil {
		return c.use, c.name + " is not in the table of read-only programs"
	}
	c.run()
	if row := c.use.Row; c.why != "" && (row.bare && !c.bare || row.names()) {
		c.use.Row = nil
	}
	return c.use, c.why
}

// check parses the words of one command.
type check struct {
	words []shell.Word
	name  string // the program, with its subcommand
	at    int
	use   Use
	why   string // "" so far

	operand  int  // the next one
	count    int  // operands so far
	skip     bool // an option replaces the first operand
	list     bool // an option such as --list makes all operands harmless
	bare     bool // one of the row's required options is present
	ended    bool // no options follow
	tree     bool
	follow   bool
	dir      string // an option sets the working directory
	paths    int    // operands that are read
	expected bool   // an expression of find has begun
}

func (c *check) refuse(format string, args ...any) {
	if c.why == "" {
		c.why = fmt.Sprintf(format, args...)
	}
}

func (c *check) run() {
	defer c.summarize()
	if c.use.Row.Is("any") {
		return
	}
	c.tree = c.use.Row.Is("tree")
	for c.at < len(c.words) && c.why == "" && c.use.Command == 0 {
		w := c.words[c.at]
		c.at++
		c.word(w)
	}
	row := c.use.Row
	switch {
	case c.why != "":
	case row.bare && !c.bare:
		c.refuse("the table lists %s with %s only", c.name, row.required())
	case row.Is("wraps") && c.use.Command == 0:
		c.refuse("%s without a command is not in the table", c.name)
	case row.Is("here") && c.paths == 0:
		c.reads(shell.Word{Text: ".", Static: true})
	}
	for i := range c.use.Reads {
		c.use.Reads[i].Tree = c.use.Reads[i].Tree || c.tree
		c.use.Reads[i].Follow = c.follow
	}
}

// summarize describes the words of the program itself.
func (c *check) summarize() {
	words := c.words
	if c.use.Command > 0 {
		words = words[:c.use.Command]
	}
	for _, w := range words {
		_, fixed := literal(w)
		c.use.Literal = c.use.Literal && fixed
		c.use.Exact = c.use.Exact && !w.Option && !w.Pattern
	}
}

// names reports whether a row only introduces subcommands.
func (r *Row) names() bool { return r.Names[0] == "git" || r.Names[0] == "go" }

// required lists the options for display, one of which must be present.
func (r *Row) required() string {
	var names []string
	for _, o := range r.Options {
		if o.is("bare") {
			names = append(names, o.Name)
		}
	}
	return strings.Join(names, " or ")
}

// word processes an option or an operand.
func (c *check) word(w shell.Word) {
	row := c.use.Row
	if !w.Static {
		c.dynamic(w)
		return
	}
	switch {
	case c.ended, w.Text == "-", w.Text == "" || w.Text[0] != '-':
		c.operandWord(w)
	case w.Text == "--" && !row.Is("expression"):
		c.ended = true
	case len(c.words) == 2 && (w.Text == "--version" || w.Text == "--help") && !row.Is("git") && !row.Is("single"):
		c.use.Reads, c.paths, c.bare = nil, 1, true
	case row.Is("single"):
		c.single(w.Text)
	case strings.HasPrefix(w.Text, "--"):
		c.long(w.Text)
	default:
		c.letters(w.Text)
	}
}

// dynamic processes a word that only bash can expand. It may be an operand, or,
// for a program without harmful options, anything.
func (c *check) dynamic(w shell.Word) {
	row := c.use.Row
	option := w.Option
	for _, v := range w.Candidates {
		option = option || strings.HasPrefix(v, "-")
	}
	head := known(w)
	switch {
	case strings.HasPrefix(head, "--") && strings.Contains(head, "=") && !c.ended && !w.Pattern && single(w):
		name, _, _ := strings.Cut(head, "=")
		c.value(name, shell.Word{Text: w.Text, Candidates: nil}, true)
	case row.Is("plain"), !option && !strings.HasPrefix(head, "-"), c.ended:
		c.operandWord(w)
	default:
		c.refuse("%s may become an option of %s", w.Text, c.name)
	}
}

// known returns the text that a word certainly begins with.
func known(w shell.Word) string {
	switch {
	case w.Static:
		return w.Text
	case len(w.Shapes) == 0:
		return ""
	}
	s := w.Shapes[0]
	if at := strings.IndexAny(s, shell.HoleText+shell.HoleWord+shell.HoleName+shell.HoleNumber); at >= 0 {
		return s[:at]
	}
	return s
}

// single reports whether a word is one word after its expansion.
func single(w shell.Word) bool {
	return w.Static || len(w.Shapes) > 0 && !strings.Contains(w.Shapes[0], shell.HoleText)
}

// digits reports whether a text is a number after its first character.
func digits(s string) bool { return len(s) > 1 && strings.Trim(s[1:], "0123456789") == "" }

// single processes an option of a program whose options are whole words.
func (c *check) single(text string) {
	name, value, attached := strings.Cut(text, "=")
	if !c.use.Row.Is("expression") && strings.HasPrefix(name, "--") {
		name = name[1:]
	}
	c.expected = c.expected || c.use.Row.Is("expression") && !strings.Contains(" -H -L -P -O0 -O1 -O2 -O3 ", " "+name+" ")
	c.value(name, shell.Word{Text: value, Static: true}, attached)
}

// long processes --name or --name=value.
func (c *check) long(text string) {
	name, value, attached := strings.Cut(text, "=")
	c.value(name, shell.Word{Text: value, Static: true}, attached)
}

// letters processes a word of short options.
func (c *check) letters(text string) {
	if c.use.Row.Is("digits") && digits(text) {
		return
	}
	if o := c.use.Row.options[text]; o != nil && len(o.Values) == 0 {
		c.apply(o)
		return
	}
	for i := 1; i < len(text) && c.why == ""; i++ {
		name, rest := "-"+text[i:i+1], text[i+1:]
		o := c.use.Row.options[name]
		switch {
		case o == nil:
			c.unlisted(name)
		case len(o.Values) == 0:
			c.apply(o)
			continue
		case o.Optional || rest != "":
			c.value(name, shell.Word{Text: rest, Static: true}, rest != "")
		default:
			c.value(name, shell.Word{}, false)
		}
		return
	}
}

func (c *check) unlisted(name string) {
	c.refuse("the option %s of %s is not known to be harmless", name, c.name)
}

// apply notes the marks of an option.
func (c *check) apply(o *Option) {
	c.skip = c.skip || o.is("pattern")
	c.list = c.list || o.is("list")
	c.bare = c.bare || o.is("bare")
	c.tree = c.tree || o.is("tree")
	c.follow = c.follow || o.is("follow")
	c.use.Data = c.use.Data || o.is("data")
}

// value processes an option, whose value is in the same word if attached.
func (c *check) value(name string, value shell.Word, attached bool) {
	o := c.use.Row.options[name]
	switch {
	case o == nil || attached && len(o.Values) == 0:
		c.unlisted(name)
		return
	case o.Optional && !attached:
		c.apply(o)
		return
	}
	c.apply(o)
	for i, kind := range o.Values {
		if kind == "command" {
			c.command()
			return
		}
		if !attached || i > 0 {
			if c.at >= len(c.words) {
				return // the program refuses it
			}
			value = c.words[c.at]
			c.at++
			if !c.use.Row.Is("plain") && !single(value) {
				c.refuse("the value of %s of %s may be several words", name, c.name)
				return
			}
		}
		if why := c.kind(kind, value); why != "" {
			c.refuse("%s", why)
		}
	}
}

// command skips a command of find, which is a part of the line by itself.
func (c *check) command() {
	for ; c.at < len(c.words); c.at++ {
		w := c.words[c.at]
		if w.Static && (w.Text == ";" || w.Text == "+" && c.words[c.at-1].Static && c.words[c.at-1].Text == "{}") {
			c.at++
			return
		}
	}
	c.refuse("a command of %s has no end", c.name)
}

// operandWord processes an operand.
func (c *check) operandWord(w shell.Word) {
	row := c.use.Row
	if row.Is("expression") {
		switch {
		case w.Static && strings.Contains(" ( ) ! , ", " "+w.Text+" "):
			c.expected = c.expected || w.Text != ","
			return
		case c.expected:
			c.refuse("%s is no expression of %s", w.Text, c.name)
			return
		}
	}
	if c.count == 0 && w.Static && !c.ended {
		if c.subcommand(w.Text) {
			return
		}
	}
	c.count++
	if row.Is("posix") {
		c.ended = true
	}
	kind, ok := c.nextKind()
	switch {
	case !ok && row.Is("wraps"):
		if !strings.Contains(w.Text, "=") || c.name != "env" {
			c.use.Command = c.at - 1
		}
		return
	case !ok && Find(c.name+" "+w.Text) == nil && (c.name == "git" || c.name == "go"):
		c.refuse("%s %s is not in the table of read-only programs", c.name, w.Text)
		return
	case !ok:
		c.refuse("the operand %s of %s is not known to be harmless", w.Text, c.name)
		return
	}
	if kind == "read" || kind == "names" {
		c.paths++
	}
	if why := c.kind(kind, w); why != "" {
		c.refuse("%s", why)
	}
}

// subcommand continues with the row of a subcommand of one or two words.
func (c *check) subcommand(word string) bool {
	name := c.name + " " + word
	sub := Find(name)
	if c.at < len(c.words) && c.words[c.at].Static {
		if two := Find(name + " " + c.words[c.at].Text); two != nil {
			c.at++
			sub, name = two, name+" "+c.words[c.at-1].Text
		}
	}
	if sub != nil {
		c.name, c.use.Row = name, sub
		c.tree = c.tree || sub.Is("tree")
	}
	return sub != nil
}

// nextKind returns the kind of the next operand.
func (c *check) nextKind() (string, bool) {
	kinds := c.use.Row.operands
	if c.list {
		return "text", true
	}
	if c.operand == 0 && c.skip && len(kinds) > 0 && !kinds[0].any {
		c.operand++
	}
	if c.operand >= len(kinds) {
		return "", false
	}
	k := kinds[c.operand]
	if !k.any {
		c.operand++
	}
	return k.kind, true
}

// reads adds a file that is read.
func (c *check) reads(w shell.Word) {
	if w.Static && w.Text == "-" {
		return
	}
	if c.dir != "" && !path.IsAbs(w.Text) {
		w.Text = strings.TrimSuffix(c.dir, "/") + "/" + w.Text
	}
	c.use.Reads = append(c.use.Reads, Read{Path: w})
}
