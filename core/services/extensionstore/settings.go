package extensionstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/extensions"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/internal/lockedfile"
)

// secretsFile contains the sensitive values of settings. It is in the parent of the
// extensions directory.
const secretsFile = "extension-secrets.json"

// secrets are sensitive values by extension id.
type secrets map[string]secretsOf

type secretsOf struct {
	User      map[string]string            `json:"user,omitempty"`
	Workspace map[string]map[string]string `json:"workspace,omitempty"` // by directory
}

func (s *Store) secretsPath() string { return filepath.Join(filepath.Dir(s.o.Dir), secretsFile) }

// readSecrets reads the file of sensitive values. The error is of code invalid_config
// and contains none of them.
func (s *Store) readSecrets() (secrets, error) {
	all := secrets{}
	path := s.secretsPath()
	data, err := lockedfile.Read(path, maxState)
	if errors.Is(err, fs.ErrNotExist) {
		return all, nil
	}
	if err == nil && json.Unmarshal(data, &all) != nil {
		err = errors.New("its content is invalid") // the details could contain a value
	}
	if err != nil {
		return nil, fault.Wrap(fault.InvalidConfig, "extensions.settings", "The file "+path+" cannot be used: "+cause(err)+".",
			"Remove it, and set the sensitive settings of extensions again.", err)
	}
	if all == nil { // null
		all = secrets{}
	}
	return all, nil
}

// looksSecret is Options.LooksSecret.
func (s *Store) looksSecret(name, value string) bool {
	return s.o.LooksSecret != nil && s.o.LooksSecret(name, value)
}

// getenv looks up a process variable for extensions; it returns no secrets.
func (s *Store) getenv(name string) (string, bool) {
	if s.o.Getenv == nil {
		return "", false
	}
	value, ok := s.o.Getenv(name)
	if !ok || s.looksSecret(name, value) {
		return "", false
	}
	return value, true
}

// resolve returns the settings of an extension with values: from the workspace if it is
// trusted, else from the user, else from the environment. Secrets are not read from the
// workspace's .env file and the environment, which are not specific to the extension.
func (s *Store) resolve(declared []extensions.Setting, id string, envFiles []string, kept secrets) []extensions.ResolvedSetting {
	type layer struct {
		scope  extensions.Scope
		values map[string]string
		shared bool // the file is not specific to this extension
	}
	var layers []layer
	if s.o.Trusted && s.o.Workspace != "" {
		layers = append(layers, layer{scope: extensions.ScopeWorkspace, values: kept[id].Workspace[s.o.Workspace]},
			layer{extensions.ScopeWorkspace, envOf(filepath.Join(s.o.Workspace, envFile)), true})
	}
	layers = append(layers, layer{scope: extensions.ScopeUser, values: kept[id].User})
	for _, path := range envFiles {
		layers = append(layers, layer{scope: extensions.ScopeUser, values: envOf(path)})
	}
	environment := map[string]string{}
	for _, setting := range declared {
		if value, ok := s.getenv(setting.EnvVar); ok {
			environment[setting.EnvVar] = value
		}
	}
	layers = append(layers, layer{scope: extensions.ScopeEnvironment, values: environment})
	var all []extensions.ResolvedSetting
	for _, setting := range declared {
		for _, l := range layers {
			value, ok := l.values[setting.EnvVar]
			if !ok || l.shared && s.looksSecret(setting.EnvVar, value) {
				continue
			}
			found := setting
			found.Sensitive = setting.Sensitive || s.looksSecret(setting.EnvVar, value)
			all = append(all, extensions.ResolvedSetting{Setting: found, Value: extensions.NewValue(value, found.Sensitive), Scope: l.scope})
			break
		}
	}
	return all
}

// envOf returns the assignments of a .env file, none if it is unreadable.
func envOf(path string) map[string]string {
	data, err := lockedfile.Read(path, maxState)
	if err != nil {
		return nil
	}
	return readEnv(string(data))
}

// SetSetting stores the value of a setting of e: a sensitive one, or one that looks
// secret, in a file of the user, mode 0600, any other in the .env file of the extension
// or the workspace. The error is of code invalid_config for an unknown setting or an
// invalid value, file_write_failure or cancelled; it never contains the value.
func (s *Store) SetSetting(ctx context.Context, e extensions.Extension, variable, value string, scope extensions.Scope) error {
	i := slices.IndexFunc(e.Settings, func(setting extensions.Setting) bool { return setting.EnvVar == variable })
	if i < 0 {
		return fault.New(fault.InvalidConfig, "extensions.settings", fmt.Sprintf("The extension %s has no setting %q.", e.Name, clip(variable)), "fettle extensions list shows its settings.")
	}
	if strings.ContainsAny(value, "\n\r\x00") {
		return fault.New(fault.InvalidConfig, "extensions.settings", "The value of "+variable+" has more than one line.", "Give a value without line breaks.")
	}
	if e.Settings[i].Sensitive || s.looksSecret(variable, value) {
		return s.putSetting(ctx, e, variable, &value, nil, scope)
	}
	return s.putSetting(ctx, e, variable, nil, &value, scope)
}

// putSetting stores the value of a setting in the file of secrets, and in the .env file;
// nil removes it. A value that looks secret in the workspace's .env file, which is not
// specific to the extension, is preserved.
func (s *Store) putSetting(ctx context.Context, e extensions.Extension, variable string, secret, plain *string, scope extensions.Scope) error {
	err := s.changeSecrets(ctx, func(all secrets) error { return s.keep(all, e.ID, variable, secret, scope) })
	if err != nil {
		return err
	}
	if plain == nil && scope == extensions.ScopeWorkspace && s.o.Workspace != "" {
		if value, ok := envOf(filepath.Join(s.o.Workspace, envFile))[variable]; ok && s.looksSecret(variable, value) {
			return nil
		}
	}
	return s.changeEnv(ctx, e, variable, plain, scope)
}

// UnsetSetting removes the value of a setting, also of one that the extension no longer
// has. The error is as that of SetSetting.
func (s *Store) UnsetSetting(ctx context.Context, e extensions.Extension, variable string, scope extensions.Scope) error {
	return s.putSetting(ctx, e, variable, nil, nil, scope)
}

// forgetSettings removes all sensitive values of an extension. The error is of code
// invalid_config, file_write_failure or cancelled.
func (s *Store) forgetSettings(ctx context.Context, id string) error {
	return s.changeSecrets(ctx, func(all secrets) error {
		delete(all, id)
		return nil
	})
}

// keep sets or removes a sensitive value.
func (s *Store) keep(all secrets, id, variable string, value *string, scope extensions.Scope) error {
	dir, err := s.dirOf(scope)
	if err != nil {
		return err
	}
	of := all[id]
	if of.User == nil {
		of.User = map[string]string{}
	}
	if of.Workspace == nil {
		of.Workspace = map[string]map[string]string{}
	}
	values := of.User
	if scope == extensions.ScopeWorkspace {
		if values = of.Workspace[dir]; values == nil {
			values = map[string]string{}
			of.Workspace[dir] = values
		}
	}
	if delete(values, variable); value != nil {
		values[variable] = *value
	}
	if len(of.Workspace[dir]) == 0 {
		delete(of.Workspace, dir)
	}
	if all[id] = of; len(of.User)+len(of.Workspace) == 0 {
		delete(all, id)
	}
	return nil
}

// changeSecrets changes the file of sensitive values; an unchanged file is not written.
func (s *Store) changeSecrets(ctx context.Context, change func(secrets) error) error {
	if s.o.Dir == "" {
		return noDir()
	}
	path := s.secretsPath()
	unlock, err := lockedfile.LockOf(ctx, path)
	if err != nil {
		return notWritten(path, err)
	}
	defer unlock()
	all, err := s.readSecrets()
	if err != nil {
		return err
	}
	before, err := json.Marshal(all)
	if err == nil {
		err = change(all)
	}
	if err != nil {
		return err
	}
	if after, err := json.Marshal(all); err == nil && string(after) == string(before) {
		return nil
	}
	data, err := json.MarshalIndent(all, "", "  ")
	if err == nil {
		err = lockedfile.Replace(path, append(data, '\n'))
	}
	if err != nil {
		return notWritten(path, err)
	}
	return nil
}

// changeEnv changes the .env file of an extension's entry, or of the workspace. The mode
// of an existing file is preserved.
func (s *Store) changeEnv(ctx context.Context, e extensions.Extension, variable string, value *string, scope extensions.Scope) error {
	dir, err := s.dirOf(scope)
	if err != nil {
		return err
	}
	if scope == extensions.ScopeUser {
		if dir = e.InstallDir; dir == "" {
			dir = e.Path
		}
	}
	path := filepath.Join(dir, envFile)
	mode := lockedfile.FileMode
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if value == nil {
			return nil
		}
	case err != nil:
		return notWritten(path, err)
	case !info.Mode().IsRegular():
		return notWritten(path, errors.New("it is not a regular file"))
	default:
		mode = info.Mode().Perm()
	}
	unlock, err := lockedfile.LockOf(ctx, filepath.Join(filepath.Dir(s.o.Dir), "extension-settings"))
	if err != nil {
		return notWritten(path, err)
	}
	defer unlock()
	data, err := lockedfile.Read(path, maxState)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return notWritten(path, err)
	}
	text := writeEnv(string(data), variable, value)
	if text == string(data) {
		return nil
	}
	if err := lockedfile.Replace(path, []byte(text)); err != nil {
		return notWritten(path, err)
	}
	if err := os.Chmod(path, mode); err != nil {
		return notWritten(path, err)
	}
	return nil
}
