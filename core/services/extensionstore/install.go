package extensionstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/extensions"
	"github.com/fettle-dev/fettle/core/fault"
)

// User is the user who approves an installation or update. Its methods are never
// called concurrently.
type User interface {
	// Agree asks for approval of an extension. The error, for example nobody_to_ask,
	// ends the installation.
	Agree(ctx context.Context, c Consent) (bool, error)
	// Value asks for the value of a setting; ok is false without a value.
	Value(ctx context.Context, s extensions.Setting) (value string, ok bool, err error)
}

// InstallRequest describes an installation.
type InstallRequest struct {
	Source     string // path of a directory, or address of a git repository
	Ref        string // branch, tag or full commit hash; "": the default branch
	Plugin     string // plugin of the marketplace at Source; "": Source is the extension
	AutoUpdate bool   // stored with the extension
	PreRelease bool   // stored with the extension
	// SkipSettings: do not ask for the values of settings.
	SkipSettings bool
	// Environ is the environment of git, as os.Environ gives it.
	Environ []string
}

// Install copies or fetches an extension, asks for approval, and installs it, enabled in
// the user's home directory. The installation is atomic: after an error or a kill
// nothing is left. Of concurrent installations of the same name one succeeds. The error
// is of code invalid_tool_params for an invalid request, policy_violation for a source
// that the settings refuse, denied_by_user, attempt_to_create_existing_file for an
// installed name, path_not_in_workspace or file_too_large for refused files,
// invalid_config for an invalid manifest, execution_failed for a failed fetch,
// cancelled, or a code of file errors.
func (s *Store) Install(ctx context.Context, r InstallRequest, user User) (extensions.Extension, error) {
	from, err := parseSource(r.Source)
	if err != nil {
		return extensions.Extension{}, err
	}
	if err := checkRef(r.Ref); err != nil {
		return extensions.Extension{}, err
	}
	if from.kind == extensions.InstallLocal && (r.Ref != "" || r.AutoUpdate || r.PreRelease) {
		return extensions.Extension{}, badSource("--ref, --auto-update and --pre-release apply to repositories only.", "Omit them, or give the address of a repository.")
	}
	if err := s.admit(from); err != nil {
		return extensions.Extension{}, err
	}
	m := extensions.InstallMetadata{Source: from.location, Type: from.kind, Ref: r.Ref, Plugin: r.Plugin, AutoUpdate: r.AutoUpdate, AllowPreRelease: r.PreRelease}
	g, err := s.stage(ctx)
	if err != nil {
		return extensions.Extension{}, err
	}
	defer g.end()
	e, err := s.candidate(ctx, g, from, m, r.Environ)
	if err != nil {
		return extensions.Extension{}, err
	}
	return s.settle(ctx, g, e, *e.Install, user, !r.SkipSettings)
}

// Link installs a directory in place: its files are not copied, and changes apply from
// the next session. The error is as that of [Store.Install].
func (s *Store) Link(ctx context.Context, path string, user User) (extensions.Extension, error) {
	from, err := parseSource(path)
	if err != nil {
		return extensions.Extension{}, err
	}
	if from.kind != extensions.InstallLocal {
		return extensions.Extension{}, badSource("Only a directory on this machine can be linked.", "Use fettle extensions install for a repository.")
	}
	if err := s.admit(from); err != nil {
		return extensions.Extension{}, err
	}
	if err := checkDir(from.location); err != nil {
		return extensions.Extension{}, err
	}
	m := extensions.InstallMetadata{Source: from.location, Type: extensions.InstallLink}
	g, err := s.stage(ctx)
	if err != nil {
		return extensions.Extension{}, err
	}
	defer g.end()
	e, err := s.loadAt(ctx, from.location, m, true)
	if err != nil {
		return extensions.Extension{}, err
	}
	if err := os.Mkdir(g.path(stagedNew), 0o755); err != nil {
		return extensions.Extension{}, unwritable(g.path(stagedNew), err)
	}
	e.InstallDir = g.path(stagedNew)
	return s.settle(ctx, g, e, m, user, false)
}

// candidate fetches an extension into the staging directory, and loads it there.
func (s *Store) candidate(ctx context.Context, g *staging, from source, m extensions.InstallMetadata, environ []string) (extensions.Extension, error) {
	dir, err := s.obtain(ctx, g, from, m.Ref, environ)
	if err != nil {
		return extensions.Extension{}, err
	}
	dir, added, err := s.choosePlugin(ctx, g, dir, from, &m, environ)
	if err != nil {
		return extensions.Extension{}, err
	}
	if err := hasManifest(dir, from); err != nil && added == nil {
		return extensions.Extension{}, err
	}
	if err := copyTree(ctx, dir, g.path(stagedNew), usualLimits); err != nil {
		return extensions.Extension{}, asFrom(err, dir, from.location)
	}
	if err := complete(g.path(stagedNew), added); err != nil {
		return extensions.Extension{}, err
	}
	for _, own := range installFiles() { // of another installation
		if err := os.RemoveAll(filepath.Join(g.path(stagedNew), own)); err != nil {
			return extensions.Extension{}, unwritable(g.path(stagedNew), err)
		}
	}
	for _, name := range []string{stagedSource, stagedPlugin} {
		_ = removeAll(g.path(name)) // frees space; otherwise the end of the installation removes it
	}
	return s.loadAt(ctx, g.path(stagedNew), m, true)
}

// asFrom replaces the staging directory in an error by the source.
func asFrom(err error, dir, location string) error {
	f := fault.As(err)
	if f == nil || dir == location {
		return err
	}
	named := *f
	named.Message = strings.ReplaceAll(f.Message, dir, location)
	return &named
}

// hasManifest refuses a directory without a manifest before it is copied.
func hasManifest(dir string, from source) error {
	for _, name := range manifestNames() {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			return nil
		}
	}
	return fault.New(fault.InvalidConfig, "extensions.install", fmt.Sprintf("%s is not an extension: it has no file %s.", from.location, strings.Join(manifestNames(), " or ")),
		"Give the directory or repository with the manifest at its top.")
}

// loadAt loads the extension in a directory that is not installed; literal is that of
// [Options].
func (s *Store) loadAt(ctx context.Context, dir string, m extensions.InstallMetadata, literal bool) (extensions.Extension, error) {
	if err := ctx.Err(); err != nil {
		return extensions.Extension{}, cancelled(err)
	}
	e, problems := Open(Options{ContextFiles: s.o.ContextFiles, LooksSecret: s.o.LooksSecret, literal: literal}).read(dir, nil)
	for _, p := range problems {
		if p.IsError() {
			p.Path = relativeTo(dir, p.Path)
			return extensions.Extension{}, fault.New(fault.InvalidConfig, "extensions.install", fmt.Sprintf("The extension in %s is invalid: %s", m.Source, withoutRemedy(p)), p.Remedy)
		}
	}
	e.InstallDir, e.Install, e.ID = dir, &m, idOf(e.Name, &m)
	return e, nil
}

func withoutRemedy(p fault.Problem) string {
	p.Remedy = ""
	return p.String()
}

// relativeTo returns a path relative to a directory, if it is below it.
func relativeTo(dir, path string) string {
	if rel, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(rel) && path != "" {
		return rel
	}
	return path
}

// settle asks for approval, and moves the staged extension into place.
func (s *Store) settle(ctx context.Context, g *staging, e extensions.Extension, m extensions.InstallMetadata, user User, ask bool) (extensions.Extension, error) {
	if err := s.free(e.Name); err != nil {
		return extensions.Extension{}, err
	}
	c, err := s.consentOf(ctx, e, m.Source)
	if err != nil {
		return extensions.Extension{}, err
	}
	if err := agree(ctx, user, c); err != nil {
		return extensions.Extension{}, err
	}
	given := map[string]string{}
	if ask {
		if given, err = askSettings(ctx, user, e.Settings); err != nil {
			return extensions.Extension{}, err
		}
	}
	hash := ""
	if m.Type != extensions.InstallLink {
		if hash, err = treeHash(ctx, e.InstallDir); err != nil {
			return extensions.Extension{}, err
		}
	}
	unlock, err := s.lock(ctx)
	if err != nil {
		return extensions.Extension{}, err
	}
	defer unlock()
	if err := s.free(e.Name); err != nil { // a concurrent installation was faster
		return extensions.Extension{}, err
	}
	if err := s.prepare(ctx, g, e, m, given); err != nil {
		return extensions.Extension{}, s.takeBack(ctx, e, err)
	}
	if err := s.enableAnew(ctx, e.Name); err != nil {
		return extensions.Extension{}, s.takeBack(ctx, e, err)
	}
	if hash != "" {
		if err := s.setRecord(ctx, e.Name, &integrityRecord{Hash: hash}); err != nil {
			return extensions.Extension{}, s.takeBack(ctx, e, err)
		}
	}
	place := filepath.Join(s.o.Dir, e.Name)
	if err := os.Rename(e.InstallDir, place); err != nil {
		return extensions.Extension{}, s.takeBack(ctx, e, unwritable(place, err))
	}
	return s.placed(e, place), nil
}

// placed returns an extension with the paths of its final directory.
func (s *Store) placed(e extensions.Extension, place string) extensions.Extension {
	if e.Path == e.InstallDir {
		e.Path = place
	}
	e.InstallDir = place
	return e
}

// prepare writes the metadata and the values of settings into the staged extension.
func (s *Store) prepare(ctx context.Context, g *staging, e extensions.Extension, m extensions.InstallMetadata, given map[string]string) error {
	if err := writeInstall(e.InstallDir, m); err != nil {
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
			if err := s.SetSetting(ctx, e, setting.EnvVar, value, extensions.ScopeUser); err != nil {
				return err
			}
		}
	}
	return nil
}

// enableAnew removes the enablement rules of an earlier extension with that name.
func (s *Store) enableAnew(ctx context.Context, name string) error {
	if err := s.forgetEnablement(ctx, name); err != nil {
		return err
	}
	if s.o.Home == "" {
		return nil // it is enabled by default
	}
	return s.SetEnabled(ctx, name, extensions.ScopeUser, true)
}

// takeBack removes the records outside of the extension's directory after a failed
// installation. It returns its argument err.
func (s *Store) takeBack(ctx context.Context, e extensions.Extension, because error) error {
	ctx = context.WithoutCancel(ctx)
	_ = s.forgetEnablement(ctx, e.Name) // the first error is returned
	_ = s.setRecord(ctx, e.Name, nil)
	if !s.hasID(e.ID) {
		_ = s.forgetSettings(ctx, e.ID)
	}
	return because
}

// free refuses the name of an installed extension, in any letter case.
func (s *Store) free(name string) error {
	entries, err := os.ReadDir(s.o.Dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return unreadable(s.o.Dir, err)
	}
	at := slices.IndexFunc(entries, func(entry fs.DirEntry) bool { return strings.EqualFold(entry.Name(), name) })
	if at < 0 {
		return nil
	}
	existing := entries[at].Name()
	remedy := fmt.Sprintf("Update it with fettle extensions update %s, or uninstall it first.", existing)
	if existing != name {
		remedy = fmt.Sprintf("Uninstall %s first, or ask the author of this one to rename it: names are compared without regard to case.", existing)
	}
	return fault.New(fault.AttemptToCreateExist, "extensions.install", fmt.Sprintf("The extension %s exists in %s.", existing, s.o.Dir), remedy)
}

// agree asks for approval, and returns an error if it is refused.
func agree(ctx context.Context, user User, c Consent) error {
	agreed, err := user.Agree(ctx, c)
	switch {
	case ctx.Err() != nil:
		return cancelled(ctx.Err())
	case err != nil:
		return err
	case !agreed:
		return fault.New(fault.DeniedByUser, "extensions.install", notAgreed(c), "")
	}
	return nil
}

// askSettings asks for values, by variable.
func askSettings(ctx context.Context, user User, wanted []extensions.Setting) (map[string]string, error) {
	given := map[string]string{}
	for _, setting := range wanted {
		value, ok, err := user.Value(ctx, setting)
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

func notAgreed(c Consent) string {
	if c.skills {
		return "No skill was installed: you did not agree."
	}
	return fmt.Sprintf("The extension %s is unchanged: you did not agree.", c.Name)
}
