package policy

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/policy/readonly"
	"github.com/fettle-dev/fettle/core/policy/shell"
)

// free is the result of the read-only table for a part.
type free struct {
	use readonly.Use
	why string // the reason, as a clause, why it does not cover the part; "" if it does
}

// walls is the confinement of a command, in the degrees that the read-only table
// distinguishes.
type walls int

const (
	noWalls    walls = iota // only literal commands without configuration files are covered
	writeWalls              // the command cannot write
	allWalls                // and cannot read files that are hidden from it
)

// walls returns the confinement in which the command is assumed to run.
func (c *Call) walls() walls {
	switch {
	case c.placed != atInside:
		return noWalls
	case c.Confinable == Namespaces:
		return allWalls
	}
	return writeWalls
}

// free returns the result of the read-only table for a part.
func (j *judge) free(i int) *free {
	if j.frees == nil {
		j.frees = make([]*free, len(j.parts))
	}
	if j.frees[i] == nil {
		j.frees[i] = &free{}
		j.frees[i].use, j.frees[i].why = j.findFree(i)
	}
	return j.frees[i]
}

func (j *judge) findFree(i int) (readonly.Use, string) {
	p := &j.parts[i]
	use, why := j.listed(i).use, j.listed(i).why
	if why != "" {
		return use, why
	}
	if why = j.freeRest(); why != "" {
		return use, why
	}
	if why = j.bounded(p, &use); why != "" {
		return use, why
	}
	if p.Parent >= 0 {
		if parent := &j.parts[p.Parent]; parent.Wraps && parent.Kind == shell.Command {
			return use, j.free(p.Parent).why
		}
	}
	return use, ""
}

// listed returns the row of a part, or the reason why it has none.
func (j *judge) listed(i int) *free {
	if j.uses == nil {
		j.uses = make([]*free, len(j.parts))
	}
	if j.uses[i] == nil {
		j.uses[i] = &free{}
		j.uses[i].use, j.uses[i].why = listedUse(&j.parts[i])
	}
	return j.uses[i]
}

func listedUse(p *shell.Part) (readonly.Use, string) {
	if p.Kind != shell.Command || len(p.Words) == 0 || !fixed(p.Words[0]) {
		return readonly.Use{}, "it is no known command"
	}
	if word := p.Words[0].Text; strings.Contains(word, "/") && !slices.Contains(systemDirs, path.Dir(word)+"/") {
		return readonly.Use{}, word + " is not a program of the system"
	}
	return readonly.Check(p.Words)
}

// bounded returns the reason why a command with a row is not covered in the
// confinement that it runs in, "" if it is.
func (j *judge) bounded(p *shell.Part, use *readonly.Use) string {
	walls := j.call.walls()
	if why := j.unknownProgram(p, use); why != "" {
		return why
	}
	switch {
	case walls == noWalls && !use.Literal:
		return "its words depend on what bash expands, which requires a sandbox"
	case walls == noWalls && use.Row.Is("config"):
		return use.Row.Names[0] + " reads configuration files, which requires a sandbox"
	case walls == noWalls && use.Row.Is("confined"):
		return use.Row.Names[0] + " requires a sandbox"
	case walls < allWalls && !use.Exact:
		return "its words may be options or names of files, which requires a sandbox"
	case walls < allWalls && use.Data:
		return "it reads files that other data names, which requires a sandbox"
	}
	for _, r := range use.Reads {
		if why := j.unreadable(p.Dirs, r, walls); why != "" {
			return why
		}
	}
	if strings.HasPrefix(use.Row.Names[0], "git ") && j.withholds() {
		return j.withheldObject(p)
	}
	return ""
}

// withheldObject returns the reason why a command of git may show versions of a file
// that rules withhold from read_file: one of its words names the file, alone or after a
// revision. The confinement hides the file itself, and not git's objects.
func (j *judge) withheldObject(p *shell.Part) string {
	for _, w := range p.Words[1:] {
		name := w.Text
		if at := strings.LastIndexAny(name, ":)"); at >= 0 { // of a revision, or of the magic of a path
			name = strings.TrimPrefix(name[at+1:], "/")
		}
		if !w.Static || strings.HasPrefix(name, "-") {
			continue
		}
		places, _ := j.places(p, name)
		for _, place := range append(places, filepath.Join(j.start, name)) {
			if d := j.reading(place); d != nil {
				return fmt.Sprintf("%s is withheld from read_file by the rule %s", name, d.id)
			}
		}
	}
	return ""
}

// unknownProgram returns the reason why the program of a part is not known to be
// the system's.
func (j *judge) unknownProgram(p *shell.Part, use *readonly.Use) string {
	word := p.Words[0].Text
	if use.Row.Is("builtin") && p.Parent < 0 && !strings.Contains(word, "/") {
		return ""
	}
	found, ok := j.call.Found[word]
	switch {
	case !ok || found == "":
		return "the file of the program " + word + " is not known"
	case !slices.ContainsFunc(programPlaces, func(place string) bool { return beneath(place, found) }) || j.within(found, true):
		return word + " is " + found + ", which is not a program of the system"
	}
	return ""
}

// unreadable returns the reason why reading a file needs approval, for a command that
// runs in one of the directories; "" if it does not.
func (j *judge) unreadable(dirs []string, r readonly.Read, walls walls) string {
	at := &shell.Part{Dirs: dirs}
	for _, name := range namesOf(r.Path) {
		places, known := j.places(at, name)
		switch {
		case strings.HasPrefix(name, "~"):
			return name + " is outside of the workspace"
		case known:
		case walls < allWalls:
			return "it is not known which file " + name + " is"
		}
		for _, left := range j.left(at, name) {
			if walls < allWalls && j.call.Found[left] != left {
				return "it is not known which file " + name + " is"
			}
		}
		for _, place := range places {
			if why := j.unreadablePlace(place, walls); why != "" {
				return why
			}
		}
	}
	switch {
	case walls == allWalls:
	case !fixed(r.Path):
		return "it is not known which file " + r.Path.Text + " is, which requires a sandbox"
	case r.Follow:
		return "it follows links, which requires a sandbox"
	case r.Tree && j.withholds():
		return "rules withhold files from read_file, and some may be in " + r.Path.Text
	}
	return ""
}

// namesOf returns the known file names that a word may expand to. For a pattern it
// returns the directory in which bash searches.
func namesOf(w shell.Word) []string {
	switch {
	case fixed(w):
		return []string{w.Text}
	case w.Pattern:
		head := ""
		if len(w.Shapes) > 0 {
			head = w.Shapes[0]
			if at := strings.Index(head, holesBegin); at >= 0 {
				head = head[:at]
			}
		}
		if at := strings.LastIndexByte(head, '/'); at >= 0 {
			return []string{head[:at+1]}
		}
		return []string{"."}
	}
	return w.Candidates
}

// unreadablePlace returns the reason why reading an absolute path needs approval; ""
// if it does not.
func (j *judge) unreadablePlace(place string, walls walls) string {
	real, ok := j.call.Found[place]
	if !ok {
		return "it is not known where " + place + " leads"
	}
	for _, at := range []string{place, real} {
		if !j.readable(at, walls) {
			return at + " is outside of the workspace"
		}
	}
	if d := j.reading(place); d != nil {
		return fmt.Sprintf("%s is withheld from read_file by the rule %s", place, d.id)
	}
	return ""
}

// readable reports whether an absolute path lies in a directory that commands may
// read.
func (j *judge) readable(place string, walls walls) bool {
	in := func(list []string) bool {
		return slices.ContainsFunc(list, func(dir string) bool { return beneath(dir, place) })
	}
	return j.within(place, true) || in(j.call.Readable) || in(readablePlaces) || slices.Contains(readableFiles(), place) ||
		walls == allWalls && inTemporary(place)
}

// reading returns the rule because of which read_file would not show a file
// without approval; nil if there is none.
func (j *judge) reading(place string) *rule {
	if !j.withholds() {
		return nil
	}
	c, _ := WellKnown("read_file")
	c.Params, c.Mode, c.Subagent, c.Within, c.Headless = withPath(place), j.call.Mode, j.call.Subagent, j.call.Within, j.call.Headless
	c.Untrusted, c.Dir, c.Roots, c.RealPaths = j.call.Untrusted, j.call.Dir, j.call.Roots, j.call.Found
	t := newTrial(j.snapshot, &c)
	if d, out := t.plain(j.find(&c, t.args)); d.Decision != Allow {
		return out.decisive()
	}
	return nil
}

// withholds reports whether a written rule may keep a file from the tools that
// read files.
func (j *judge) withholds() bool {
	if j.withheld == nil {
		found := j.mayWithhold()
		j.withheld = &found
	}
	return *j.withheld
}

func (j *judge) mayWithhold() bool {
	for _, name := range []string{"read_file", "search_file_content", "list_directory"} {
		c, _ := WellKnown(name)
		c.Params = []byte(`{}`)
		found := j.find(&c, &arguments{call: &c})
		if len(found.checkers) > 0 || slices.ContainsFunc(found.rules, func(r *rule) bool { return r.tightens && r.own == written }) {
			return true
		}
	}
	return false
}

// freeRest returns the reason why no part of the line is covered: for the files
// that its redirections read, or the variables that it shows.
func (j *judge) freeRest() string {
	if j.freeLine == nil {
		j.freeLine = &free{}
		j.freeLine.why = j.findRest()
	}
	return j.freeLine.why
}

func (j *judge) findRest() string {
	for _, in := range j.line.Inputs {
		if why := j.unreadable(in.Dirs, readonly.Read{Path: in.Path}, j.call.walls()); why != "" {
			return why
		}
	}
	for _, name := range j.line.Environment {
		if !isPlainVariable(name) {
			return "the variable " + name + " of the environment may hold a secret"
		}
	}
	return ""
}

// isPlainVariable reports whether a variable of the environment is known not to
// hold a secret.
func isPlainVariable(name string) bool {
	return strings.HasPrefix(name, "LC_") || strings.HasPrefix(name, "XDG_") || slices.Contains(plainVariables(), name)
}

// Lookups returns the names of programs and the absolute cleaned paths whose
// Call.Found the read-only table requires. There are none without
// [Options].ReadOnlyTable.
func (e *Engine) Lookups(c Call) []string {
	s := e.now.Load()
	if !s.readOnly || !isShell(&c) { // c does not escape to the heap for the many calls of other tools
		return nil
	}
	return s.lookups(c)
}

func (s *snapshot) lookups(c Call) []string {
	t := newTrial(s, &c)
	found := s.find(&c, t.args)
	if found.shell == nil {
		return nil
	}
	j := t.takeApart(found.shell)
	var all []string
	reads := func(dirs []string, w shell.Word) {
		at := &shell.Part{Dirs: dirs}
		for _, name := range namesOf(w) {
			places, _ := j.places(at, name)
			all = append(append(all, places...), j.left(at, name)...)
		}
	}
	for i := range j.parts {
		p := &j.parts[i]
		use, why := j.listed(i).use, j.listed(i).why
		if why != "" {
			continue
		}
		all = append(all, p.Words[0].Text)
		for _, r := range use.Reads {
			reads(p.Dirs, r.Path)
		}
	}
	for _, in := range j.line.Inputs {
		reads(in.Dirs, in.Path)
	}
	return slices.DeleteFunc(unique(all), func(s string) bool { return strings.Contains(s, "/") && !filepath.IsAbs(s) })
}

// freeReason explains why the read-only table covers a part.
func (j *judge) freeReason(i int) string {
	p, use := &j.parts[i], j.listed(i).use
	text := "The read-only table lists " + use.Row.Names[0]
	if n := slices.Index(use.Row.Names, programName(p.Words[0].Text)); n > 0 {
		text = "The read-only table lists " + use.Row.Names[n]
	}
	var options []string
	for _, w := range p.Words[1:] {
		if fixed(w) && isOption(w.Text) && w.Text != "--" && len(w.Text) < 40 {
			options = append(options, w.Text)
		}
	}
	if len(options) > 0 {
		text += " with " + strings.Join(unique(options), " ")
	}
	return text + ": it changes nothing (" + use.Row.Source + ")."
}

// boundReason explains why the read-only table does not cover a part; "" if the
// table has no row of the program, or a confined run is considered too.
func (j *judge) boundReason(i int) string {
	if !j.readOnly || j.call.placed == atOutside {
		return ""
	}
	if f := j.free(i); f.use.Row != nil && f.why != "" {
		return " It is not free as a read-only command: " + f.why + "."
	}
	return ""
}
