// Package shell takes a bash command line apart into everything that it would
// run or write, each word as bash will see it. It decides nothing.
package shell

// Line is a command line taken apart. It is immutable.
type Line struct {
	Source string
	Parts  []Part // in the order of the source, a part before those that it brings along
	// Problem says why the line could not be taken apart, or not wholly; "" if
	// it was. Nothing may then be concluded from Parts but what tightens.
	Problem string
}

// Kind is what a [Part] stands for.
type Kind int

// The kinds of parts.
const (
	Command Kind = iota // a program with its arguments
	Builtin             // a command of the shell's own that changes nothing outside of it, as test or export
	Write               // a file that is written: by a redirection or by an option
	Unknown             // something will run, and what cannot be told from the line
)

// Part is one thing that the line would run or write.
type Part struct {
	Kind Kind
	Text string // for people: the words as bash will run them, quoted where needed
	// Words are those of a Command, Builtin, or Unknown with a known start.
	// Words[0] is the program.
	Words []Word

	// Parent is the index of the part that brings this one along, as timeout
	// brings its command; -1 for none. Own counts the parent's leading words
	// that do not speak of this part: a rule whose prefix is longer names this
	// part as well.
	Parent int
	Own    int
	// Wraps marks a part that only runs its children, as timeout or nohup:
	// where no rule speaks of it, it is as allowed as they are. One that also
	// changes what they may do, as sudo or ssh, is not marked.
	Wraps bool

	Path Word // of a Write: the file, relative to one of Dirs
	// Product marks a Write of the file that the part's program is there to write, as
	// that of pandoc -o: what allows the program allows it in the workspace.
	Product bool
	// Dirs are the directories that the part may run in, as written, relative to
	// where the line starts or absolute; "." is where it starts. Empty: it
	// cannot be told. Of popd they are also where it may lead.
	Dirs []string
	// Repository are directories whose repository of git the part runs in, of a part
	// whose Dirs cannot be told: it runs in the top directory of the repository of one
	// of them, as behind cd "$(git rev-parse --show-toplevel)".
	Repository []string

	// Raw is the command as spelled, with its redirections, from its program on;
	// "" of a part that does not stand in the line so.
	Raw string
	// Redirects are the files and texts that are redirected for the part, by itself
	// or by a group around it, but for descriptors and the null device.
	Redirects []Redirect
	// Into is the part that reads what this one prints, through a pipe; 0 for none.
	Into int

	// Option marks an Unknown that may make a program that is known run
	// something: a word that may come out as an option, or a variable. No rule
	// that allows covers it, and it is no command that a rule may deny.
	Option bool

	// Reason of an Unknown is what cannot be told, as a clause for people. Any
	// other part that has one is a guess at what an Unknown of the line may run:
	// it can only make the line's verdict stricter.
	Reason string
}

// Redirect is one redirection.
type Redirect struct {
	Op   string // as in bash, as ">>"
	Word Word   // the file, or the text of <<<
}

// A Hole stands in [Word.Shapes] for a piece that bash alone knows.
const (
	HoleText   = "\U000F0001" // any text
	HoleWord   = "\U000F0002" // any text that is part of one word
	HoleName   = "\U000F0003" // any text without a slash, of the name of a file
	HoleNumber = "\U000F0004" // a number
)

// Word is one word of a command as far as it can be told.
type Word struct {
	Text   string // its value if Static, else as written
	Static bool   // bash will use exactly Text
	// Candidates are values that a word that is not static may have; there may
	// be others.
	Candidates []string
	// Shapes are what a word may be that is not fixed, without quotes and with a hole
	// for each piece that is not known. The first is the most general; in the others
	// variables have values that the line assigns. nil: any text.
	Shapes []string
	// Pattern marks a word that bash replaces by the names of files that match
	// Text, if there are any.
	Pattern bool

	home bool // Text begins with a ~ that bash replaces by a home directory
}
