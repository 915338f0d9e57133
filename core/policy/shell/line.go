// Package shell parses a bash command line into everything that it would run or
// write, with each word as bash will expand it. [Parse] returns a [Line] of
// parts. The package does not decide about them.
package shell

// Line is a parsed command line. It is immutable.
type Line struct {
	Source string
	Parts  []Part // in the order of the source, a part before those that it brings
	// Problem is the reason why the line could not be parsed completely; "" if it
	// was. Parts may then only be used to tighten.
	Problem string
	// Inputs are the files that redirections read, with or without a command.
	Inputs []Input
	// Environment are the variables that the line expands and has not set before,
	// so that their values come from the environment. "!" is one whose name is
	// unknown.
	Environment []string
	// Dotglob states that patterns may match names that begin with a dot.
	Dotglob bool
}

// Input is a file that a redirection reads.
type Input struct {
	Path Word
	Dirs []string // as in [Part]
}

// Kind is the kind of a [Part].
type Kind int

// The kinds of parts.
const (
	Command Kind = iota // a program with its arguments
	Builtin             // a builtin command that changes nothing outside of the shell, such as test or export
	Write               // a file that is written: by a redirection or by an option
	Unknown             // something unknown will run
)

// Part is one command that the line would run, or one file that it would write.
type Part struct {
	Kind Kind
	Text string // for display: the words as bash will run them, quoted where needed
	// Words are those of a Command, Builtin, or Unknown with a known start.
	// Words[0] is the program.
	Words []Word

	// Parent is the index of the part that brings this one, as timeout brings its
	// command; -1 for none. Own is the number of the parent's leading words that
	// do not refer to this part: a rule with a longer prefix names this part as
	// well.
	Parent int
	Own    int
	// Wraps marks a part that only runs its children, such as timeout or nohup:
	// without a rule of its own it is allowed if they are. A part that also
	// changes their permissions, such as sudo or ssh, is not marked.
	Wraps bool

	Path Word // of a Write: the file, relative to one of Dirs
	// Product marks a Write of the part's intended output file, such as that of
	// pandoc -o: a rule that allows the program allows it in the workspace.
	Product bool
	// Dirs are the directories in which the part may run, as written, absolute or
	// relative to the initial directory, which is ".". Empty: unknown.
	Dirs []string
	// Repository are directories whose git repository the part runs in, if Dirs
	// is unknown: it runs in the top directory of the repository of one of them,
	// as after cd "$(git rev-parse --show-toplevel)", or in the directory Below of
	// it.
	Repository []string
	Below      string
	// Moves marks a change of directory whose targets are in Dirs or Repository,
	// and not in Words.
	Moves bool

	// Raw is the command as written, with its redirections, from its program on;
	// "" for a part that is not literally in the line.
	Raw string
	// Redirects are the files and texts redirected for the part, by itself or by
	// a group around it, except for descriptors and the null device.
	Redirects []Redirect
	// Into is the index of the part that reads this one's output through a pipe;
	// 0 for none.
	Into int

	// Option marks an Unknown that may make a known program run something: a word
	// that may expand to an option, or a variable. No rule that allows covers it,
	// and it is not a command that a rule may deny.
	Option bool

	// Reason of an Unknown describes what is unknown, as a clause for display.
	// Any other part with a Reason is a command that an Unknown of the line might
	// run: it can only make the line's verdict stricter.
	Reason string
}

// Redirect is one redirection.
type Redirect struct {
	Op   string // as in bash, for example ">>"
	Word Word   // the file, or the text of <<<
}

// A Hole in [Word.Shapes] stands for a piece that only bash can expand.
const (
	HoleText   = "\U000F0001" // any text
	HoleWord   = "\U000F0002" // any text that is part of one word
	HoleName   = "\U000F0003" // any text without a slash, of the name of a file
	HoleNumber = "\U000F0004" // a number
)

// Word is one word of a command as far as it is known.
type Word struct {
	Text   string // its value if Static, else as written
	Static bool   // bash will use exactly Text
	// Candidates are possible values of a word that is not static; there may be
	// others.
	Candidates []string
	// Shapes are the possible forms of a word that is not fixed, without quotes
	// and with a hole for each unknown piece. The first is the most general; in
	// the others variables have values assigned in the line. nil: any text.
	Shapes []string
	// Pattern marks a word that bash replaces by the names of files that match
	// Text, if there are any.
	Pattern bool
	// Option marks a word of a command that is not static and may expand to an
	// option, or to several words of which one is an option. Candidates are not
	// considered.
	Option bool

	home bool // Text begins with a ~ that bash replaces by a home directory
}
