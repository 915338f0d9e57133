package policy

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/policy/shell"
)

// remembered identifies the lines that an approval of a line covers.
type remembered struct {
	beginnings []string // of ordinary commands
	commands   []string // patterns of commands that are only approved literally
	files      []string // patterns of written files
}

// narrowed creates rules from a template that allow the parts of the line that
// are not allowed yet. A file is remembered as one that write_file may write, and
// not as one that the command may write. exact states that all commands are
// remembered literally.
func (j *judge) narrowed(template Rule, exact bool) ([]Rule, error) {
	var all remembered
	covered := make([]bool, len(j.parts)) // by an exact rule for the parent
	for i := range j.parts {
		p := &j.parts[i]
		if j.judged[i].verdict == Allow || covered[i] {
			continue
		}
		switch {
		case p.Kind == shell.Write:
			if err := j.narrowFile(p, &all); err != nil {
				return nil, err
			}
		case p.Kind != shell.Command:
			return nil, notRemembered("It is not a plain command: " + abridged(p.Text) + ".")
		case exact || j.exactOnly(i):
			if err := narrowExact(p, &all); err != nil {
				return nil, err
			}
			for k := range j.parts {
				covered[k] = covered[k] || j.parts[k].Parent == i && j.parts[k].Own < len(p.Words)
			}
		default:
			all.beginnings = append(all.beginnings, shell.Quote(j.beginning(p)))
		}
	}
	var rules []Rule
	for _, beginning := range unique(all.beginnings) {
		r := template
		r.CommandPrefix = []string{beginning}
		rules = append(rules, r)
	}
	for _, pattern := range unique(all.commands) {
		r := template
		r.ArgsPattern = pattern
		rules = append(rules, r)
	}
	for _, pattern := range unique(all.files) {
		r := template
		r.Tools, r.ArgsPattern, r.Run = []string{writeFile}, pattern, ""
		rules = append(rules, r)
	}
	return rules, nil
}

// narrowExact remembers a command literally.
func narrowExact(p *shell.Part, all *remembered) error {
	if slices.ContainsFunc(p.Words, func(w shell.Word) bool { return !fixed(w) }) {
		return notRemembered("Its effect may change between runs: " + abridged(p.Text) + ".")
	}
	if len(p.Words) > 0 {
		if program := p.Words[0].Text; strings.Contains(program, "/") && !filepath.IsAbs(program) {
			return notRemembered("The program depends on the directory: " + abridged(p.Text) + ".")
		}
	}
	all.commands = append(all.commands, exactCommand(p.Text))
	return nil
}

// narrowFile remembers a written file.
func (j *judge) narrowFile(p *shell.Part, all *remembered) error {
	places, known := j.targets(p)
	if !known {
		return notRemembered("Its target file may change between runs: " + abridged(p.Text) + ".")
	}
	for _, path := range places {
		if err := j.call.leadsElsewhere(path); err != nil {
			return err
		}
		all.files = append(all.files, exactArg("file_path", path))
	}
	return nil
}

// exactOnly reports whether the approval of a part must not extend to commands
// with the same prefix: because the effect of the program or its subcommand
// depends on its arguments, it has subcommands and the part names none, a rule
// that denies or asks has the same prefix, or the part brings other parts that
// are not allowed.
func (j *judge) exactOnly(i int) bool {
	p := &j.parts[i]
	if len(p.Words) == 0 {
		return true
	}
	program := programName(p.Words[0].Text)
	if exactProgram(p.Words[0].Text) || shell.Subcommands(program) && !namesSubcommand(p) || j.guarded(suggested(p)) {
		return true
	}
	if words := suggested(p); shell.Subcommands(program) && len(words) > 1 && exactSubcommand(program, words[1]) {
		return true
	}
	for k := range j.parts {
		if j.parts[k].Parent == i && j.parts[k].Kind != shell.Write && j.judged[k].verdict != Allow {
			return true
		}
	}
	return false
}

// namesSubcommand reports whether the part's words determine what its program
// does, so that commands with the same prefix do the same. An option or a word
// like VAR=x, which make accepts, does not, nor does run without an argument.
func namesSubcommand(p *shell.Part) bool {
	words := suggested(p)
	if len(words) < 2 || isOption(words[1]) || strings.Contains(words[1], "=") {
		return false
	}
	if !slices.Contains(runners, words[1]) {
		return true
	}
	return len(words) > 2 && (len(words) == len(p.Words) || !isOption(words[2]))
}

// guarded reports whether a rule that denies or asks covers some of the commands
// with this prefix.
func (j *judge) guarded(words []string) bool {
	return slices.ContainsFunc(j.index.tight, func(r *rule) bool {
		return slices.ContainsFunc(r.prefixes, func(prefix []string) bool {
			return len(words) > 0 && len(prefix) >= len(words) && programName(prefix[0]) == programName(words[0]) &&
				slices.Equal(prefix[1:len(words)], words[1:])
		})
	})
}

// beginning returns the words that a part is remembered by. A program given by a
// path is named so that it is found again.
func (j *judge) beginning(p *shell.Part) []string {
	words := suggested(p)
	if len(words) == 0 || j.begins(words, p) {
		return words
	}
	if places, ok := j.opened(p, words[0]); ok && len(places) == 1 {
		words[0] = places[0]
	}
	return words
}
