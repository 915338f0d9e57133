package extensions

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/internal/lockedfile"
	"github.com/fettle-dev/fettle/core/internal/position"
)

// bringing finds the parts of an extension.
type bringing struct {
	l *loading
	e *Extension
	c container
}

func (p bringing) find(m Manifest, defaults []string) {
	p.e.CommandsDir, p.e.SkillsDir = p.folder(CommandsDir), p.folder(SkillsDir)
	p.e.AgentsDir, p.e.PoliciesDir = p.folder(AgentsDir), p.folder(PoliciesDir)
	p.e.HooksFile = p.file(HooksFile)
	names := m.ContextFileNames
	if names == nil {
		names = defaults
	}
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			continue
		}
		if path := p.c.plain(p.file(name)); path != "" && !slices.Contains(p.e.ContextFiles, path) {
			p.e.ContextFiles = append(p.e.ContextFiles, path)
		}
	}
}

// file returns the path of a file below the extension; "" if it is missing or refused.
func (p bringing) file(rel string) string {
	path, err := p.c.find(rel, false)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		p.refuse(filepath.Join(p.c.path, filepath.FromSlash(rel)), err)
	}
	return path
}

// folder returns the path of a directory below the extension that contains no link out
// of it; "" if it is missing or refused.
func (p bringing) folder(rel string) string {
	path, err := p.c.find(rel, true)
	if errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	at := filepath.Join(p.c.path, rel)
	if err == nil {
		var out string
		if out, err = p.c.outside(path); out != "" {
			at, err = out, errOutside
		}
	}
	if err != nil {
		p.refuse(at, err)
		return ""
	}
	return path
}

func (p bringing) refuse(path string, err error) {
	top, _, _ := strings.Cut(p.c.shown(path), "/")
	p.l.problems = append(p.l.problems, fault.Problem{Path: path, Extension: p.e.Name,
		Message: fmt.Sprintf("The extension %s has no %s: %s cannot be used: %s.", p.e.Name, top, p.c.shown(path), cause(err)),
		Remedy:  "Files of an extension must be in its directory, also targets of links."})
}

// Env returns its settings with values as NAME=VALUE, for the environment of its
// programs. They may contain secrets and must not be printed.
func (e Extension) Env() []string {
	if e.env == nil {
		return nil
	}
	return e.env()
}

// Variables returns the values of ${NAME} in its files, by name: the paths, and its
// settings that are not sensitive.
func (e Extension) Variables(workspace string) map[string]string {
	all := Variables{ExtensionPath: e.Path, WorkspacePath: workspace}.Paths()
	for _, setting := range e.ResolvedSettings {
		if !setting.Sensitive {
			all[setting.EnvVar] = setting.Value.Reveal()
		}
	}
	return all
}

// Hooks returns the JSON of its hooks file with the path variables expanded, nil without
// a file. The error is of code invalid_config.
func (e Extension) Hooks(workspace string) ([]byte, error) {
	return e.hooks(Variables{ExtensionPath: e.Path, WorkspacePath: workspace})
}

// UnfilledHooks is Hooks without expansion. It is for callers that run the hooks,
// because in a command a path must be quoted.
func (e Extension) UnfilledHooks() ([]byte, error) { return e.hooks(Variables{}) }

func (e Extension) hooks(v Variables) ([]byte, error) {
	if e.HooksFile == "" {
		return nil, nil
	}
	data, err := lockedfile.Read(e.HooksFile, maxHooks)
	if err == nil {
		data, err = v.Fill(data)
	}
	if err != nil {
		where, why := e.HooksFile, cause(err)
		if m := (*position.Error)(nil); errors.As(err, &m) {
			if why = m.Message; m.Line > 0 {
				where = fmt.Sprintf("%s:%d", where, m.Line)
			}
		}
		return nil, fault.Wrap(fault.InvalidConfig, "extensions.hooks", fmt.Sprintf("The hooks of the extension %s in %s cannot be used: %s.", e.Name, where, why),
			"Correct the file: one JSON object, in which comments are allowed.", err)
	}
	return data, nil
}
