package policy

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/confirmation"
	"github.com/fettle-dev/fettle/core/policy/shell"
)

// gitCallers lists programs that run git in their working directory.
var gitCallers = wordList(`
	git gitk gitui tig lazygit gh glab hub jj git-cliff git-lfs pre-commit lefthook lint-staged husky
	go cargo npm npx pnpm yarn bun goreleaser cz commitizen bundle composer poetry uv pip pip3 hatch
`)

// gitMakers lists programs that may create a repository in their working
// directory.
var gitMakers = wordList("tar gtar bsdtar unzip 7z 7za cpio ar pax rsync patch")

// gitFiles lists the names that make a directory a repository.
var gitFiles = []string{"HEAD", "config", "commondir", "gitdir", ".git"}

// GitDirs returns the absolute directories in which a command line would run git,
// whose repositories [Engine.Decide] requires; see Call.Repositories. For most
// calls there are none.
func (e *Engine) GitDirs(c Call) []string {
	if !isShell(&c) { // c does not escape to the heap for the many calls of other tools
		return nil
	}
	return e.now.Load().runsGitIn(c)
}

func (s *snapshot) runsGitIn(c Call) []string {
	t := newTrial(s, &c)
	found := s.find(&c, t.args)
	if found.shell == nil {
		return nil
	}
	j := t.takeApart(found.shell)
	var dirs []string
	for i := range j.parts {
		in, _ := j.gitDirs(&j.parts[i])
		dirs = append(dirs, in...)
		for _, dir := range j.parts[i].Repository {
			if dir = joined(j.start, dir); filepath.IsAbs(dir) {
				dirs = append(dirs, dir)
			}
		}
	}
	return unique(dirs)
}

// findTops sets the directories of parts in the top directory of a repository, or
// below it, if that is known.
func (t *trial) findTops(j *commandLine) {
	copied := false
	for i := range j.parts {
		p := &j.parts[i]
		if len(p.Repository) == 0 {
			continue
		}
		var dirs []string
		for _, dir := range p.Repository {
			if top := t.call.Repositories[joined(j.start, dir)].Top; filepath.IsAbs(top) {
				dirs = append(dirs, filepath.Join(top, p.Below))
			}
		}
		if len(dirs) < len(p.Repository) {
			continue
		}
		if p.Below == "" { // git may have failed, and the shell has stayed
			dirs = append(dirs, p.Repository...)
		}
		if !copied {
			j.parts, copied = slices.Clone(j.parts), true
		}
		j.parts[i].Dirs = dirs
	}
}

// gitDirs returns the directories in which a part runs git; false if it runs git
// in an unknown directory.
func (j *judge) gitDirs(p *shell.Part) ([]string, bool) {
	if p.Kind != shell.Command || len(p.Words) == 0 || !fixed(p.Words[0]) {
		return nil, true
	}
	name := programName(p.Words[0].Text)
	if !slices.Contains(gitCallers(), name) && !strings.HasPrefix(name, "git-") {
		return nil, true
	}
	var dirs []string
	in := p.Dirs
	if len(p.Repository) > 0 && p.Below == "" {
		in = p.Repository
	}
	for _, dir := range in {
		if !filepath.IsAbs(dir) && j.start == "" || strings.HasPrefix(dir, "~") {
			return nil, false
		}
		dirs = append(dirs, joined(j.start, dir))
	}
	if len(dirs) == 0 {
		return nil, false
	}
	for i := 1; i < len(p.Words); i++ {
		option, value, attached := strings.Cut(p.Words[i].Text, "=")
		switch {
		case option == "-C", option == "--git-dir", option == "--prefix", option == "--cwd", option == "--dir":
		case name == "git" && !strings.HasPrefix(option, "-"):
			if option == "init" || option == "clone" || option == "version" || option == "help" {
				return nil, true
			}
			return dirs, true
		default:
			if name == "git" && slices.Contains(habitsOf["git"].valued, option) && !attached {
				i++
			}
			continue
		}
		values := []string{value}
		if !attached {
			if i++; i == len(p.Words) {
				break
			}
			values = p.Words[i].Candidates
			if fixed(p.Words[i]) {
				values = []string{p.Words[i].Text}
			}
		} else if !fixed(p.Words[i]) {
			values = nil
		}
		var next []string
		for _, dir := range dirs {
			for _, v := range values {
				if strings.HasPrefix(v, "~") || len(p.Dirs) == 0 && !filepath.IsAbs(v) {
					return nil, false
				}
				next = append(next, joined(dir, v))
			}
		}
		if dirs = next; len(dirs) == 0 {
			return nil, false
		}
	}
	return dirs, true
}

// guardRepository requires approval of a part that a rule allows and that runs
// git in a repository to which there is an objection, such as one that the session
// has created or changed: git runs programs named in that repository's
// configuration and hooks. A rule that names the directory covers it.
func (j *judge) guardRepository(i int, v *judged) {
	if v.rule.own == ownYolo {
		return
	}
	p := &j.parts[i]
	dirs, known := j.gitDirs(p)
	why := ""
	if !known && j.start != "" {
		why = "The repository in which git would run is unknown."
	}
	for _, dir := range dirs {
		if why == "" {
			why = j.call.Repositories[dir].Objection
		}
		if why == "" && j.makes(i, dir) {
			why = fmt.Sprintf("The line itself may create a repository in %s.", abridged(dir))
		}
	}
	if why == "" || j.namesDir(i, v) {
		return
	}
	v.verdict = AskUser
	v.reason = why + " Git runs the programs that a repository's configuration and hooks name. No rule about a command covers them."
	v.remedy = "Check its configuration and hooks. Trust that lists the key of the configuration, for a change a later session, or a rule whose prefix names the directory, as git -C DIR" + j.orYolo()
	v.asWrite = &Decision{Explanation: confirmation.Explanation{Rule: "repositories", Tier: TierDefault.String(), Source: BuiltIn}}
}

// namesDir reports whether a rule that allows a part names the directory in which
// git runs.
func (j *judge) namesDir(i int, v *judged) bool {
	for r, m := range j.covering(i, v) {
		words := r.prefix
		if words == nil {
			for _, w := range j.parts[i].Words[:min(m.words, len(j.parts[i].Words))] {
				words = append(words, w.Text)
			}
		}
		for k, w := range words {
			if option, _, attached := strings.Cut(w, "="); option == "-C" && k+1 < len(words) || option == "--git-dir" && (attached || k+1 < len(words)) {
				return true
			}
		}
	}
	return false
}

// makes reports whether another part of the line may create a repository that git
// would find from a directory. Later parts count: loops, functions and pipes may
// run them first.
func (j *judge) makes(i int, dir string) bool {
	for k := range j.parts {
		if k == i {
			continue
		}
		p := &j.parts[k]
		switch p.Kind {
		case shell.Write:
			places, known := j.targets(p)
			for _, place := range places {
				if known && j.makesAt(place, dir, false) {
					return true
				}
			}
		case shell.Command:
			if len(p.Words) == 0 || !fixed(p.Words[0]) {
				continue
			}
			name := programName(p.Words[0].Text)
			sub := name == "git" && slices.Contains([]string{"init", "clone", "worktree"}, gitSubcommand(p.Words))
			if sub || slices.Contains(gitMakers(), name) && !(strings.HasSuffix(name, "tar") && len(p.Words) > 1 && packs(p.Words)) {
				for _, at := range p.Dirs {
					if at = joined(j.start, at); beneath(at, dir) || beneath(dir, at) && !sub {
						return true
					}
				}
			}
			for _, o := range j.outputs(k) {
				for _, named := range o.named {
					places, _ := j.places(p, named)
					for _, place := range places {
						if j.makesAt(place, dir, name != "mkdir" && name != "touch") {
							return true
						}
					}
				}
			}
		}
	}
	return false
}

// gitSubcommand returns git's subcommand, "" if there is none or it is unknown.
func gitSubcommand(words []shell.Word) string {
	for i := 1; i < len(words) && fixed(words[i]); i++ {
		switch w := words[i].Text; {
		case slices.Contains(habitsOf["git"].valued, w):
			i++
		case !strings.HasPrefix(w, "-"):
			return w
		}
	}
	return ""
}

// makesAt reports whether writing at a location may turn a directory, or one
// above it, into a repository. whole states that the location may be a directory
// that is filled.
func (j *judge) makesAt(place, dir string, whole bool) bool {
	if slices.Contains(gitFiles, filepath.Base(place)) && beneath(filepath.Dir(place), dir) {
		return true
	}
	return whole && beneath(place, dir) && !j.holdsRoot(place)
}

// holdsRoot reports whether a directory is or contains a workspace directory.
func (j *judge) holdsRoot(dir string) bool {
	return slices.ContainsFunc(j.call.anchors(), func(root string) bool { return beneath(dir, root) })
}
