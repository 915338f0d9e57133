package extensions

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/fault"
)

// Person is asked while an extension is installed or updated. Its methods are
// called one after the other.
type Person interface {
	// Agree asks whether an extension may do what it says. The error is one that ends
	// the installation, as nobody_to_ask.
	Agree(ctx context.Context, c Consent) (bool, error)
	// Value asks for the value of a setting; ok is false where none is given.
	Value(ctx context.Context, s Setting) (value string, ok bool, err error)
}

// InstallRequest says what to install.
type InstallRequest struct {
	Source     string // path of a directory, or address of a git repository
	Ref        string // branch, tag or whole commit hash; "": the repository's own choice
	AutoUpdate bool   // kept with the extension
	PreRelease bool   // kept with the extension
	// SkipSettings has nobody asked for the values of settings.
	SkipSettings bool
	// Environ is the environment of git, as os.Environ gives it.
	Environ []string
}

// Install copies or fetches an extension, has the person agree to what it
// will be able to do, and makes it one of those that are installed, enabled in
// the person's home directory, in one step: whatever fails or is killed before that
// leaves nothing behind (EX-03). Of several at once that want the same name one
// wins. The error is of code invalid_tool_params for a request that makes no
// sense, policy_violation for a source that settings refuse, denied_by_user,
// attempt_to_create_existing_file for a name that is taken, path_not_in_workspace or
// file_too_large for files that are refused, invalid_config for a manifest that
// cannot be used, execution_failed for a repository that did not come, cancelled,
// or one of files.
func (s *Store) Install(ctx context.Context, r InstallRequest, person Person) (Extension, error) {
	from, err := parseSource(r.Source)
	if err != nil {
		return Extension{}, err
	}
	if err := checkRef(r.Ref); err != nil {
		return Extension{}, err
	}
	if from.kind == InstallLocal && (r.Ref != "" || r.AutoUpdate || r.PreRelease) {
		return Extension{}, badSource("A directory has no ref, no releases and no updates of its own.", "Leave --ref, --auto-update and --pre-release out, or give the address of a repository.")
	}
	if err := s.admit(from); err != nil {
		return Extension{}, err
	}
	m := InstallMetadata{Source: from.location, Type: from.kind, Ref: r.Ref, AutoUpdate: r.AutoUpdate, AllowPreRelease: r.PreRelease}
	g, err := s.stage(ctx)
	if err != nil {
		return Extension{}, err
	}
	defer g.end()
	e, err := s.candidate(ctx, g, from, m, r.Environ)
	if err != nil {
		return Extension{}, err
	}
	return s.settle(ctx, g, e, m, person, !r.SkipSettings)
}

// Link makes a directory one of the extensions that are installed; its files stay
// where they are, and changes of them hold from the next session on. The error is
// as that of [Store.Install].
func (s *Store) Link(ctx context.Context, path string, person Person) (Extension, error) {
	from, err := parseSource(path)
	if err != nil {
		return Extension{}, err
	}
	if from.kind != InstallLocal {
		return Extension{}, badSource("Only a directory on this machine can be linked.", "Use fettle extensions install for a repository.")
	}
	if err := s.admit(from); err != nil {
		return Extension{}, err
	}
	if err := checkFolder(from.location); err != nil {
		return Extension{}, err
	}
	m := InstallMetadata{Source: from.location, Type: InstallLink}
	g, err := s.stage(ctx)
	if err != nil {
		return Extension{}, err
	}
	defer g.end()
	e, err := s.loadAt(ctx, from.location, m, true)
	if err != nil {
		return Extension{}, err
	}
	if err := os.Mkdir(g.path(stagedNew), 0o755); err != nil {
		return Extension{}, unwritable(g.path(stagedNew), err)
	}
	e.Folder = g.path(stagedNew)
	return s.settle(ctx, g, e, m, person, false)
}

// candidate fetches an extension into the directory of an installation, and loads it
// there.
func (s *Store) candidate(ctx context.Context, g *staging, from source, m InstallMetadata, environ []string) (Extension, error) {
	folder := from.location
	if from.kind == InstallGit {
		folder = g.path(stagedSource)
		if err := fetch(ctx, from, m.Ref, folder, environ); err != nil {
			return Extension{}, err
		}
	} else if err := checkFolder(folder); err != nil {
		return Extension{}, err
	}
	if err := hasManifest(folder, from); err != nil {
		return Extension{}, err
	}
	if err := copyTree(ctx, folder, g.path(stagedNew), usualLimits); err != nil {
		return Extension{}, asFrom(err, folder, from.location)
	}
	for _, own := range InstallFiles() { // of another installation
		if err := os.RemoveAll(filepath.Join(g.path(stagedNew), own)); err != nil {
			return Extension{}, unwritable(g.path(stagedNew), err)
		}
	}
	if from.kind == InstallGit {
		_ = removeAll(folder) // room; the end of the installation removes it else
	}
	return s.loadAt(ctx, g.path(stagedNew), m, true)
}

// asFrom names in an error, in the place of the directory that something was fetched
// to, where it was fetched from.
func asFrom(err error, folder, location string) error {
	f := fault.As(err)
	if f == nil || folder == location {
		return err
	}
	named := *f
	named.Message = strings.ReplaceAll(f.Message, folder, location)
	return &named
}

// hasManifest refuses a directory that is no extension before it is copied.
func hasManifest(folder string, from source) error {
	for _, name := range ManifestNames() {
		if _, err := os.Lstat(filepath.Join(folder, name)); err == nil {
			return nil
		}
	}
	return fault.New(fault.InvalidConfig, "extensions.install", fmt.Sprintf("%s is no extension: it has no file %s.", from.location, strings.Join(ManifestNames(), " or ")),
		"Give the directory or repository that the manifest lies at the top of.")
}

// loadAt loads the extension in a directory that is not among those installed; literal
// is that of [Options].
func (s *Store) loadAt(ctx context.Context, folder string, m InstallMetadata, literal bool) (Extension, error) {
	if err := ctx.Err(); err != nil {
		return Extension{}, cancelled(err)
	}
	e, problems := Open(Options{ContextFiles: s.o.ContextFiles, LooksSecret: s.o.LooksSecret, literal: literal}).Read(folder, nil)
	for _, p := range problems {
		if p.IsError() {
			p.Path = relativeTo(folder, p.Path)
			return Extension{}, fault.New(fault.InvalidConfig, "extensions.install", fmt.Sprintf("The extension in %s cannot be used: %s", m.Source, withoutRemedy(p)), p.Remedy)
		}
	}
	e.Folder, e.Install, e.ID = folder, &m, IDOf(e.Name, &m)
	return e, nil
}

func withoutRemedy(p fault.Problem) string {
	p.Remedy = ""
	return p.String()
}

// relativeTo is a path as seen from a directory, if it lies below.
func relativeTo(folder, path string) string {
	if rel, err := filepath.Rel(folder, path); err == nil && filepath.IsLocal(rel) && path != "" {
		return rel
	}
	return path
}

// settle asks the person, and puts what was staged into its place.
func (s *Store) settle(ctx context.Context, g *staging, e Extension, m InstallMetadata, person Person, ask bool) (Extension, error) {
	if err := s.free(e.Name); err != nil {
		return Extension{}, err
	}
	c, err := s.consentOf(ctx, e, m.Source)
	if err != nil {
		return Extension{}, err
	}
	if err := agree(ctx, person, c); err != nil {
		return Extension{}, err
	}
	given := map[string]string{}
	if ask {
		if given, err = askSettings(ctx, person, e.Settings); err != nil {
			return Extension{}, err
		}
	}
	hash := ""
	if m.Type != InstallLink {
		if hash, err = treeHash(ctx, e.Folder); err != nil {
			return Extension{}, err
		}
	}
	unlock, err := s.lock(ctx)
	if err != nil {
		return Extension{}, err
	}
	defer unlock()
	if err := s.free(e.Name); err != nil { // another has been quicker
		return Extension{}, err
	}
	if err := s.prepare(ctx, g, e, m, given); err != nil {
		return Extension{}, s.takeBack(ctx, e, err)
	}
	if err := s.enableAnew(ctx, e.Name); err != nil {
		return Extension{}, s.takeBack(ctx, e, err)
	}
	if hash != "" {
		if err := s.setRecord(ctx, e.Name, &integrityRecord{Hash: hash}); err != nil {
			return Extension{}, s.takeBack(ctx, e, err)
		}
	}
	place := filepath.Join(s.o.Dir, e.Name)
	if err := os.Rename(e.Folder, place); err != nil {
		return Extension{}, s.takeBack(ctx, e, unwritable(place, err))
	}
	return s.placed(e, place), nil
}

// placed is an extension once its directory has become another.
func (s *Store) placed(e Extension, place string) Extension {
	if e.Path == e.Folder {
		e.Path = place
	}
	e.Folder = place
	return e
}

// prepare writes into what was staged how it is installed, and the values of its
// settings.
func (s *Store) prepare(ctx context.Context, g *staging, e Extension, m InstallMetadata, given map[string]string) error {
	if err := WriteInstall(e.Folder, m); err != nil {
		return err
	}
	if err := g.note(stagedName, e.Name); err != nil {
		return err
	}
	if len(given) == 0 {
		return nil
	}
	if err := g.note(stagedID, e.ID); err != nil {
		return err
	}
	for _, setting := range e.Settings {
		if value, has := given[setting.EnvVar]; has {
			if err := s.SetSetting(ctx, e, setting.EnvVar, value, ScopeUser); err != nil {
				return err
			}
		}
	}
	return nil
}

// enableAnew forgets what was said of an earlier extension of that name.
func (s *Store) enableAnew(ctx context.Context, name string) error {
	if err := s.ForgetEnablement(ctx, name); err != nil {
		return err
	}
	if s.o.Home == "" {
		return nil // it is active as long as nobody says otherwise
	}
	return s.SetEnabled(ctx, name, ScopeUser, true)
}

// takeBack forgets what is kept outside of the directory of an extension that is not
// installed after all. It returns the error that it was given.
func (s *Store) takeBack(ctx context.Context, e Extension, because error) error {
	ctx = context.WithoutCancel(ctx)
	_ = s.ForgetEnablement(ctx, e.Name) // the first error is the one to tell
	_ = s.setRecord(ctx, e.Name, nil)
	if !s.hasID(e.ID) {
		_ = s.ForgetSettings(ctx, e.ID)
	}
	return because
}

// free refuses a name that an extension has, in any case of letters.
func (s *Store) free(name string) error {
	entries, err := os.ReadDir(s.o.Dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return unreadable(s.o.Dir, err)
	}
	at := slices.IndexFunc(entries, func(entry fs.DirEntry) bool { return strings.EqualFold(entry.Name(), name) })
	if at < 0 {
		return nil
	}
	taken := entries[at].Name()
	remedy := fmt.Sprintf("Bring it up to date with fettle extensions update %s, or uninstall it first.", taken)
	if taken != name {
		remedy = fmt.Sprintf("Uninstall %s first, or have the author of this one rename it: names that differ in the case of letters alone are one.", taken)
	}
	return fault.New(fault.AttemptToCreateExist, "extensions.install", fmt.Sprintf("There is an extension %s in %s already.", taken, s.o.Dir), remedy)
}

// agree asks the person, and refuses unless they agree.
func agree(ctx context.Context, person Person, c Consent) error {
	agreed, err := person.Agree(ctx, c)
	switch {
	case ctx.Err() != nil:
		return cancelled(ctx.Err())
	case err != nil:
		return err
	case !agreed:
		return fault.New(fault.DeniedByUser, "extensions.install", fmt.Sprintf("The extension %s is left as it was: you did not agree.", c.Name), "")
	}
	return nil
}

// askSettings asks for values, by variable.
func askSettings(ctx context.Context, person Person, wanted []Setting) (map[string]string, error) {
	given := map[string]string{}
	for _, setting := range wanted {
		value, ok, err := person.Value(ctx, setting)
		switch {
		case ctx.Err() != nil:
			return nil, cancelled(ctx.Err())
		case err != nil:
			return nil, err
		case ok:
			given[setting.EnvVar] = value
		}
	}
	return given, nil
}
