package extensions

import (
	"context"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/fault"
)

// Options say where extensions are, and which of them count. The zero value has
// none.
type Options struct {
	// Dir is the user's extensions directory, absolute. It need not exist; "": none.
	Dir string
	// Folders are more extensions, each a directory with a manifest, absolute. They are
	// not installed: what says which may be installed is not for them.
	Folders []string
	// Workspace is the directory that is worked in, absolute, and Home the person's.
	Workspace, Home string
	// Trusted says that the workspace may give settings values.
	Trusted bool
	// Off loads none at all.
	Off bool
	// Only are the names, in any case of letters, of the only ones that are active,
	// whatever else says so; "none" alone is none. nil: all that are enabled.
	Only []string
	// Disabled are names, in any case of letters, of those that are not active.
	Disabled []string
	// Switched says of an extension whether a person has switched it, and how, for a
	// session: it goes before the others. nil: none is.
	Switched func(name string) (on, switched bool)
	// Allowed are regular expressions of which one must match the source of each
	// installed extension. Empty: any source will do.
	Allowed []string
	// BlockGit refuses those that were installed from a repository.
	BlockGit bool
	// ContextFiles are names of context files of an extension that names none.
	ContextFiles []string
	// Getenv looks up variables of the process; nil: there are none.
	Getenv func(name string) (string, bool)
	// LooksSecret says whether a variable, by its name or by a value that it has, is
	// a secret. A setting that is one is sensitive whatever its manifest says, and
	// takes its value from what was given for the extension alone: naming a key of
	// the person's does not give it to whoever names it. nil: none is.
	LooksSecret func(name, value string) bool
	// Hooks returns the hooks of an extension as sessions read them, so that nobody
	// agrees to others than those that run. nil: none are named.
	Hooks func(e Extension) []HookPart
	// Rules finds what is wrong with the rules of an extension, so that who installs
	// one knows which of them do not count. nil: nothing is.
	Rules func(ctx context.Context, e Extension) []fault.Problem

	// literal refuses names of context files that depend on more than where the
	// extension lies, as no session may use what they lead to.
	literal bool
}

// noExtension, among Options.Only, is none.
const noExtension = "none"

// maxExtensions is how many entries of the extensions directory are looked at.
const maxExtensions = 1000

// Store is the extensions directory of a person. It is safe for concurrent use, also
// by several processes.
type Store struct{ o Options }

// Open returns the store. It does no I/O.
func Open(o Options) *Store { return &Store{o: o} }

// Dir returns the extensions directory; "": there is none.
func (s *Store) Dir() string { return s.o.Dir }

// Load returns the extensions that there are, by name, those that are not active
// too. What is wrong with one loses only that one, or the part that is named; of
// two with one name both are lost. The error is of code cancelled.
func (s *Store) Load(ctx context.Context) ([]Extension, []fault.Problem, error) {
	if s.o.Off {
		return nil, nil, nil
	}
	l := &loading{s: s}
	l.begin()
	for _, folder := range l.folders() {
		if err := ctx.Err(); err != nil {
			return nil, nil, fault.Wrap(fault.Cancelled, "extensions.load", "Loading the extensions was cancelled.", "", err)
		}
		l.load(folder)
	}
	l.refuseTwins()
	slices.SortStableFunc(l.found, func(a, b Extension) int { return strings.Compare(a.Name, b.Name) })
	l.tellOfUnknown()
	return l.found, l.problems, nil
}

// Read returns the extension in a directory, not active, as it would be were it
// installed so; install may be nil. If one of the problems is Lost it cannot be
// used.
func (s *Store) Read(folder string, install *InstallMetadata) (Extension, []fault.Problem) {
	l := &loading{s: s}
	if s.o.Dir != "" {
		l.secrets, _ = s.readSecrets() // whoever loads is told
	}
	e, _ := l.read(folder, install)
	return e, l.problems
}
