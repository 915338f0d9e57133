package policy

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/fettle-dev/fettle/core/policy/shell"
)

// fetched returns the paths under which a program saves the addresses in a word.
func (o *outputList) fetched(w shell.Word) []string {
	recursive := slices.ContainsFunc(o.words[1:], func(w shell.Word) bool {
		return isOption(w.Text) && (w.Text[1] != '-' && strings.ContainsAny(w.Text, "rmp") || w.Text == "--recursive" || w.Text == "--mirror" || w.Text == "--page-requisites")
	})
	var names []string
	for _, address := range append([]string{unquoted(w.Text)}, w.Candidates...) {
		_, address, _ = strings.Cut(address, "://")
		address, _, _ = strings.Cut(address, "#")
		file, query, asks := strings.Cut(address, "?")
		file = unescaped(file)
		switch {
		case recursive:
			names = append(names, file)
		case strings.Contains(file, "/"):
			names = append(names, path.Base(file))
		}
		if asks {
			names = append(names, path.Base(file)+"?"+query)
		}
	}
	return names
}

// unescaped replaces each valid %XX by its character. The package net/url would make the
// program for hooks larger.
func unescaped(s string) string {
	head, rest, ok := strings.Cut(s, "%")
	if !ok {
		return s
	}
	if len(rest) > 1 {
		if c, err := strconv.ParseUint(rest[:2], 16, 8); err == nil {
			return head + string([]byte{byte(c)}) + unescaped(rest[2:])
		}
	}
	return head + "%" + unescaped(rest)
}

// namesFile reports whether an option of wget names the file for all addresses.
func (o *outputList) namesFile() bool {
	return strings.HasPrefix(o.name, "wget") && slices.ContainsFunc(o.words[1:], func(w shell.Word) bool {
		letters, _, short := strings.Cut(w.Text, "O")
		return w.Static && (short && strings.HasPrefix(letters, "-") && strings.Trim(letters[1:], "qvcNS") == "" || strings.HasPrefix(w.Text, "--output-document"))
	})
}

// unpacked adds the files that a decompressor writes: its operands without their
// last suffix. With -c it writes none.
func (o *outputList) unpacked() {
	recursive, stdout, lost := false, false, -1 // lost is the option that makes the names unknown
	for i, w := range o.words[o.at:] {
		if w.Text == "--" {
			break
		}
		name, _, _ := strings.Cut(w.Text, "=")
		switch {
		case !isOption(w.Text):
		case strings.HasPrefix(name, "--"):
			stdout = stdout || name == "--stdout" || name == "--to-stdout" || name == "--test"
			is := func(option string) bool { return name == option || abbreviates(name, option) }
			recursive = recursive || is("--recursive")
			if is("--name") || is("--suffix") || is("--files") || is("--files0") {
				lost = o.at + i
			}
		default:
			letters := name[1:]
			if valued := strings.IndexAny(letters, "CDFMSTVo"); valued >= 0 {
				letters = letters[:valued+1]
			}
			stdout = stdout || strings.Contains(letters, "c") || strings.Contains(letters, "t") && o.name != "pixz" // -t of pixz writes
			recursive = recursive || strings.Contains(letters, "r")
			if strings.ContainsAny(letters, "NS") {
				lost = o.at + i
			}
		}
	}
	if stdout {
		return
	}
	if lost >= 0 {
		o.found = append(o.found, output{word: lost, lost: true})
	}
	for _, i := range o.operands {
		out := output{word: i}
		if recursive {
			out.spreads = o.words[i].Text
		}
		out.named = withoutSuffix(pathsIn(o.words[i]))
		o.found = append(o.found, out)
	}
}

func withoutSuffix(paths []string) []string {
	var short []string
	for _, p := range paths {
		short = append(short, strings.TrimSuffix(p, path.Ext(p)))
	}
	return short
}

// listFinds returns the names in the words after the first.
func listFinds(words []shell.Word) *finding {
	f := &finding{names: []string{}}
	if words[0].Text == "ls" && slices.ContainsFunc(words[1:], func(w shell.Word) bool {
		return isOption(w.Text) && (w.Text[1] != '-' && strings.ContainsAny(w.Text, "aA") || strings.HasPrefix(w.Text, "--al"))
	}) {
		f.hidden, f.names = true, nil
	}
	for _, w := range words[1:] {
		for name := range strings.FieldsSeq(unquoted(w.Text)) {
			f.paths = append(f.paths, name)
			if !f.hidden {
				f.names = append(f.names, path.Base(name))
			}
		}
	}
	return f
}

// finding is a command that finds or lists files, which are words of a part.
type finding struct {
	paths  []string // where it searches, and the names that it searches for
	names  []string // of the files, or patterns of them; nil: any
	hidden bool     // it finds names that begin with a dot
}

// findingFor returns the finding whose results are words of a part: that of a
// command that runs it, or of one that pipes into such a command. It is nil if
// there is none.
func (j *judge) findingFor(i int) *finding {
	if !slices.ContainsFunc(j.parts[i].Words, func(w shell.Word) bool { return !w.Static }) {
		return nil
	}
	for by := j.parts[i].Parent; by >= 0; by = j.parts[by].Parent {
		for k := by; k >= 0; k = slices.IndexFunc(j.parts[:k], func(p shell.Part) bool { return p.Into == k }) {
			if f := finds(j.parts[k].Words); f != nil {
				return f
			}
		}
	}
	return nil
}

// finds returns what a command finds; nil if it is no such command.
func finds(words []shell.Word) *finding {
	if len(words) == 0 {
		return nil
	}
	switch programName(words[0].Text) {
	case "find", "gfind":
		return findFinds(words)
	case "fd", "fdfind":
		return fdFinds(words)
	case "ls", "echo", "printf":
		return listFinds(words)
	case "parallel":
		if at := slices.IndexFunc(words, func(w shell.Word) bool { return strings.HasPrefix(w.Text, ":::") }); at >= 0 {
			return listFinds(words[at:])
		}
	}
	return nil
}

func findFinds(words []shell.Word) *finding {
	f := &finding{hidden: true}
	start := true
	for k, w := range words[1:] {
		before := words[k].Text
		byName := strings.HasSuffix(before, "name")
		switch {
		case strings.HasPrefix(w.Text, "-"):
			start = false
			continue
		case start || byName:
			f.paths = append(f.paths, pathsIn(w)...)
		}
		not := k > 0 && (words[k-1].Text == "!" || words[k-1].Text == "-not")
		if !start && !not && (byName || strings.HasSuffix(before, "path")) {
			for _, name := range pathsIn(w) {
				f.names = append(f.names, path.Base(name))
			}
		}
	}
	return f
}

// fdValued lists options of fd that take the next word as their value.
var fdValued = wordList("-e --extension -t --type -d --max-depth --min-depth -E --exclude -S --size -o --owner -c --color -j --threads")

func fdFinds(words []shell.Word) *finding {
	f := &finding{}
	for i := 1; i < len(words); i++ {
		w := words[i].Text
		switch {
		case slices.Contains(fdValued(), w), isOption(w) && w[1] != '-' && slices.Contains(fdValued(), "-"+w[len(w)-1:]):
			f.hidden = f.hidden || w[1] != '-' && strings.ContainsAny(w, "Hu")
			i++
		case w == "-x" || w == "-X" || strings.HasPrefix(w, "--exec"):
			return f
		case isOption(w):
			f.hidden = f.hidden || strings.HasPrefix(w, "--hi") || strings.HasPrefix(w, "--un") || w[1] != '-' && strings.ContainsAny(w, "Hu")
		default:
			if len(f.paths) == 0 && w != "." { // the first is the pattern
				f.names = append(f.names, path.Base(w))
			}
			f.paths = append(f.paths, pathsIn(words[i])...)
		}
	}
	return f
}
