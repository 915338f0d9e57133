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

// Find returns the installed extension with a name or a source. If no name matches
// exactly, letter case is ignored. The error has code invalid_config if no extension
// or several match.
func Find(all []extensions.Extension, name string) (extensions.Extension, error) {
	tests := []func(e extensions.Extension) bool{
		func(e extensions.Extension) bool { return e.Name == name },
		func(e extensions.Extension) bool { return strings.EqualFold(e.Name, name) },
		func(e extensions.Extension) bool { return fromSource(e, name) },
	}
	for _, test := range tests {
		var found []extensions.Extension
		for _, e := range all {
			if e.InstallDir != "" && test(e) {
				found = append(found, e)
			}
		}
		if len(found) == 1 {
			return found[0], nil
		}
		if len(found) > 1 {
			return extensions.Extension{}, fault.New(fault.InvalidConfig, "extensions", fmt.Sprintf("%q matches %d extensions.", clip(name), len(found)), "Name one as fettle extensions list does.")
		}
	}
	return extensions.Extension{}, notInstalled(name)
}

func notInstalled(name string) error {
	return fault.New(fault.InvalidConfig, "extensions", fmt.Sprintf("There is no extension %q.", clip(name)), "fettle extensions list shows them.")
}

// fromSource reports whether an extension was installed from a source, in any form of
// the address.
func fromSource(e extensions.Extension, text string) bool {
	if e.Install == nil || text == "" {
		return false
	}
	if e.Install.Source == text {
		return true
	}
	from, err := parseSource(text)
	if err != nil {
		return false
	}
	m := *e.Install
	m.Source = from.location
	return from.location == e.Install.Source || from.kind == extensions.InstallGit && e.Install.Type == extensions.InstallGit && idOf("", &m) == idOf("", e.Install)
}

// Uninstall removes an extension, the values of its settings and all its records. Of a
// linked extension it removes the link and not the directory. Values in the .env file of a workspace that are not secret
// stay, because other programs may read them. The argument is the name of an extension
// or its source, or the name of a directory in the extensions directory with an invalid
// extension. It returns the name of the removed directory. The error is of code
// invalid_config for an unknown extension, file_write_failure or cancelled.
func (s *Store) Uninstall(ctx context.Context, name string) (removed string, err error) {
	g, err := s.stage(ctx)
	if err != nil {
		return "", err
	}
	defer g.end()
	unlock, err := s.lock(ctx)
	if err != nil {
		return "", err
	}
	defer unlock()
	dir, id, called, err := s.installedAt(ctx, name)
	if err != nil {
		return "", err
	}
	removed = filepath.Base(dir)
	if err := g.note(stagedID, id); err != nil { // its secrets are removed if this is interrupted
		return "", err
	}
	if err := os.Rename(dir, g.path(stagedOld)); err != nil {
		return "", unwritable(dir, err)
	}
	ctx = context.WithoutCancel(ctx) // it is removed
	all := []error{s.forgetEnablement(ctx, removed), s.setRecord(ctx, removed, nil)}
	if called != removed { // the names of directory and extension may differ
		all = append(all, s.forgetEnablement(ctx, called))
	}
	if !s.hasID(id) {
		all = append(all, s.forgetSettings(ctx, id))
	}
	return removed, errors.Join(all...)
}

// installedAt returns the directory in the extensions directory for a name, and the id
// and the name of the extension in it.
func (s *Store) installedAt(ctx context.Context, name string) (dir, id, called string, err error) {
	all, _, err := s.Load(ctx)
	if err != nil {
		return "", "", "", err
	}
	e, err := Find(all, name)
	if err == nil {
		return e.InstallDir, e.ID, e.Name, nil
	}
	entries, readErr := os.ReadDir(s.o.Dir)
	if readErr != nil {
		return "", "", "", err
	}
	at := slices.IndexFunc(entries, func(entry os.DirEntry) bool { return entry.Name() == name && checkName(name) == "" })
	if at < 0 {
		return "", "", "", err
	}
	dir = filepath.Join(s.o.Dir, name)
	m, _ := readInstall(dir) // an invalid manifest has no name
	return dir, idOf(name, m), name, nil
}

// Installed returns the names of all directories in the extensions directory, including
// those of invalid extensions. The error is of code read_content_failure.
func (s *Store) Installed() ([]string, error) {
	entries, err := os.ReadDir(s.o.Dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, unreadable(s.o.Dir, err)
	}
	names := []string{}
	for _, entry := range entries {
		if info, err := os.Stat(filepath.Join(s.o.Dir, entry.Name())); err == nil && info.IsDir() && checkName(entry.Name()) == "" {
			names = append(names, entry.Name())
		}
	}
	return names, nil
}
