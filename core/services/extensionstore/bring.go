package extensionstore

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/extensions"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/internal/lockedfile"
	"github.com/fettle-dev/fettle/core/internal/position"
)

// bringing finds the parts of an extension.
type bringing struct {
	l *loading
	e *extensions.Extension
	c container
}

func (p bringing) find(m manifest, defaults []string) {
	p.e.CommandsDir, p.e.SkillsDir = p.dirAt(commandsDir), p.dirAt(skillsDir)
	p.e.AgentsDir, p.e.PoliciesDir = p.dirAt(agentsDir), p.dirAt(policiesDir)
	p.hooks()
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

// hooks finds the file of hooks: hooks/hooks.json, or hooks.json in the extension's root.
func (p bringing) hooks() {
	p.e.HooksFile = p.file(hooksFile)
	root := p.file(rootHooksFile)
	switch {
	case root == "":
	case p.e.HooksFile == "":
		p.e.HooksFile = root
	default:
		p.l.problems = append(p.l.problems, fault.Problem{Path: root, Extension: p.e.Name,
			Message: fmt.Sprintf("The hooks of the extension %s in %s do not run, because it also has %s.", p.e.Name, rootHooksFile, hooksFile), Remedy: "Put all hooks into " + hooksFile + "."})
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

// dirAt returns the path of a directory below the extension that contains no link out
// of it; "" if it is missing or refused.
func (p bringing) dirAt(rel string) string {
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

// VariablesOf returns the values of ${NAME} in the files of an extension, by name: the
// paths, and its settings that are not sensitive.
func VariablesOf(e extensions.Extension, workspace string) map[string]string {
	all := variables{extensionPath: e.Path, workspacePath: workspace}.paths()
	if e.Plugin != nil {
		all[pluginRoot] = e.Path
		if workspace != "" {
			all[projectDir] = workspace
		}
	}
	for _, setting := range e.ResolvedSettings {
		if !setting.Sensitive {
			all[setting.EnvVar] = setting.Value.Reveal()
		}
	}
	return all
}

// Hooks returns the JSON of the hooks file of an extension with the path variables
// expanded, nil without a file. The error is of code invalid_config.
func Hooks(e extensions.Extension, workspace string) ([]byte, error) {
	return hooks(e, variables{extensionPath: e.Path, workspacePath: workspace})
}

// UnfilledHooks is Hooks without expansion. It is for callers that run the hooks,
// because in a command a path must be quoted.
func UnfilledHooks(e extensions.Extension) ([]byte, error) { return hooks(e, variables{}) }

func hooks(e extensions.Extension, v variables) ([]byte, error) {
	if e.HooksFile == "" {
		return nil, nil
	}
	var data []byte
	var err error
	if e.Plugin != nil {
		data = e.Plugin.Hooks
	} else {
		data, err = lockedfile.Read(e.HooksFile, maxHooks)
	}
	if err == nil {
		data, err = v.fill(data)
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
