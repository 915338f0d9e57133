package policy

import (
	"iter"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/fettle-dev/fettle/core/confirmation"
	"github.com/fettle-dev/fettle/core/policy/shell"
)

// writesBy identifies the words of a program that may name its outputs. Files of
// redirections and of options such as sort -o are separate parts.
type writesBy int

const (
	byAny   writesBy = iota // any word; also for an unknown program
	byNone                  // no operand names an output
	byLast                  // the last operand, or the value of -t
	byFirst                 // the first operand
)

// outputRow is a row of programs, separated by blanks.
type outputRow struct {
	names string
	by    writesBy
	fills bool // it writes content, so that an unknown file requires approval

	fetches bool // it saves an address under its last name
	unpacks bool // it writes its operands without their last suffix
}

var outputRows = []outputRow{
	{names: `[ arch ack actionlint ag ascii awk b2sum base32 base64 basename bat batcat cal cat cd cksum cmp column comm
		cut date delta df diff diff3 dir dircolors dirname du echo egrep eza exa exit export expand expr factor false fd fdfind fgrep file find
		fold fmt free gawk getconf getent getfacl grep groups hadolint head hexdump host hostname id jobs join jq less
		local locate look ll ls lsattr lsblk lsof man mawk md5sum more nl nm nproc numfmt objdump od paste pgrep ping pr
		printenv printf ps pwd read readelf readlink realpath rev rg sed seq sha1sum sha224sum sha256sum sha384sum
		sha512sum shasum shellcheck shuf size sleep sort source . stat strings sum tac tail test tokei tr tree true tsort tty
		type uname unexpand uniq unset vdir wc whatis whereis which who whoami xxd xzcat yamllint yes zcat zgrep
		gsed gfind gsort ghead gtail gcat gls ggrep pushd popd dirs set shopt true : [[ return trap umask wait hash command`, by: byNone},
	{names: "cp gcp install ginstall rsync scp ditto", by: byLast, fills: true},
	{names: "mv gmv ln gln tee gtee sponge dd gdd", fills: true},
	{names: "zip", by: byFirst},
	{names: "wget wget2 aria2c axel", fetches: true},
	{names: `gzip gunzip pigz unpigz compress uncompress bzip2 bunzip2 pbzip2 lbzip2 lbunzip2 xz unxz pixz lzma unlzma zstd unzstd zstdmt
		pzstd lz4 unlz4 lz4c lzop lzip plzip lunzip lrunzip brotli unbrotli`, unpacks: true},
}

// treeBringers lists programs that write whole directory trees.
var treeBringers = wordList("cp gcp mv gmv ln gln install ginstall rsync scp ditto tar gtar bsdtar unzip 7z 7za cpio pax")

// outputsOf returns the table by program. It is parsed once.
var outputsOf = sync.OnceValue(func() map[string]*outputRow {
	rows := map[string]*outputRow{}
	for _, row := range outputRows {
		for name := range strings.FieldsSeq(row.names) {
			rows[name] = &row
		}
	}
	return rows
})

// gitReads lists git's subcommands that write no file of the work tree named by a
// word. Writing in .git does not count here.
var gitReads = wordList(`
	add annotate blame branch cat-file check-attr check-ignore commit count-objects describe diff diff-files
	diff-index diff-tree fetch for-each-ref fsck grep hash-object help log ls-files ls-remote ls-tree merge-base
	name-rev notes push range-diff reflog remote rev-list rev-parse shortlog show show-branch show-ref stage status
	symbolic-ref tag update-index update-ref var verify-commit verify-tag version whatchanged write-tree
`)

// output is a word of a command that may name an output.
type output struct {
	word  int      // its index
	named []string // the paths, as written
	// spreads is a directory in which the files of another one, whatever their
	// names, are written; "": none.
	spreads string
	fills   bool // the files there are overwritten
	hidden  bool // patterns in them match names that begin with a dot
	lost    bool // and the path is unknown
}

// outputs returns the words of a part that may name outputs; nil if neither its
// words nor its directory name a written file. Words of a command that it runs
// belong to that command's part.
func (j *judge) outputs(i int) []output {
	if j.outs == nil {
		j.outs = make([]*[]output, len(j.parts))
	}
	if j.outs[i] == nil {
		found := j.findOutputs(i)
		j.outs[i] = &found
	}
	return *j.outs[i]
}

func (j *judge) findOutputs(i int) []output {
	p := &j.parts[i]
	if p.Kind != shell.Command && p.Kind != shell.Unknown || p.Wraps && j.brings[i] || p.Option || len(p.Words) == 0 {
		return nil
	}
	words := p.Words
	name := "" // unknown
	if fixed(words[0]) {
		name = programName(words[0].Text)
	}
	row := outputsOf()[name]
	if row == nil {
		row = &outputRow{}
	}
	if row.by == byNone {
		if !strings.HasSuffix(name, "awk") || !slices.ContainsFunc(words, func(w shell.Word) bool { return strings.Contains(w.Text, "inplace") }) {
			return nil
		}
		row = &outputRow{}
	}
	words = words[:j.ownWords(i)]
	o := outputList{words: words, row: row, name: name, found: []output{}, dotglob: j.line.Dotglob, finding: j.findingFor(i)}
	if o.finding != nil && row.by != byLast {
		named := o.finding.paths
		if row.unpacks {
			named = append(slices.Clip(named), withoutSuffix(named)...)
		}
		o.found = append(o.found, output{word: len(p.Words), named: named})
	}
	if len(words) < 2 {
		return o.found
	}
	switch {
	case name == "git":
		if o.at = gitOperands(words); o.at < 0 {
			return gitOutput(words)
		}
	case slices.Contains([]string{"tar", "gtar", "bsdtar"}, name) && packs(words):
		o.row = &outputRow{by: byFirst}
		o.at = 1
		if !strings.HasPrefix(words[1].Text, "-") {
			o.at = 2 // the letters, as in: tar cf x.tar
		}
	default:
		o.at = 1
	}
	return o.list()
}

// ownWords returns the number of words of a part before the command that it runs.
func (j *judge) ownWords(i int) int {
	all := j.parts[i].Words
	if !j.brings[i] {
		return len(all)
	}
	for k := i + 1; k < len(j.parts); k++ {
		child := &j.parts[k]
		if child.Parent != i || child.Kind == shell.Write || len(child.Words) == 0 || len(child.Words) >= len(all) {
			continue
		}
		if at := len(all) - len(child.Words); slices.EqualFunc(all[at:], child.Words, func(a, b shell.Word) bool { return a.Text == b.Text }) {
			return at
		}
		for at := 1; at < len(all); at++ { // like xargs, which adds words
			if all[at].Text == child.Words[0].Text && at >= child.Own {
				return at
			}
		}
	}
	return len(all)
}

// gitOperands returns the index of the first word after git's subcommand, or -1
// if there is none.
func gitOperands(words []shell.Word) int {
	for i := 1; i < len(words); i++ {
		w := words[i]
		switch {
		case !fixed(w):
			return 1
		case slices.Contains(habitsOf["git"].valued, w.Text):
			i++
		case strings.HasPrefix(w.Text, "-"):
		case slices.Contains(gitReads(), w.Text):
			return -1
		default:
			return i + 1
		}
	}
	return -1
}

// unpacks reports whether a word makes tar unpack an archive.
func unpacks(w shell.Word) bool {
	long := strings.HasPrefix(w.Text, "--")
	return long && (strings.HasPrefix(w.Text, "--e") && !leavesOut(w.Text) || strings.HasPrefix(w.Text, "--g")) ||
		!long && strings.HasPrefix(w.Text, "-") && strings.Contains(w.Text, "x")
}

// gitOutput returns the file of an option such as --output, which many of git's
// subcommands have.
func gitOutput(words []shell.Word) []output {
	for i, w := range words {
		if strings.HasPrefix(w.Text, "--out") {
			return []output{{word: i, named: append(pathsIn(w), pathsIn(words[min(i+1, len(words)-1)])...)}}
		}
	}
	return nil
}

// packs reports whether tar creates or lists an archive.
func packs(words []shell.Word) bool {
	letters := strings.TrimLeft(words[1].Text, "-")
	if strings.HasPrefix(words[1].Text, "--") {
		letters = ""
	}
	if slices.ContainsFunc(words[1:], unpacks) {
		return false
	}
	for _, w := range words[1:] {
		switch w.Text {
		case "--create", "--list", "--append", "--update", "-c", "-t", "-r", "-u":
			return true
		}
	}
	return strings.ContainsAny(letters, "ctru") && !strings.Contains(letters, "x") && fixed(words[1])
}

// guardOutputs requires approval of a part that a rule allows and that may write
// a protected path, or an unknown file: no rule about a command is meant for
// these, except a rule that names the word, and one about write_file that allows
// the path.
func (j *judge) guardOutputs(i int, v *judged) {
	outputs := j.outputs(i)
	p := &j.parts[i]
	ask := func(place string, known bool, reason string) {
		as := j.asWriteFile([]string{place}, known)
		if as.verdict == Allow && (as.decisive().own == written || as.decisive().own == ownYolo) {
			return
		}
		v.verdict, v.reason, v.remedy = AskUser, reason, "A rule whose prefix names that path, or one that lets write_file change it, would allow it"+j.orYolo()
		v.asWrite = &Decision{Explanation: confirmation.Explanation{Rule: "protected paths", Tier: TierDefault.String(), Source: BuiltIn}}
	}
	lost, covers := "", v.covers
	for _, o := range outputs {
		if o.word < covers {
			continue
		}
		for _, named := range o.named {
			if row, place := j.protectedName(p, named, o.hidden || j.line.Dotglob); row != nil {
				if covers = j.mostCovered(i, v); o.word < covers {
					break
				}
				ask(place, true, laterReason(abridged(p.Text)+" may write", row))
				return
			}
			if row := j.protects.above(named); row != nil && slices.Contains(treeBringers(), programName(p.Words[0].Text)) {
				ask(j.firstPlace(p, named), true, laterReason(abridged(p.Text)+" may bring", row))
				return
			}
			if places, known := j.places(p, named); known && slices.ContainsFunc(places, func(place string) bool { return j.throughNewLink(i, place) }) {
				ask("", false, "It may write through a link that the line creates, and the target of the link is unknown.")
				return
			}
		}
		if place := j.firstPlace(p, o.spreads); o.spreads != "" && j.holdsRoot(place) {
			ask(filepath.Join(place, ".git"), true, "It may copy protected paths into the workspace.")
			return
		}
		if lost == "" && (o.lost || o.fills && j.relativeNowhere(p, o.named)) {
			lost = p.Words[o.word].Text
		}
	}
	if lost != "" {
		ask("", false, "The file that it writes is unknown: "+abridged(lost)+".")
		return
	}
	if outputs == nil {
		return
	}
	if row, place := j.protectedDir(p); row != nil {
		ask(place, true, laterReason(abridged(p.Text)+" may write into "+abridged(place)+", the place of", row))
	}
}

// relativeNowhere reports whether paths are relative to an unknown directory.
func (j *judge) relativeNowhere(p *shell.Part, named []string) bool {
	return len(p.Dirs) == 0 && j.start != "" && slices.ContainsFunc(named, func(name string) bool { return mayBePath(name) && !filepath.IsAbs(name) })
}

// throughNewLink reports whether a path is, or contains, a link that another part
// of the line creates.
func (j *judge) throughNewLink(i int, place string) bool {
	for k := range j.parts {
		p := &j.parts[k]
		if k == i || p.Kind != shell.Command || len(p.Words) == 0 || !slices.Contains([]string{"ln", "gln"}, programName(p.Words[0].Text)) {
			continue
		}
		for _, o := range j.outputs(k) {
			if o.word != len(p.Words)-1 {
				continue // the target of the link
			}
			for _, named := range o.named {
				links, _ := j.places(p, named)
				if slices.ContainsFunc(links, func(link string) bool { return beneath(link, place) }) {
					return true
				}
			}
		}
	}
	return false
}

// mostCovered returns the maximum number of a part's leading words named by a
// rule that allows it, of all such rules above the first that does not.
func (j *judge) mostCovered(i int, v *judged) int {
	most := v.covers
	for _, m := range j.covering(i, v) {
		most = max(most, m.words)
	}
	return most
}

// covering yields the prefixes and matches of each rule that allows a part, above
// the first that does not.
func (j *judge) covering(i int, v *judged) iter.Seq2[ref, match] {
	return func(yield func(ref, match) bool) {
		for at := v.rule; ; {
			for _, r := range j.relevant(i) {
				if r.rule == at {
					if m := j.meets(r, i); m.sure == yes && !yield(r, m) {
						return
					}
				}
			}
			out, _ := j.walkPart(i, at.at+1)
			if out.verdict() != Allow {
				return
			}
			at = out.rule
		}
	}
}

// mayWrite returns the paths of the words of the line's commands that may be
// outputs.
func (j *judge) mayWrite() []string {
	var paths []string
	for i := range j.parts {
		p := &j.parts[i]
		for _, o := range j.outputs(i) {
			for _, named := range o.named {
				if mayBePath(named) && !strings.HasPrefix(named, "-") && !strings.Contains(named, "://") {
					places, _ := j.places(p, named)
					paths = append(paths, places...)
				}
			}
		}
	}
	return paths
}

// protectedName returns the row and the location of a path of a part. With hidden,
// a pattern also matches names that begin with a dot.
func (j *judge) protectedName(p *shell.Part, named string, hidden bool) (*ProtectedPath, string) {
	if !mayBePath(named) {
		return nil, ""
	}
	if !filepath.IsAbs(named) {
		if row := j.protects.find(named, 0); row != nil {
			return row, j.firstPlace(p, named)
		}
	}
	if strings.ContainsAny(named, "*?[(") {
		if row := j.protects.mayMatch(named, hidden); row != nil {
			return row, j.firstPlace(p, named)
		}
	}
	places, _ := j.places(p, named)
	for _, place := range places {
		if row := j.leadsToProtected(place); row != nil {
			return row, place
		}
	}
	return nil, ""
}

// protectedDir returns the row of a protected directory that a part runs in.
func (j *judge) protectedDir(p *shell.Part) (*ProtectedPath, string) {
	for _, dir := range p.Dirs {
		if dir == "." && j.start == "" || dir == "" {
			continue
		}
		place := joined(j.start, dir)
		if row := j.leadsToProtected(place); row != nil {
			return row, place
		}
	}
	return nil, ""
}

// firstPlace returns a possible location of a path of a part.
func (j *judge) firstPlace(p *shell.Part, named string) string {
	if places, ok := j.places(p, named); ok {
		return places[0]
	}
	return filepath.Clean(named)
}
