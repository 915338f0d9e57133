package extensionstore

import (
	"context"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/extensions"
	"github.com/fettle-dev/fettle/core/fault"
)

// Options locate extensions and select the active ones. The zero value has none.
type Options struct {
	// Dir is the user's extensions directory, absolute. It need not exist; "": none.
	Dir string
	// Dirs are additional extensions, each a directory with a manifest, absolute.
	// They are not installed, so restrictions on sources do not apply.
	Dirs []string
	// Workspace is the working directory and Home the user's home directory, both
	// absolute.
	Workspace, Home string
	// Trusted: the workspace may set values of settings.
	Trusted bool
	// Off disables all extensions.
	Off bool
	// Only are the names, in any letter case, of the only active extensions, in spite of
	// all other options; "none" alone means no extension. nil: all enabled ones.
	Only []string
	// Disabled are the names, in any letter case, of disabled extensions.
	Disabled []string
	// Switched returns whether the user has enabled or disabled an extension for a
	// session; it takes precedence over the other options. nil: no extension.
	Switched func(name string) (on, switched bool)
	// Allowed are regular expressions, one of which must match the source of each
	// installed extension. Empty: any source.
	Allowed []string
	// BlockGit refuses extensions from repositories.
	BlockGit bool
	// ContextFiles are the default names of context files.
	ContextFiles []string
	// Getenv looks up process variables; nil: there are none.
	Getenv func(name string) (string, bool)
	// LooksSecret reports whether a variable is secret, by its name or by one of its
	// values. Such a setting is sensitive in spite of the manifest, and receives only
	// the value that was given for the extension, so that an extension cannot read a key
	// of the user by naming it. nil: no variable is.
	LooksSecret func(name, value string) bool
	// Hooks returns the hooks of an extension as sessions read them, so that the user
	// approves the hooks that will run. nil: no hooks are listed.
	Hooks func(e extensions.Extension) []HookPart
	// Rules returns the problems in the policy rules of an extension, which are shown on
	// installation. nil: none.
	Rules func(ctx context.Context, e extensions.Extension) []fault.Problem

	// Omitted returns the parts of an extension that sessions do not load, with absolute
	// paths. nil: none.
	Omitted func(ctx context.Context, e extensions.Extension) []extensions.Omitted

	// literal refuses names of context files that depend on variables other than the
	// extension's path, because no session may use their targets.
	literal bool
}

// noExtension, in Options.Only, means no extension.
const noExtension = "none"

// maxExtensions bounds the entries of the extensions directory that are read.
const maxExtensions = 1000

// Store is the extensions directory of a user. It is safe for concurrent use, also by
// several processes.
type Store struct{ o Options }

// Open returns the store. It does no I/O.
func Open(o Options) *Store { return &Store{o: o} }

// Load returns the extensions, sorted by name, including inactive ones. A problem
// affects only its extension, or the named part of it; of two with one name both are
// dropped. The error is of code cancelled.
func (s *Store) Load(ctx context.Context) ([]extensions.Extension, []fault.Problem, error) {
	if s.o.Off {
		return nil, nil, nil
	}
	l := &loading{s: s}
	l.begin()
	for _, dir := range l.dirs() {
		if err := ctx.Err(); err != nil {
			return nil, nil, fault.Wrap(fault.Cancelled, "extensions.load", "Loading the extensions was cancelled.", "", err)
		}
		l.load(dir)
	}
	l.refuseTwins()
	slices.SortStableFunc(l.found, func(a, b extensions.Extension) int { return strings.Compare(a.Name, b.Name) })
	l.tellOfUnknown()
	return l.found, l.problems, nil
}

// read returns the extension in a directory as if it were installed with install, which
// may be nil, but not active. If one of the problems is Lost it is invalid.
func (s *Store) read(dir string, install *extensions.InstallMetadata) (extensions.Extension, []fault.Problem) {
	l := &loading{s: s}
	if s.o.Dir != "" {
		l.secrets, _ = s.readSecrets() // Load reports it
	}
	e, _ := l.read(dir, install)
	return e, l.problems
}
