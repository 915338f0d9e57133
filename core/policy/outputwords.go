package policy

import (
	"path"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/policy/shell"
)

// outputList collects the outputs among the words of one part.
type outputList struct {
	name  string
	words []shell.Word
	row   *outputRow
	at    int // the first index

	dotglob bool     // see [shell.Line]
	finding *finding // whose results are among the words; nil: none

	operands []int
	found    []output
	into     bool // -t set the destination
}

func (o *outputList) list() []output {
	ended := false
	for i := o.at; i < len(o.words); i++ {
		w := o.words[i]
		option := !ended && len(w.Text) > 1 && w.Text[0] == '-'
		switch {
		case w.Static && w.Text == "--" && !ended:
			ended = true
		case option && leavesOut(w.Text), option && readsValue(w.Text):
			if !strings.Contains(w.Text, "=") {
				i++
			}
		case strings.HasPrefix(w.Text, "!"), strings.HasSuffix(o.name, "dd") && !strings.HasPrefix(w.Text, "of="):
		case strings.Contains(w.Text, "://") && !o.clones():
			if o.row.fetches && !o.namesFile() {
				o.found = append(o.found, output{word: i, named: o.fetched(w)})
			}
		case option:
			i += o.option(i)
		default:
			o.operands = append(o.operands, i)
		}
	}
	switch {
	case o.clones() && len(o.operands) > 0:
		from := strings.TrimRight(unquoted(o.words[o.operands[0]].Text), "/")
		o.found = append(o.found, output{word: o.operands[0], named: []string{strings.TrimSuffix(path.Base(from), ".git")}})
		for _, i := range o.operands[1:] {
			o.add(i)
		}
	case o.row.by == byAny:
		for _, i := range o.operands {
			o.add(i)
		}
		if o.row.unpacks {
			o.unpacked()
		}
		if last := len(o.operands) - 1; last > 0 && o.row.fills {
			o.joined(o.operands[last], o.words[o.operands[last]].Text, o.operands[:last])
		}
	case o.row.by == byFirst && len(o.operands) > 0:
		o.add(o.operands[0])
	case o.row.by == byLast && len(o.operands) > 0:
		o.last()
	}
	return o.found
}

// clones reports whether the first operand is copied to a directory of the same
// name.
func (o *outputList) clones() bool {
	return o.name == "git" && o.at > 1 && o.words[o.at-1].Text == "clone"
}

// option processes an option, and returns how many of the next words are its
// value.
func (o *outputList) option(i int) int {
	w := o.words[i]
	if o.row.by != byLast {
		o.add(i)
		return 0
	}
	if o.name == "rsync" || o.name == "scp" {
		o.add(i)
		return 0
	}
	name, value, attached := strings.Cut(w.Text, "=")
	long := strings.HasPrefix(w.Text, "--")
	switch {
	case long && len(name) > 3 && (strings.HasPrefix("--target-directory", name) || strings.HasPrefix("--link", name) || strings.HasPrefix("--symbolic-link", name)),
		!long && strings.ContainsAny(w.Text, "tls"):
		links := long && !strings.HasPrefix("--target-directory", name) || !long && !strings.Contains(w.Text, "t")
		if links { // writing through the link changes its target
			row := *o.row
			row.by = byAny
			o.row = &row
			return 0
		}
		o.into = true
		at := strings.IndexByte(w.Text, 't')
		switch {
		case long && attached:
			o.addPath(i, value, w)
			o.joined(i, value, o.operandsFrom(i+1))
		case !long && at < len(w.Text)-1:
			o.addPath(i, w.Text[at+1:], w)
			o.joined(i, w.Text[at+1:], o.operandsFrom(i+1))
		case i+1 < len(o.words):
			o.add(i + 1)
			o.joined(i+1, o.words[i+1].Text, o.operandsFrom(i+2))
			return 1
		}
	}
	return 0
}

// operandsFrom returns the indexes of operands from a word on.
func (o *outputList) operandsFrom(from int) []int {
	operands := slices.Clone(o.operands)
	for i := from; i < len(o.words); i++ {
		if !strings.HasPrefix(o.words[i].Text, "-") {
			operands = append(operands, i)
		}
	}
	return operands
}

// last adds the last operand, and the files in it if it is a directory.
func (o *outputList) last() {
	last := o.operands[len(o.operands)-1]
	if o.into {
		return
	}
	o.add(last)
	from := o.operands[:len(o.operands)-1]
	o.joined(last, o.words[last].Text, from)
	into := func(w shell.Word) bool {
		letters := len(w.Text) > 1 && w.Text[0] == '-' && w.Text[1] != '-'
		return letters && o.name != "rsync" && strings.Contains(w.Text, "T") || strings.HasPrefix(w.Text, "--no-t")
	}
	if slices.ContainsFunc(o.words, into) {
		o.found = append(o.found, output{word: last, spreads: o.words[last].Text})
	}
}

// joined adds the files that are written to a directory, which the word at into
// names.
func (o *outputList) joined(into int, dir string, from []int) {
	least := 4 // letters before the first wildcard of a pattern that counts
	if o.dotglob {
		least = 0
	}
	for _, i := range from {
		w := o.words[i]
		name := path.Base(w.Text)
		remote := ""
		if o.name == "rsync" || o.name == "scp" {
			if _, file, ok := strings.Cut(name, ":"); ok {
				name, remote = file, ":"
			}
		}
		if name == "." || name == ".." || name == "" && remote != "" || o.name == "rsync" && strings.HasSuffix(w.Text, "/") {
			o.found = append(o.found, output{word: into, spreads: dir})
		}
		switch {
		case w.Static, strings.HasPrefix(name, "."), strings.IndexAny(name, "*?[(") >= least:
			o.addPath(into, path.Join(dir, name), w)
		case o.finding != nil:
			out := output{word: into, hidden: o.finding.hidden}
			if o.finding.hidden && len(o.finding.names) == 0 {
				out.spreads = dir
			}
			for _, name := range o.finding.names {
				out.named = append(out.named, path.Join(unquoted(dir), name))
			}
			o.found = append(o.found, out)
		}
	}
}

// add adds a word.
func (o *outputList) add(i int) {
	w := o.words[i]
	lost := o.row.fills && !w.Static && !w.Pattern && len(w.Candidates) == 0 && !strings.HasPrefix(w.Text, "-")
	if o.row.by == byAny && lost && len(o.operands) > 1 && i != o.operands[len(o.operands)-1] {
		switch o.name {
		case "mv", "gmv":
			lost = false // the moved file
		}
	}
	o.found = append(o.found, output{word: i, named: pathsIn(w), fills: o.row.fills, lost: lost})
}

func (o *outputList) addPath(i int, path string, w shell.Word) {
	lost := o.row.fills && !w.Static && !w.Pattern && len(w.Candidates) == 0 && i >= 0 && o.words[i].Text == w.Text
	o.found = append(o.found, output{word: i, named: []string{unquoted(path)}, lost: lost})
}

// leavesOut reports whether an option names excluded files.
func leavesOut(option string) bool {
	name, _, _ := strings.Cut(option, "=")
	return strings.Contains(name, "exclude") || strings.Contains(name, "ignore")
}

// readsValue reports whether an option names an input file.
func readsValue(option string) bool {
	name, _, _ := strings.Cut(option, "=")
	return name == "--env-file"
}

// pathsIn returns the paths that a word may name: itself, and text after an
// option's name or a separator.
func pathsIn(w shell.Word) []string {
	values := []string{w.Text}
	if !w.Static {
		values = append(values, unquoted(w.Text))
		values = append(values, w.Candidates...)
		if strings.Contains(w.Text, "rev-parse") && (strings.Contains(w.Text, "git-dir") || strings.Contains(w.Text, "git-path") || strings.Contains(w.Text, "git-common-dir")) { // for example $(git rev-parse --git-dir)/config
			values = append(values, ".git")
		}
	}
	paths := values
	for _, v := range values {
		if len(v) > 2 && v[0] == '-' && v[1] != '-' {
			paths = append(paths, v[2:])
			if at := strings.IndexAny(v, "./~"); at > 2 {
				paths = append(paths, v[at:])
			}
		}
		if strings.ContainsAny(v, "=,:;@") && !strings.Contains(v, " ") {
			paths = append(paths, strings.FieldsFunc(v, func(r rune) bool { return strings.ContainsRune("=,:;@", r) })...)
		}
	}
	return paths
}

// unquoted returns a word as written, without quotes: not as bash reads it, but
// as an additional guess at the path of a word that only bash can expand. It only
// adds paths to protect.
func unquoted(s string) string { return strings.NewReplacer(`"`, "", `'`, "", `\`, "").Replace(s) }
