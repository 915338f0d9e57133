package contributions

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fettle-dev/fettle/core/escape"
	"github.com/fettle-dev/fettle/core/extensions"
	"github.com/fettle-dev/fettle/core/fault"
	"github.com/fettle-dev/fettle/core/services/extensionstore"
)

// plans sets the directory of plans to that of the first extension that names a
// permitted one. Plan mode writes there without approval, so the directory must
// be reserved for plans.
func (b *bringing) plans(e extensions.Extension) {
	if e.PlanDir == "" || b.all.plansDir != "" {
		return
	}
	dir := filepath.FromSlash(e.PlanDir)
	if rel, err := filepath.Rel(b.o.Target, dir); err == nil && filepath.IsAbs(dir) {
		dir = rel
	}
	own, kept := b.o.Plans()
	why, remedy := extensionstore.PlanDirectoryWrong(filepath.ToSlash(dir), own), "Name a directory of its own in plan.directory of its manifest, or one below "+own[0]+"."
	if why == "" {
		why = b.planDir(filepath.Clean(dir), own, kept)
	}
	if why != "" {
		b.problems = append(b.problems, fault.Problem{Path: e.Manifest, Extension: e.Name,
			Message: fmt.Sprintf("The plan directory of the extension %s, %q, is not used, because it %s.", e.Name, escape.ClipBytes(e.PlanDir, 60), why), Remedy: remedy})
		return
	}
	b.all.plansDir = filepath.Join(b.o.Target, dir)
}

// planDir returns the reason why a directory of the project cannot be reserved
// for plans; "": it can. A directory becomes reserved while it is empty, which is
// recorded, and stays so as long as it contains only Markdown files. A directory
// below the directories of plans is always reserved.
func (x *Extensions) planDir(dir string, plans []string, kept string) string {
	full := filepath.Join(x.o.Target, dir)
	if x.PlansDir() == full { // in this session
		return ""
	}
	below := filepath.ToSlash(dir)
	if slices.ContainsFunc(plans, func(directory string) bool { return below == directory || strings.HasPrefix(below, directory+"/") }) {
		return ""
	}
	entries, err := os.ReadDir(full)
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return "cannot be read as a directory"
	case len(entries) == 0:
		keepPlanDir(kept, below)
		return ""
	case !isPlanDir(kept, below):
		return "contains other files already"
	case slices.ContainsFunc(entries, func(entry fs.DirEntry) bool { return entry.IsDir() || filepath.Ext(entry.Name()) != ".md" }):
		return "contains files other than plans"
	}
	return ""
}

// keptPlanDir returns the file that records a reserved directory; "": there is
// no place for it.
func keptPlanDir(kept, below string) string {
	if kept == "" {
		return ""
	}
	id := sha256.Sum256([]byte(below))
	return filepath.Join(kept, hex.EncodeToString(id[:8]))
}

// isPlanDir reports whether a directory is recorded as reserved for plans.
func isPlanDir(kept, below string) bool {
	_, err := os.Stat(keptPlanDir(kept, below))
	return err == nil
}

// keepPlanDir records a directory as reserved for plans. If that fails, it is
// reserved in this session only.
func keepPlanDir(kept, below string) {
	file := keptPlanDir(kept, below)
	if file == "" || os.MkdirAll(filepath.Dir(file), 0o700) != nil {
		return
	}
	_ = os.WriteFile(file, []byte(below+"\n"), 0o600)
}
