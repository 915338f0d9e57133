package extensions

import "context"

// Options say where extensions are, and which of them count. The zero value has
// none.
type Options struct {
	// Dir is the user's extensions folder, absolute. It need not exist; "": none.
	Dir string
	// Folders are more extensions, each a folder with a manifest, absolute. They are
	// not installed: what says which may be installed is not for them.
	Folders []string
	// Workspace is the folder that is worked in, absolute, and Home the person's.
	Workspace, Home string
	// Trusted says that the workspace may give settings values.
	Trusted bool
	// Off loads none at all.
	Off bool
	// Only are the names, in any case of letters, of the only ones that are active,
	// whatever else says so; "none" alone is none. nil: all that are enabled.
	Only []string
	// Disabled are names of those that are not active.
	Disabled []string
	// Allowed are regular expressions of which one must match the source of each
	// installed extension. Empty: any source will do.
	Allowed []string
	// BlockGit refuses those that were installed from a repository.
	BlockGit bool
	// ContextFiles are names of context files of an extension that names none.
	ContextFiles []string
	// Getenv looks up variables of the process; nil: there are none.
	Getenv func(name string) (string, bool)
}

// Store is the extensions folder of a person. It is safe for concurrent use, also
// by several processes.
type Store struct{ o Options }

// Open returns the store. It does no I/O.
func Open(o Options) *Store { return &Store{o: o} }

// Dir returns the extensions folder; "": there is none.
func (s *Store) Dir() string { return s.o.Dir }

// Load returns the extensions that there are, by name, those that are not active
// too. What is wrong with one loses only that one, or the part that is named. The
// error is of code cancelled.
func (s *Store) Load(ctx context.Context) ([]Extension, []Problem, error) {
	return nil, nil, nil
}
