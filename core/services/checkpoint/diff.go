package checkpoint

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/fettle-dev/fettle/core/services/patch"
	"github.com/fettle-dev/fettle/core/services/textfile"
	"github.com/fettle-dev/fettle/core/services/workspace"
)

// diff returns the description of a step for users.
func (p *planning) diff(step FileStep) (string, error) {
	name := displayName(p.files, step.Path)
	now, err := p.content(step.Now, nil)
	if err != nil {
		return "", err
	}
	then, err := p.content(step.Then, step.data)
	if err != nil {
		return "", err
	}
	oldName, newName := "a/"+name, "b/"+name
	if step.Now.Kind == Absent {
		oldName = "/dev/null"
	}
	if step.Then.Kind == Absent {
		newName = "/dev/null"
	}
	var b strings.Builder
	switch {
	case step.Now.Kind == step.Then.Kind && step.Now.Mode != step.Then.Mode:
		fmt.Fprintf(&b, "%s: permissions %s become %s\n", show(Name(name)), modeText(step.Now.Mode), modeText(step.Then.Mode))
	case step.Now.Kind != File && step.Now.Kind != Absent || step.Then.Kind != File && step.Then.Kind != Absent:
		fmt.Fprintf(&b, "%s: %s becomes %s\n", show(Name(name)), describe(step.Now), describe(step.Then))
	case len(now) == 0 && len(then) == 0:
		fmt.Fprintf(&b, "%s: %s becomes %s\n", show(Name(name)), describe(step.Now), describe(step.Then))
	}
	before, isText := textfile.VersionOf(name, now)
	after, staysText := textfile.VersionOf(name, then)
	if isText && staysText {
		b.WriteString(before.Recoding(after) + patch.Between(before.Text, after.Text).Unified(oldName, newName))
	} else {
		fmt.Fprintf(&b, "%s: %s becomes %s, which is binary\n", show(Name(name)), describe(step.Now), describe(step.Then))
	}
	return b.String(), nil
}

// content returns the content of a file, and nothing for other kinds.
func (p *planning) content(s State, data []byte) ([]byte, error) {
	if s.Kind != File || data != nil || s.SHA256 == "" {
		return data, nil
	}
	return p.store.get(s.SHA256)
}

// describe returns a short description of a state.
func describe(s State) string {
	switch s.Kind {
	case File:
		return fmt.Sprintf("a file of %d bytes", s.Size)
	case Link:
		return "a link to " + show(s.Target)
	case Directory:
		return "a directory"
	case Other:
		return "a special file"
	case Absent:
	}
	return "nothing"
}

// displayName returns a path relative to its workspace directory if that contains the target,
// otherwise the absolute path.
func displayName(files *workspace.Workspace, path Name) string {
	p, err := files.Resolve(string(path))
	if err != nil || p.Root() != files.Target() {
		return string(path)
	}
	return filepath.ToSlash(p.Rel())
}
