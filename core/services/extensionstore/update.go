package extensionstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/fettle-dev/fettle/core/extensions"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/internal/lockedfile"
)

// Updated is the result of an update.
type Updated struct {
	Extension extensions.Extension // the current version
	From      string               // the previous version
	Changed   bool                 // it has been replaced
	// NewSettings are the new settings. The user was asked for their values.
	NewSettings []extensions.Setting
}

// Update updates an installed extension from its source, or from the new source in its
// manifest. Its files must be unchanged since the installation. The user is asked for
// approval only if the parts or the source have changed, and for values of new settings;
// other values are preserved. The old version is replaced atomically. A directory with
// the installed version, and a repository with the same files, change nothing. The error
// is as that of [Store.Install], file_changed_since_read for a modified extension, and
// invalid_config for one that cannot be updated.
func (s *Store) Update(ctx context.Context, e extensions.Extension, user User, environ []string) (Updated, error) {
	if err := s.updatable(e); err != nil {
		return Updated{}, err
	}
	if err := s.stillThere(e); err != nil {
		return Updated{}, err
	}
	before, err := s.verify(ctx, e)
	if err != nil {
		return Updated{}, err
	}
	g, err := s.stage(ctx)
	if err != nil {
		return Updated{}, err
	}
	defer g.end()
	newer, err := s.newer(ctx, g, e, environ)
	if err != nil {
		return Updated{}, err
	}
	if err := s.stillThere(e); err != nil {
		return Updated{}, err
	}
	same, after := Updated{Extension: e, From: e.Version}, ""
	if newer.Install.Type == extensions.InstallLocal && newer.Version == e.Version {
		return same, nil
	}
	if after, err = treeHash(ctx, newer.InstallDir); err != nil || after == before {
		return same, err
	}
	if newer.Name != e.Name {
		return Updated{}, fault.New(fault.InvalidConfig, "extensions.update", fmt.Sprintf("The extension %s is called %s in its new version.", e.Name, newer.Name),
			"Uninstall it and install the new one if intended.")
	}
	asked, given, err := s.askAgain(ctx, e, newer, user)
	if err != nil {
		return Updated{}, err
	}
	if newer, err = s.swap(ctx, g, e, newer, before, after, given); err != nil {
		return Updated{}, err
	}
	return Updated{Extension: newer, From: e.Version, Changed: true, NewSettings: asked}, nil
}

// stillThere refuses an extension that has been uninstalled in the meantime.
func (s *Store) stillThere(e extensions.Extension) error {
	if _, err := os.Lstat(e.InstallDir); !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return fault.New(fault.InvalidConfig, "extensions.update", fmt.Sprintf("The extension %s was uninstalled in the meantime, so it is not updated.", e.Name), "Install it again if intended.")
}

// updatable refuses an extension without a source.
func (s *Store) updatable(e extensions.Extension) error {
	why, remedy := "", ""
	switch {
	case e.InstallDir == "" || e.Install == nil:
		why, remedy = "its source is unknown", "Install it again from its source."
	case e.Install.Type == extensions.InstallLink:
		why, remedy = "it is linked, so changes in "+e.Path+" apply without an update", ""
	}
	if why == "" {
		return nil
	}
	return fault.New(fault.InvalidConfig, "extensions.update", fmt.Sprintf("The extension %s cannot be updated: %s.", e.Name, why), remedy)
}

// newer fetches the current version of the source: from the new source if the manifest
// has one that is reachable and allowed.
func (s *Store) newer(ctx context.Context, g *staging, e extensions.Extension, environ []string) (extensions.Extension, error) {
	m := *e.Install
	if e.MigratedTo != "" && e.MigratedTo != m.Source {
		moved := m
		from, err := parseSource(e.MigratedTo)
		if err == nil && from.kind == extensions.InstallGit {
			moved.Source, moved.Type, moved.Ref = from.location, from.kind, ""
			found, err := s.fetchNewer(ctx, g, from, moved, environ)
			if err == nil || ctx.Err() != nil {
				return found, err
			}
			for _, name := range []string{stagedSource, stagedPlugin, stagedNew} {
				if err := removeAll(g.path(name)); err != nil {
					return extensions.Extension{}, unwritable(g.path(name), err)
				}
			}
		}
	}
	from, err := parseSource(m.Source)
	if err != nil {
		return extensions.Extension{}, err
	}
	return s.fetchNewer(ctx, g, from, m, environ)
}

func (s *Store) fetchNewer(ctx context.Context, g *staging, from source, m extensions.InstallMetadata, environ []string) (extensions.Extension, error) {
	if err := s.admit(from); err != nil {
		return extensions.Extension{}, err
	}
	m.Type, m.ReleaseTag = from.kind, ""
	return s.candidate(ctx, g, from, m, environ)
}

// askAgain asks for approval of the changes.
func (s *Store) askAgain(ctx context.Context, e, newer extensions.Extension, user User) (asked []extensions.Setting, given map[string]string, err error) {
	before, err := s.loadAt(ctx, e.InstallDir, *e.Install, false) // as the new one was read: without expansion
	if err != nil {
		return nil, nil, err
	}
	old, err := s.consentOf(ctx, before, e.Install.Source)
	if err != nil {
		return nil, nil, err
	}
	now, err := s.consentOf(ctx, newer, newer.Install.Source)
	if err != nil {
		return nil, nil, err
	}
	if !now.same(old) {
		now.Update = true
		if err := agree(ctx, user, now); err != nil {
			return nil, nil, err
		}
	}
	for _, setting := range newer.Settings {
		if !slices.ContainsFunc(e.Settings, func(o extensions.Setting) bool { return o.EnvVar == setting.EnvVar && o.Sensitive == setting.Sensitive }) {
			asked = append(asked, setting)
		}
	}
	given, err = askSettings(ctx, user, asked)
	return asked, given, err
}

// swap replaces the old version by the new one, with the values of its settings.
func (s *Store) swap(ctx context.Context, g *staging, e, newer extensions.Extension, before, after string, given map[string]string) (extensions.Extension, error) {
	unlock, err := s.lock(ctx)
	if err != nil {
		return extensions.Extension{}, err
	}
	defer unlock()
	if err := s.stillThere(e); err != nil {
		return extensions.Extension{}, err
	}
	if now, err := treeHash(ctx, e.InstallDir); err != nil || now != before {
		return extensions.Extension{}, fault.Wrap(fault.FileChangedSinceRead, "extensions.update", fmt.Sprintf("The extension %s was changed while its update was fetched; nothing was done.", e.Name), "Run the update again.", err)
	}
	if err := copyEnv(e.InstallDir, newer.InstallDir); err != nil {
		return extensions.Extension{}, err
	}
	if err := s.prepare(ctx, g, newer, *newer.Install, nil); err != nil {
		return extensions.Extension{}, err
	}
	if err := s.setRecord(ctx, filepath.Base(e.InstallDir), &integrityRecord{Hash: before, Next: after}); err != nil {
		return extensions.Extension{}, err
	}
	if err := replaceDir(newer.InstallDir, e.InstallDir, g.path(stagedOld)); err != nil {
		return extensions.Extension{}, unwritable(e.InstallDir, err)
	}
	done := context.WithoutCancel(ctx) // the update is complete
	newer = s.placed(newer, e.InstallDir)
	if err := s.setRecord(done, filepath.Base(e.InstallDir), &integrityRecord{Hash: after}); err != nil {
		return newer, err
	}
	return newer, s.carryOver(done, e, newer, given)
}

// carryOver removes the values of removed settings, and preserves the others.
func (s *Store) carryOver(ctx context.Context, e, newer extensions.Extension, given map[string]string) error {
	var all []error
	for _, setting := range e.Settings {
		if !slices.ContainsFunc(newer.Settings, func(n extensions.Setting) bool { return n.EnvVar == setting.EnvVar && n.Sensitive == setting.Sensitive }) {
			all = append(all, s.UnsetSetting(ctx, e, setting.EnvVar, extensions.ScopeUser))
		}
	}
	for _, setting := range newer.Settings {
		if value, has := given[setting.EnvVar]; has {
			all = append(all, s.SetSetting(ctx, newer, setting.EnvVar, value, extensions.ScopeUser))
		}
	}
	return errors.Join(all...)
}

// copyEnv copies the values of settings to the new version.
func copyEnv(from, to string) error {
	data, err := lockedfile.Read(filepath.Join(from, envFile), maxState)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return unreadable(filepath.Join(from, envFile), err)
	}
	path := filepath.Join(to, envFile)
	if err := os.RemoveAll(path); err != nil {
		return unwritable(path, err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		return unwritable(path, err)
	}
	return nil
}

// moveAround replaces a directory on systems that cannot exchange two. After a kill in
// between, the next installation restores the directory.
func moveAround(from, place, away string) error {
	if err := os.Rename(place, away); err != nil {
		return err
	}
	if err := os.Rename(from, place); err != nil {
		_ = os.Rename(away, place) // the first error is returned
		return err
	}
	return nil
}
