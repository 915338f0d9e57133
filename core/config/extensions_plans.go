package config

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/config/layout"
	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/extensions"
	"github.com/fettle-dev/fettle/core/fault"
)

// planFolders holds, in what fettle keeps of a project, a file for each folder that
// has become plan mode's own there.
const planFolders = "plan-folders"

// PlansFolders are the folders of plans below the one that is worked in, with
// slashes: those of all layouts.
func PlansFolders() []string {
	return []string{path.Join(layout.Fettle().Dir, plansFolder), path.Join(layout.Gemini().Dir, plansFolder)}
}

// plans takes over where plans may be written, of the first extension that says so
// and may: plan mode writes there without asking, so that it is a folder of its own.
func (b *bringing) plans(e extensions.Extension) {
	if e.PlanDir == "" || b.all.plansDir != "" {
		return
	}
	dir := filepath.FromSlash(e.PlanDir)
	if rel, err := filepath.Rel(b.target, dir); err == nil && filepath.IsAbs(dir) {
		dir = rel
	}
	own := append(PlansFolders(), path.Join(b.c.params().Layout.Dir, plansFolder))
	why, remedy := extensions.PlanDirectoryWrong(filepath.ToSlash(dir), own), "Name a folder of its own in plan.directory of its manifest, or one below "+own[0]+"."
	if why == "" {
		why = b.c.planFolder(b.target, filepath.Clean(dir), own)
	}
	if why != "" {
		b.problems = append(b.problems, fault.Problem{Path: e.Manifest, Extension: e.Name,
			Message: fmt.Sprintf("The extension %s wants plans written to %q, which %s; they are not.", e.Name, escape.ClipBytes(e.PlanDir, 60), why), Remedy: remedy})
		return
	}
	b.all.plansDir = filepath.Join(b.target, dir)
}

// planFolder says why a folder of the project cannot become plan mode's own; "": it
// is. One becomes so while there is nothing in it, which is kept, and is so as long
// as it holds nothing but Markdown files. One below the folders of plans always is.
func (c *Config) planFolder(target, dir string, plans []string) string {
	full := filepath.Join(target, dir)
	if c.family.extended.plansDir() == full { // in this session
		return ""
	}
	below := filepath.ToSlash(dir)
	if slices.ContainsFunc(plans, func(folder string) bool { return below == folder || strings.HasPrefix(below, folder+"/") }) {
		return ""
	}
	entries, err := os.ReadDir(full)
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return "cannot be read as a folder"
	case len(entries) == 0:
		c.keepPlanFolder(target, below)
		return ""
	case !c.isPlanFolder(target, below):
		return "holds other files already"
	case slices.ContainsFunc(entries, func(entry fs.DirEntry) bool { return entry.IsDir() || filepath.Ext(entry.Name()) != ".md" }):
		return "holds other files than plans"
	}
	return ""
}

// keptPlanFolder is the file that says that a folder is plan mode's own.
func (c *Config) keptPlanFolder(target, below string) (string, error) {
	if real, err := filepath.EvalSymlinks(target); err == nil {
		target = real
	}
	tmp, err := c.projectTmp(target)
	id := sha256.Sum256([]byte(below))
	return filepath.Join(tmp, planFolders, hex.EncodeToString(id[:8])), err
}

// isPlanFolder reports whether it has been kept that a folder is plan mode's own.
func (c *Config) isPlanFolder(target, below string) bool {
	file, err := c.keptPlanFolder(target, below)
	if err == nil {
		_, err = os.Stat(file)
	}
	return err == nil
}

// keepPlanFolder keeps that a folder is plan mode's own. Where that fails it is so
// in this session.
func (c *Config) keepPlanFolder(target, below string) {
	file, err := c.keptPlanFolder(target, below)
	if err != nil || os.MkdirAll(filepath.Dir(file), 0o700) != nil {
		return
	}
	_ = os.WriteFile(file, []byte(below+"\n"), 0o600)
}
