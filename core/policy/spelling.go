package policy

import (
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/policy/shell"
)

// spelling is one way to write a command. Patterns of rules that deny or ask are
// searched in all spellings, so that the one in the line does not matter.
type spelling struct {
	text  string
	sure  bool  // it is certainly the same command
	holes *gaps // nil: it has no holes
}

// gaps describes a spelling with holes.
type gaps struct {
	program int      // see [programEnd]
	known   []string // the text between them
}

// maxSpellings is the maximum number of uncertain spellings of a command.
const maxSpellings = 160

// spellings contains those of one part.
type spellings struct {
	made    bool
	all     []spelling
	looser  bool       // further has been computed
	further []spelling // uncertain: options in another order or by other names
	pool    string     // words of the texts in further; "": not yet computed
	letters string     // of their short options
	inner   bool       // behind has been computed
	behind  []spelling // commands that an unknown program may run
	readers []string   // see [judge.readers]
}

func (j *judge) spellingsOf(i int) *spellings {
	if j.spellings == nil {
		j.spellings = make([]spellings, len(j.parts))
	}
	return &j.spellings[i]
}

// spelled returns the spellings of a part that are close to the original: its
// program without a path, its words without quotes, the options before its
// subcommand omitted, its redirections as operands, other names of its command,
// the pipe that it writes to, and the text in the line.
func (j *judge) spelled(i int) []spelling {
	s := j.spellingsOf(i)
	if s.made {
		return s.all
	}
	s.made = true
	s.all = make([]spelling, 0, 8)
	p := &j.parts[i]
	add := func(text string, sure bool) { s.all = appendSpelling(s.all, text, sure) }
	add(p.Text, true)
	if p.Kind == shell.Write {
		for _, target := range shapes(p.Path)[:1] {
			add("> "+target, true)
			add(">"+target, true)
		}
		return s.all
	}
	if p.Raw != "" {
		add(p.Raw, true)
	}
	if !named(p) {
		return s.all
	}
	if rest, ok := strings.CutPrefix(p.Raw, p.Words[0].Text); ok {
		add(baseName(p.Words[0].Text)+rest, true)
	}
	redirections, clear := j.redirections(i)
	ways := vectors(p.Words)
	for n, words := range ways {
		sure := n == 0
		if sure && slices.ContainsFunc(words, needsQuotes) {
			add(shell.Quote(plainNames(words)), true)
		}
		for _, tail := range tails(words) {
			text := strings.Join(tail.words, " ")
			add(text, sure && tail.sure)
			for _, redirection := range redirections {
				add(text+redirection, sure && tail.sure && clear)
			}
		}
	}
	if p.Into > 0 {
		own := strings.Join(plainNames(ways[0]), " ") + " | "
		for _, reader := range j.readers(p.Into) {
			add(own+reader, true)
		}
	}
	return s.all
}

// appendSpelling appends a spelling unless it is present.
func appendSpelling(all []spelling, text string, sure bool) []spelling {
	for i := range all {
		if all[i].text == text {
			all[i].sure = all[i].sure || sure
			return all
		}
	}
	s := spelling{text: text, sure: sure}
	if hasHoles(text) {
		s.holes = &gaps{programEnd(text), betweenHoles(text)}
	}
	return append(all, s)
}

// named reports whether a part is a command whose program is known.
func named(p *shell.Part) bool {
	return (p.Kind == shell.Command || p.Kind == shell.Builtin) && len(p.Words) > 0 && fixed(p.Words[0])
}

// baseName returns a program's name without its directory.
func baseName(program string) string {
	if i := strings.LastIndexByte(program, '/'); i >= 0 && i+1 < len(program) {
		program = program[i+1:]
	}
	return strings.TrimSuffix(program, ".exe")
}

// plainNames returns words with the program without its directory.
func plainNames(words []string) []string {
	if base := baseName(words[0]); base != words[0] {
		words = slices.Clone(words)
		words[0] = base
	}
	return words
}

func needsQuotes(word string) bool { return shell.Quote([]string{word}) != word }

// shapes returns the possible forms of a word, without quotes and with holes.
func shapes(w shell.Word) []string {
	switch {
	case fixed(w):
		return []string{w.Text}
	case len(w.Shapes) > 0:
		return w.Shapes
	}
	return []string{shell.HoleText}
}

// vectors returns the possible words of a command: the most general form first,
// then each with one word as assigned in the line, and all of them.
func vectors(words []shell.Word) [][]string {
	general := make([]string, len(words))
	if !slices.ContainsFunc(words, func(w shell.Word) bool { return !fixed(w) }) {
		for i := range words {
			general[i] = words[i].Text
		}
		return [][]string{general}
	}
	assigned := make([]string, len(words))
	several := 0
	for i, w := range words {
		s := shapes(w)
		general[i], assigned[i] = s[0], s[min(1, len(s)-1)]
		if len(s) > 1 {
			several++
		}
	}
	all := [][]string{general}
	if vanishing := slices.ContainsFunc(words, mayVanish); vanishing {
		var rest []string
		for i, w := range words {
			if !mayVanish(w) {
				rest = append(rest, general[i])
			}
		}
		all = append(all, rest)
	}
	if several == 0 {
		return all
	}
	for i, w := range words {
		if fixed(w) || len(w.Shapes) < 2 {
			continue
		}
		for _, s := range w.Shapes[1:] {
			one := slices.Clone(general)
			one[i] = s
			all = append(all, one)
		}
	}
	if several > 1 {
		all = append(all, assigned)
	}
	return all
}

// mayVanish reports whether a word may expand to none, like an empty variable.
func mayVanish(w shell.Word) bool {
	return !w.Static && !w.Pattern && (!strings.ContainsAny(w.Text, "\"'") || strings.Contains(w.Text, "@"))
}

// tail is a command with other words in it.
type tail struct {
	words []string
	sure  bool
}

// tails returns a command with its plain name, without the options before its
// subcommand, and by other names of the same command.
func tails(words []string) []tail {
	words = plainNames(words)
	all := []tail{{words, true}}
	if lower := programName(words[0]); lower != words[0] {
		all = append(all, tail{append([]string{lower}, words[1:]...), true})
	}
	bare := withoutOptions(words)
	all = append(all, bare...)
	if len(bare) > 0 && bare[0].sure {
		words = bare[0].words
	}
	if !hasHoles(words[0]) && len(words) > 1 {
		for _, other := range sameAs(words) {
			if !misleads(other) {
				all = append(all, tail{other, true})
			}
		}
	}
	return all
}

// misleads reports whether the name of a command has that of another one as its
// prefix, like npm install-clean.
func misleads(words []string) bool {
	if len(words) < 2 {
		return false
	}
	name, _, ok := strings.Cut(words[1], "-")
	if !ok || name == "" {
		return false
	}
	others := sameAs([]string{words[0], name})
	return len(others) > 0 && !slices.ContainsFunc(others, func(o []string) bool { return len(o) > 1 && o[1] == words[1] })
}

// withoutOptions returns a command without the options before its first operand.
// If it is unknown which of them take a value there are several results.
func withoutOptions(words []string) []tail {
	name := family(words[0])
	row := habitsOf[name]
	if len(words) < 3 || !isOption(words[1]) && !(row.toolchain && strings.HasPrefix(words[1], "+")) {
		return nil
	}
	const most = 4
	known := row.valued != nil && shell.Subcommands(name) || row.toolchain
	var ways []tail
	valued := false // the previous word may take this one as its value
	for i := 1; i < len(words) && len(ways) < most; i++ {
		switch w := words[i]; {
		case w == "--":
		case isOption(w):
			valued = !strings.Contains(w, "=") && !slices.Contains(row.idle, w)
			if known && slices.Contains(row.valued, w) {
				valued = false
				i++
			}
		case row.toolchain && strings.HasPrefix(w, "+"):
		default:
			ways = append(ways, tail{append([]string{words[0]}, words[i:]...), known && len(ways) == 0})
			if !valued {
				return ways
			}
			valued = false
		}
	}
	return ways
}

// redirections returns spellings of the redirections of a part after it: as
// operands, and with their operators. sure states that they are all known.
func (j *judge) redirections(i int) (ways []string, sure bool) {
	var list []shell.Redirect
	sure = true
	for k := i; k >= 0; k = j.parts[k].Parent {
		for _, r := range j.parts[k].Redirects {
			if !slices.ContainsFunc(list, func(o shell.Redirect) bool { return o.Op == r.Op && o.Word.Text == r.Word.Text }) {
				list = append(list, r)
				sure = sure && fixed(r.Word)
			}
		}
	}
	if len(list) == 0 {
		return nil, true
	}
	for n := range 2 { // as general as possible, then as assigned
		var operands, blanks, joined, simple, simply string
		for _, r := range list {
			s := shapes(r.Word)
			text, op := s[min(n, len(s)-1)], "<"
			if strings.Contains(r.Op, ">") {
				op = ">"
			}
			if r.Op == "<<<" {
				op = r.Op
			} else {
				operands += " " + text
			}
			blanks, joined = blanks+" "+r.Op+" "+text, joined+" "+r.Op+text
			simple, simply = simple+" "+op+" "+text, simply+" "+op+text
		}
		ways = append(ways, operands, blanks, joined, simple, simply)
	}
	return unique(ways), sure
}

// readers returns spellings of the commands that read from a pipe, up to its end.
func (j *judge) readers(i int) []string {
	first := j.spellingsOf(i)
	if first.readers != nil {
		return first.readers
	}
	var all []string
	for range j.parts {
		p := &j.parts[i]
		if named(p) {
			text := strings.Join(plainNames(vectors(p.Words)[0]), " ")
			if hasHoles(text) {
				text = text[:strings.IndexAny(text, allHoles)] // unknown text is evaluated there
			}
			all = append(all, text)
			if p.Into > i {
				for _, next := range j.readers(p.Into) {
					all = append(all, text+" | "+next)
				}
			}
		}
		// The commands that it runs read from the pipe as well.
		next := slices.IndexFunc(j.parts, func(c shell.Part) bool { return c.Parent == i && c.Kind != shell.Write })
		if next < 0 || len(all) > maxReaders {
			break
		}
		i = next
	}
	first.readers = all[:min(len(all), maxReaders)]
	return first.readers
}

const maxReaders = 8

// mayReorder reports whether the pattern of a rule may match one of the loose
// spellings of a part: these contain only the words of the part, the names of
// options of its program, and letters of its short options.
func (j *judge) mayReorder(r *rule, i int) bool {
	p := &j.parts[i]
	if r.command == nil || r.traits.escaping || !named(p) || slices.ContainsFunc(p.Words, func(w shell.Word) bool { return !fixed(w) }) {
		return true
	}
	s := j.spellingsOf(i)
	if s.pool == "" {
		s.pool, s.letters = looseWords(p.Words)
	}
	if len(r.traits.longs) > 0 {
		for field := range strings.FieldsSeq(s.pool) { // see [traits.shortens]
			name, _, _ := strings.Cut(field, "=")
			if slices.ContainsFunc(r.traits.longs, func(long string) bool { return abbreviates(name, long) }) {
				return true
			}
		}
	}
	return !slices.ContainsFunc(r.traits.names, func(name string) bool {
		return !strings.Contains(s.pool, name) && strings.Trim(name, s.letters) != ""
	})
}

// looseWords returns the vocabulary of [reordered]: words and options, and the
// letters of short options.
func looseWords(words []shell.Word) (pool, letters string) {
	row := habitsOf[family(words[0].Text)]
	named := false // an option that has another name
	for _, w := range words {
		pool += w.Text + " "
		switch {
		case isOption(w.Text) && w.Text[1] != '-':
			letters += w.Text
			named = true
		case isOption(w.Text):
			for _, name := range row.long {
				named = named || w.Text == "--"+name || abbreviates(w.Text, "--"+name)
			}
		case row.refspecs && (strings.HasPrefix(w.Text, "+") || strings.HasPrefix(w.Text, ":")):
			named = true
		}
	}
	if named {
		for c, name := range row.long {
			pool, letters = pool+"--"+name+" ", letters+string(c)
		}
	}
	return pool, letters
}

// loosely returns the uncertain spellings of a part: its options in another
// position and order, combined and separate, by their short and their long names.
func (j *judge) loosely(i int) []spelling {
	s := j.spellingsOf(i)
	if s.looser {
		return s.further
	}
	s.looser = true
	p := &j.parts[i]
	if !named(p) {
		return nil
	}
	for _, words := range vectors(p.Words) {
		words = plainNames(words)
		texts := reordered(words)
		if bare := withoutOptions(words); len(bare) > 0 && bare[0].sure {
			texts = append(texts, reordered(bare[0].words)...)
		}
		for _, text := range texts {
			if len(s.further) < maxSpellings {
				s.further = appendSpelling(s.further, text, false)
			}
		}
	}
	return s.further
}

// hidden returns the commands that an unknown program may run: those that its
// words look like.
func (j *judge) hidden(i int) []spelling {
	s := j.spellingsOf(i)
	if s.inner {
		return s.behind
	}
	s.inner = true
	p := &j.parts[i]
	if p.Kind != shell.Command || !named(p) || j.brings[i] || runsNothing(p.Words[0].Text) {
		return nil
	}
	add := func(words []string) {
		if isOption(words[0]) {
			return
		}
		for _, t := range tails(words) {
			s.behind = appendSpelling(s.behind, strings.Join(t.words, " "), false)
			for _, text := range reordered(t.words) {
				s.behind = appendSpelling(s.behind, text, false)
			}
		}
	}
	for _, words := range vectors(p.Words) {
		for n := 1; n < len(words) && len(s.behind) < maxSpellings; n++ {
			add(words[n:])
			for _, command := range commandsIn(words[n]) {
				add(command)
			}
		}
	}
	return s.behind
}

// commandsIn returns the words of the commands that a text may contain, of a
// shell or of another language.
func commandsIn(text string) [][]string {
	const separators = "\n;|&(){}`\"'"
	if !strings.ContainsAny(text, separators+" \t=") {
		return nil
	}
	var all [][]string
	for command := range strings.FieldsFuncSeq(text, func(c rune) bool { return strings.ContainsRune(separators, c) }) {
		words := strings.Fields(command)
		if len(words) == 0 {
			continue
		}
		all = append(all, words)
		if i := strings.LastIndexByte(words[0], '='); i >= 0 && i+1 < len(words[0]) {
			all = append(all, append([]string{words[0][i+1:]}, words[1:]...))
		}
	}
	return all
}
